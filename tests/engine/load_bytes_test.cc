// Real kernels under load: random arrivals, cancels, preemption in a tiny pool, shared prefixes, guesses for
// half of the requests. Every reply must equal, id for id, what the request gets alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "engine/engine.h"
#include "engine/family_models.h"

namespace skua {
namespace {

constexpr size_t kRequests = 100;

EngineOptions options(int32_t max_seqs, int32_t cache_tokens, const std::string& cache_type) {
  EngineOptions out;
  out.cache_type = cache_type;
  out.n_threads = 2;
  out.context = 256;
  out.max_seqs = max_seqs;
  out.cache_tokens = cache_tokens;
  out.prefill_chunk = 40;
  return out;
}

std::unique_ptr<Engine> open(const test::FamilyModel& model, const EngineOptions& wanted) {
  auto engine = Engine::open(test::make_checkpoint(model), wanted);
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  return std::move(engine).value();
}

GenerateRequest random_request(std::mt19937& rng, int64_t n_vocab) {
  GenerateRequest out;
  std::mt19937 shared(rng() % 3);  // prompts of three families begin alike
  const auto n = 1 + rng() % 150;
  for (uint32_t i = 0; i < n; ++i)
    out.prompt_ids.push_back(static_cast<int32_t>(shared() % static_cast<uint32_t>(n_vocab)));
  if (rng() % 2 == 0) out.prompt_ids.back() = static_cast<int32_t>(rng() % static_cast<uint32_t>(n_vocab));
  out.max_tokens = 1 + static_cast<int32_t>(rng() % 60);
  out.sampling.temperature = rng() % 2 == 0 ? 0.0f : 1.0f;
  out.sampling.seed = rng();
  out.speculate = rng() % 2 == 0;
  out.priority = static_cast<int32_t>(rng() % 2);
  return out;
}

struct Reply {
  std::vector<int32_t> ids;
  bool done = false;
  FinishReason finish = FinishReason::kNone;
};

void take(std::map<SeqId, Reply>& replies, const std::vector<StreamEvent>& events) {
  for (const StreamEvent& event : events) {
    Reply& reply = replies[event.seq];
    EXPECT_FALSE(reply.done);
    reply.ids.insert(reply.ids.end(), event.ids.begin(), event.ids.end());
    reply.finish = event.finish;
    reply.done = event.finish != FinishReason::kNone;
  }
}

struct Subject {
  test::FamilyModel model;
  std::string cache_type = "f32";

  std::string name() const { return model.name + (cache_type == "f32" ? "" : "_cache_" + cache_type); }
};
void PrintTo(const Subject& subject, std::ostream* out) { *out << subject.name(); }

/// Every model of the sample; those that keep keys and values of heads also with a cache of 16-bit numbers,
/// of one type and the other in turn.
std::vector<Subject> subjects() {
  std::vector<Subject> out;
  for (const test::FamilyModel& model : test::sample_family_models()) out.push_back({model});
  for (const test::FamilyModel& model : test::sample_models_with_heads())
    out.push_back({model, out.size() % 2 == 0 ? "f16" : "bf16"});
  return out;
}

class UnderLoad : public ::testing::TestWithParam<Subject> {};

// B082 among others: several long sequences on models with windows
TEST_P(UnderLoad, EveryReplyEqualsItsSoloRun) {
  std::mt19937 rng(10);
  const auto busy = open(GetParam().model, options(4, 300, GetParam().cache_type));
  std::vector<std::pair<SeqId, GenerateRequest>> requests;
  std::map<SeqId, Reply> replies;
  while (requests.size() < kRequests || !busy->idle()) {
    for (uint32_t burst = rng() % 3; burst > 0 && requests.size() < kRequests; --burst) {
      GenerateRequest request = random_request(rng, busy->model().n_vocab);
      const auto id = busy->submit(request);
      ASSERT_TRUE(id.ok()) << id.status().message();
      requests.emplace_back(*id, std::move(request));
    }
    if (rng() % 60 == 0) busy->cancel(requests[rng() % requests.size()].first);
    take(replies, busy->step());
  }
  const auto alone = open(GetParam().model, options(1, 0, GetParam().cache_type));
  int n_cancelled = 0;
  for (auto& [id, request] : requests) {
    request.speculate = false;
    const SeqId solo = *alone->submit(request);
    std::map<SeqId, Reply> want;
    while (!alone->idle()) take(want, alone->step());
    Reply& got = replies[id];
    ASSERT_TRUE(got.done);
    if (got.finish == FinishReason::kCancelled) {
      ++n_cancelled;
      ASSERT_LE(got.ids.size(), want[solo].ids.size());
      want[solo].ids.resize(got.ids.size());
    } else {
      EXPECT_EQ(got.finish, want[solo].finish);
    }
    EXPECT_EQ(got.ids, want[solo].ids) << "request " << id;
  }
  const CoreCounters& c = busy->counters();
  std::printf(
      "%s: steps %llu, reused %llu tokens, preempted %llu, drafted %llu, accepted %llu, cancelled %d\n",
      GetParam().name().c_str(), static_cast<unsigned long long>(c.n_steps),
      static_cast<unsigned long long>(c.n_cached_tokens), static_cast<unsigned long long>(c.n_preemptions),
      static_cast<unsigned long long>(c.n_drafted), static_cast<unsigned long long>(c.n_accepted),
      n_cancelled);
  EXPECT_GT(c.n_cached_tokens, 0u);
  EXPECT_GT(c.n_preemptions, 0u);
  EXPECT_GT(c.n_drafted, 0u);
}

INSTANTIATE_TEST_SUITE_P(Families, UnderLoad, ::testing::ValuesIn(subjects()),
                         [](const auto& param) { return param.param.name(); });

}  // namespace
}  // namespace skua
