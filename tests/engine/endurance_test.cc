// Many requests one after another and beside each other: nobody is harmed by another's cancel, nothing grows,
// and the engine answers afterwards. Rows B121, B122, B125 and B127 of the list of faults of other engines.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "engine/engine.h"
#include "engine/tiny_model.h"

namespace skua {
namespace {

constexpr int32_t kWindow = 16;

std::unique_ptr<Engine> engine(int32_t max_seqs, int32_t window = 0) {
  auto checkpoint = tiny_model();
  if (window > 0) {
    Json config = checkpoint->config();
    config.set("model_type", "mistral");
    config.set("sliding_window", window);
    checkpoint->set_config(std::move(config));
  }
  EngineOptions options;
  options.n_threads = 1;
  options.context = 256;
  options.max_seqs = max_seqs;
  options.cache_tokens = 1024;
  options.prefill_chunk = 16;
  auto out = Engine::open(std::move(checkpoint), options);
  EXPECT_TRUE(out.ok()) << out.status().message();
  return std::move(out).value();
}

/// A prompt of `n` tokens; the first `n_shared` are the same for every `which`.
GenerateRequest request(int which, int n, int n_shared, int32_t max_tokens) {
  GenerateRequest out;
  for (int i = 0; i < n; ++i) out.prompt_ids.push_back((i * 5 + (i < n_shared ? 0 : which * 3 + i / 7)) % 32);
  out.max_tokens = max_tokens;
  out.sampling.temperature = 1;
  out.sampling.seed = static_cast<uint64_t>(which);
  return out;
}

struct Reply {
  std::vector<int32_t> ids;
  FinishReason finish = FinishReason::kNone;
};
using Replies = std::map<SeqId, Reply>;

void step(Engine& e, Replies& replies) {
  for (const StreamEvent& event : e.step()) {
    Reply& reply = replies[event.seq];
    reply.ids.insert(reply.ids.end(), event.ids.begin(), event.ids.end());
    if (event.finish != FinishReason::kNone) reply.finish = event.finish;
  }
}

Replies drain(Engine& e, Replies replies = {}) {
  for (int guard = 0; !e.idle() && guard < 20000; ++guard) step(e, replies);
  EXPECT_TRUE(e.idle());
  return replies;
}

std::vector<int32_t> solo(const GenerateRequest& wanted, int32_t window = 0) {
  const auto e = engine(1, window);
  const SeqId id = *e->submit(wanted);
  return drain(*e)[id].ids;
}

TEST(Endurance, B121CancellingAQueuedRequestHarmsNobody) {
  const GenerateRequest first = request(1, 40, 0, 30);
  const auto expected = solo(first);
  const auto e = engine(1);
  Replies replies;
  const SeqId a = *e->submit(first);
  for (int i = 0; i < 8; ++i) step(*e, replies);
  const SeqId b = *e->submit(request(2, 40, 0, 30));
  step(*e, replies);
  e->cancel(b);
  replies = drain(*e, std::move(replies));
  EXPECT_EQ(replies[a].ids, expected);
  EXPECT_EQ(replies[a].finish, FinishReason::kLength);
  EXPECT_EQ(replies[b].finish, FinishReason::kCancelled);
  EXPECT_TRUE(replies[b].ids.empty());
}

TEST(Endurance, AsManyCancelsAsThereAreRequestsAllTakeEffectInOneStep) {
  const auto e = engine(4);
  std::vector<SeqId> ids;
  for (int i = 0; i < 600; ++i) ids.push_back(*e->submit(request(i, 20, 0, 30)));
  Replies replies;
  step(*e, replies);
  for (const SeqId id : ids) e->cancel(id);
  step(*e, replies);
  EXPECT_TRUE(e->idle());
  for (const SeqId id : ids) ASSERT_EQ(replies[id].finish, FinishReason::kCancelled) << id;
}

TEST(Endurance, B122CuttingAStreamWhileAnotherPrefillsWedgesNothing) {
  const auto e = engine(4);
  Replies replies;
  for (int round = 0; round < 50; ++round) {
    const SeqId streaming = *e->submit(request(round, 10, 0, 200));
    for (int i = 0; i < 4; ++i) step(*e, replies);
    const GenerateRequest long_prompt = request(100 + round, 200, 0, 2);
    const SeqId prefilling = *e->submit(long_prompt);
    step(*e, replies);
    e->cancel(streaming);
    replies = drain(*e, std::move(replies));
    ASSERT_EQ(replies[streaming].finish, FinishReason::kCancelled) << "round " << round;
    ASSERT_EQ(replies[prefilling].finish, FinishReason::kLength) << "round " << round;
  }
  const GenerateRequest after = request(7, 33, 0, 20);
  const SeqId id = *e->submit(after);
  EXPECT_EQ(drain(*e)[id].ids, solo(after));
}

int64_t resident_bytes() {
  int64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(Endurance, B125MemoryStaysFlatOver500DistinctPrompts) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer keeps freed memory, so the process grows by design";
#endif
  const auto e = engine(4);
  const auto run = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      ASSERT_TRUE(e->submit(request(i, 150 + i % 50, 0, 4)).ok());
      if (i % 4 == 3) drain(*e);
    }
    drain(*e);
  };
  run(0, 100);
  const int64_t warm = resident_bytes();
  run(100, 600);
  EXPECT_LT(resident_bytes() - warm, int64_t{2} << 20);
}

TEST(Endurance, B127ParallelChatsWithRetriesOnAWindowedModelStayAlive) {
  const auto e = engine(12, kWindow);
  Replies replies;
  std::vector<SeqId> kept;
  for (int round = 0; round < 6; ++round) {
    for (int chat = 0; chat < 12; ++chat) {
      const SeqId id = *e->submit(request(chat, 60 + chat, 50, 40));
      for (int i = 0; i < 3; ++i) step(*e, replies);
      if ((round + chat) % 3 == 0) {  // cut, and asked again at once
        e->cancel(id);
        kept.push_back(*e->submit(request(chat, 60 + chat, 50, 40)));
      } else {
        kept.push_back(id);
      }
    }
  }
  replies = drain(*e, std::move(replies));
  for (size_t i = 0; i < kept.size(); ++i) {
    const auto chat = static_cast<int>(i % 12);
    EXPECT_EQ(replies[kept[i]].ids, solo(request(chat, 60 + chat, 50, 40), kWindow)) << "reply " << i;
  }
  const GenerateRequest after = request(3, 80, 50, 10);
  const SeqId id = *e->submit(after);
  EXPECT_EQ(drain(*e)[id].ids, solo(after, kWindow));
}

}  // namespace
}  // namespace skua
