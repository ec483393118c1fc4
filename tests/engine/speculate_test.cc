#include "engine/speculate.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>

#include "backend/all/make_backend.h"
#include "base/file.h"
#include "base/json.h"
#include "engine/core.h"
#include "engine/draft_model.h"
#include "engine/family_models.h"

namespace skua {
namespace {

using Ids = std::vector<int32_t>;

TEST(PromptLookup, TakesWhatFollowedTheNewestEarlierOccurrence) {
  EXPECT_EQ(prompt_lookup(Ids{1, 2, 3, 9, 9, 1, 2, 3, 7, 8, 1, 2, 3}, 4), (Ids{7, 8, 1, 2}));
  EXPECT_EQ(prompt_lookup(Ids{5, 6, 4, 1, 5, 6}, 8), (Ids{4, 1, 5, 6}));  // two ids are enough
  EXPECT_EQ(prompt_lookup(Ids{1, 2, 3, 4}, 8), Ids{});
  EXPECT_EQ(prompt_lookup(Ids{7, 7, 7, 7}, 1), (Ids{7}));
  EXPECT_EQ(prompt_lookup(Ids{1, 2, 1, 2}, 0), Ids{});
  EXPECT_EQ(prompt_lookup(Ids{}, 8), Ids{});
}

TEST(SpeculationGauge, StopsWhenGuessesDoNotPayAndLooksAgainLater) {
  SpeculationGauge gauge;
  for (int i = 0; i < 20; ++i) {
    gauge.record(0.010, 0, 1);
    gauge.record(0.030, 8, 1);  // three times the time for one token
  }
  int n_yes = 0;
  for (int i = 0; i < 640; ++i) n_yes += gauge.worth_it() ? 1 : 0;
  EXPECT_EQ(n_yes, 10);
  for (int i = 0; i < 20; ++i) gauge.record(0.030, 8, 9);
  EXPECT_TRUE(gauge.worth_it());
}

/// The same replies with and without a draft model, greedy and sampled; the draft is the model itself (every
/// guess is right) or another one (most are wrong).
class DraftTest : public ::testing::Test {
 protected:
  void SetUp() override {
    backend_ = std::move(make_backend({"cpu", "f32", "auto", "exact", "f32", 1})).value();
  }

  LoadedModel load(size_t index) {
    auto model = load_model(*test::make_checkpoint(test::family_models()[index]), *backend_,
                            ConfigPolicy::kStrict, nullptr);
    EXPECT_TRUE(model.ok()) << model.status().message();
    return std::move(model).value();
  }

  std::map<uint64_t, Ids> replies(Proposer* proposer, CoreCounters* counters = nullptr,
                                  Trace* trace = nullptr) {
    const LoadedModel model = load(0);
    auto runner = std::move(Runner::create(model, *backend_, {256, 64, 3})).value();
    CoreOptions options;
    options.context = 256;
    options.n_vocab = model.info.n_vocab;
    options.max_seqs = 3;
    options.max_tokens = 64;
    options.proposer = proposer;
    options.trace = trace;
    options.clock = [t = 0.0]() mutable { return t += 1e-3; };
    EngineCore core(*runner, std::move(options));
    for (int i = 0; i < 6; ++i) {
      GenerateRequest request;
      for (int k = 0; k < 10 + 9 * i; ++k) request.prompt_ids.push_back((k * 7 + i) % 60);
      request.max_tokens = 40;
      request.sampling.temperature = i % 2 == 0 ? 0.0f : 1.0f;
      request.sampling.seed = static_cast<uint64_t>(i);
      EXPECT_TRUE(core.submit(request).ok());
    }
    std::map<uint64_t, Ids> out;
    while (!core.idle()) {
      for (const StreamEvent& event : core.step()) {
        Ids& ids = out[event.seq.value()];
        ids.insert(ids.end(), event.ids.begin(), event.ids.end());
      }
    }
    if (counters != nullptr) *counters = core.counters();
    return out;
  }

  std::unique_ptr<Backend> backend_;
};

TEST_F(DraftTest, ADraftModelNeverChangesAReply) {
  const auto plain = replies(nullptr);
  for (size_t index : {size_t{0}, size_t{1}}) {
    LoadedModel draft_model = load(0);
    if (index == 1) {  // the same shapes, other weights: layers swapped
      std::swap(draft_model.weights[3], draft_model.weights[12]);
      if (draft_model.graph.weights[3].rows != draft_model.graph.weights[12].rows) {
        std::swap(draft_model.weights[3], draft_model.weights[12]);
      }
    }
    auto draft = std::move(DraftModel::create(std::move(draft_model), *backend_, {256, 3, 64})).value();
    CoreCounters counters;
    EXPECT_EQ(replies(draft.get(), &counters), plain);
    std::printf("draft %zu: drafted %llu, accepted %llu, steps %llu\n", index,
                static_cast<unsigned long long>(counters.n_drafted),
                static_cast<unsigned long long>(counters.n_accepted),
                static_cast<unsigned long long>(counters.n_steps));
    EXPECT_GT(counters.n_drafted, 0u);
    EXPECT_EQ(counters.n_accepted == counters.n_drafted, index == 0);  // greedy and sampled alike
  }
}

/// The reply to a prompt of 400 tokens, 400 tokens long.
Ids long_reply(const LoadedModel& model, Backend& backend, Proposer* proposer, uint64_t* n_accepted) {
  const auto runner = std::move(Runner::create(model, backend, {1024, 64, 1})).value();
  CoreOptions options;
  options.context = 1024;
  options.n_vocab = model.info.n_vocab;
  options.max_tokens = 64;
  options.proposer = proposer;
  options.clock = [t = 0.0]() mutable { return t += 1e-3; };
  EngineCore core(*runner, std::move(options));
  GenerateRequest request;
  for (int32_t k = 0; k < 400; ++k) request.prompt_ids.push_back((k * 7) % 60);
  request.max_tokens = 400;
  request.sampling.temperature = 1;
  EXPECT_TRUE(core.submit(request).ok());
  Ids out;
  while (!core.idle()) {
    for (const StreamEvent& event : core.step()) out.insert(out.end(), event.ids.begin(), event.ids.end());
  }
  *n_accepted = core.counters().n_accepted;
  return out;
}

// A draft's pages behind its window or state are let go: else its cache is full after a page or two.
TEST_F(DraftTest, ADraftModelWithWindowsOrStatesGuessesToTheEndOfALongReply) {
  for (const test::FamilyModel& family : test::sample_family_models()) {
    if (family.name != "gemma3_bf16" && family.name != "mamba2_bf16" && family.name != "qwen3_next_bf16")
      continue;
    const auto load_it = [&] {
      return std::move(load_model(*test::make_checkpoint(family), *backend_, ConfigPolicy::kStrict, nullptr))
          .value();
    };
    const LoadedModel model = load_it();
    const auto draft = std::move(DraftModel::create(load_it(), *backend_, {1024, 1, 64})).value();
    uint64_t n_accepted = 0, none = 0;
    const Ids guessed = long_reply(model, *backend_, draft.get(), &n_accepted);
    EXPECT_EQ(guessed, long_reply(model, *backend_, nullptr, &none)) << family.name;
    EXPECT_EQ(guessed.size(), 400u);
    EXPECT_GT(n_accepted, 300u) << family.name;  // the draft is the model itself
  }
}

TEST_F(DraftTest, TheTimelineIsJsonWithStepsAndRequests) {
  const auto path =
      std::filesystem::temp_directory_path() / ("skua_trace_" + std::to_string(::getpid()) + ".json");
  auto trace = std::move(Trace::create(path)).value();
  (void)replies(nullptr, nullptr, trace.get());
  ASSERT_TRUE(trace->close().ok());
  const auto json = parse_json(*read_file(path));
  std::filesystem::remove(path);
  ASSERT_TRUE(json.ok()) << json.status().message();
  std::map<std::string, int> counts;
  for (const Json& event : json->items()) ++counts[event.find("name")->as_string()];
  EXPECT_EQ(counts["queue"], 6);
  EXPECT_EQ(counts["prompt"], 6);
  EXPECT_EQ(counts["decode"], 6);
  EXPECT_GT(counts["step"], 40);
  EXPECT_EQ(Trace::create("/no/such/folder/x").status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace skua
