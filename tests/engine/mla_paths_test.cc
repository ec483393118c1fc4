// Which path latent attention took and how many latent rows it fetched; and what the fast mode keeps and
// loses.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "backend/cpu/cpu_backend.h"
#include "backend/ref/ref_backend.h"
#include "base/options.h"
#include "engine/engine.h"
#include "engine/hand_runner.h"

namespace skua::test {
namespace {

FamilyModel model_of(const std::string& name) {
  for (FamilyModel& model : sample_family_models()) {
    if (model.name == name) return model;
  }
  check_failed(__FILE__, __LINE__, "model_of", name);
}

constexpr uint64_t kLayers = 2, kHeads = 3, kRow = 37 + 10;  // deepseek_v2_bf16: latent and rotated key
constexpr int32_t kDecompressFrom = 44;                      // 37 (22 + 18) / (2 * 37 - 22 - 18), rounded up

HandRunner latent_runner(int n_threads, MlaPrefill prefill = MlaPrefill::kExact) {
  return HandRunner(model_of("deepseek_v2_bf16"),
                    must(make_cpu_backend({.n_threads = n_threads, .mla_prefill = prefill})),
                    {.context = 1024, .max_tokens = 1024, .max_seqs = 4});
}

std::vector<int32_t> part(const std::vector<int32_t>& ids, int32_t begin, int32_t end) {
  return {ids.begin() + begin, ids.begin() + end};
}

LatentPath since(const LatentPath& now, const LatentPath& before) {
  return {now.tokens - before.tokens, now.rows - before.rows, now.bytes - before.bytes};
}

TEST(MlaPaths, AbsorbedDecodeFetchesEachLatentRowOncePerLayerForAllHeads) {
  for (const int n_threads : {1, 3}) {
    HandRunner hand = latent_runner(n_threads);
    const std::vector<int32_t> ids = random_ids(4, 700, hand.n_vocab());
    HandSeq seq = hand.new_seq();
    for (const int32_t length : {1, 64, 200, 257, 600}) {
      if (length - 1 > seq.n_cached) hand.step({{&seq, part(ids, seq.n_cached, length - 1)}});
      const LatentCounters before = hand.backend().latent_counters();
      hand.step({{&seq, part(ids, length - 1, length)}});
      const LatentCounters after = hand.backend().latent_counters();
      const LatentPath whole = since(after.decode, before.decode);
      const LatentPath split = since(after.split_decode, before.split_decode);
      const bool splits = n_threads > 1 && length > 256;
      const LatentPath& taken = splits ? split : whole;
      EXPECT_EQ(taken.tokens, kLayers) << length << ", threads " << n_threads;
      EXPECT_EQ(taken.rows, kLayers * static_cast<uint64_t>(length)) << length << ", threads " << n_threads;
      EXPECT_EQ(taken.bytes, taken.rows * kRow * sizeof(float));
      EXPECT_EQ((splits ? whole : split).rows, 0u);
      const uint64_t n_splits = splits ? (static_cast<uint64_t>(length) + 255) / 256 : 0;
      EXPECT_EQ(after.merges - before.merges, kLayers * kHeads * n_splits);
      EXPECT_EQ(since(after.prefill, before.prefill).rows, 0u);
    }
  }
}

TEST(MlaPaths, ABatchFetchesTheRowsOfEachOfItsSequencesOnce) {
  HandRunner hand = latent_runner(2);
  const std::vector<int32_t> ids = random_ids(4, 400, hand.n_vocab());
  HandSeq a = hand.new_seq(), b = hand.new_seq(), c = hand.new_seq();
  hand.step({{&a, part(ids, 0, 300)}, {&b, part(ids, 5, 75)}, {&c, part(ids, 9, 10)}});
  const LatentCounters before = hand.backend().latent_counters();
  hand.step({{&a, {1}}, {&b, {2}}, {&c, {3}}});
  const LatentPath split = since(hand.backend().latent_counters().split_decode, before.split_decode);
  EXPECT_EQ(split.tokens, kLayers * 3);
  EXPECT_EQ(split.rows, kLayers * (301 + 71 + 2));
}

TEST(MlaPaths, PromptsAreCountedByTheirArithmetic) {
  for (const MlaPrefill mode : {MlaPrefill::kExact, MlaPrefill::kFast}) {
    HandRunner hand = latent_runner(2, mode);
    const std::vector<int32_t> ids = random_ids(4, 400, hand.n_vocab());
    HandSeq seq = hand.new_seq();
    hand.step({{&seq, part(ids, 0, 300)}});
    hand.step({{&seq, part(ids, 300, 300 + kDecompressFrom - 1)}});
    const LatentCounters counters = hand.backend().latent_counters();
    const bool fast = mode == MlaPrefill::kFast;
    EXPECT_EQ(counters.fast_prefill.tokens, fast ? kLayers * 300 : 0);
    EXPECT_EQ(counters.fast_prefill.rows, fast ? kLayers * 300 : 0);  // once for all tokens and heads
    EXPECT_EQ(counters.prefill.tokens, kLayers * ((fast ? 0 : 300) + kDecompressFrom - 1));
    EXPECT_EQ(counters.decode.tokens + counters.split_decode.tokens + counters.sparse.tokens, 0u);
    EXPECT_EQ(hand.runner().n_groups(), 1u);
  }
}

TEST(MlaPaths, SparseDecodeFetchesOnlyChosenRows) {
  const FamilyModel model = model_of("deepseek_v32_f32");
  HandRunner hand(model, must(make_cpu_backend({.n_threads = 2})),
                  {.context = 1024, .max_tokens = 1024, .max_seqs = 1});
  const std::vector<int32_t> ids = random_ids(4, 601, hand.n_vocab());
  HandSeq seq = hand.new_seq();
  hand.step({{&seq, part(ids, 0, 600)}});
  const LatentCounters before = hand.backend().latent_counters();
  hand.step({{&seq, part(ids, 600, 601)}});
  const LatentPath sparse = since(hand.backend().latent_counters().sparse, before.sparse);
  const Graph& graph = hand.model().graph;
  uint64_t n_layers = 0, top_k = 0;
  for (const Node& node : graph.nodes) {
    const auto* op = std::get_if<MlaAttention>(&node.op);
    if (op == nullptr) continue;
    ++n_layers;
    top_k = static_cast<uint64_t>(op->top_k);
  }
  ASSERT_GT(n_layers, 0u);
  ASSERT_LT(top_k, 600u);
  EXPECT_EQ(sparse.tokens, n_layers);
  EXPECT_EQ(sparse.rows, n_layers * top_k);
}

// ---- the fast mode ----

Rows run(MlaPrefill mode, int n_threads, const std::vector<int32_t>& chunks,
         const std::vector<int32_t>& ids) {
  HandRunner hand = latent_runner(n_threads, mode);
  HandSeq seq = hand.new_seq();
  Rows out;
  for (const int32_t n : chunks) {
    for (auto& row : hand.step({{&seq, part(ids, seq.n_cached, seq.n_cached + n)}}))
      out.push_back(std::move(row));
  }
  return out;
}

TEST(MlaFastMode, IsAsNearToFloat64AsTheExactMode) {
  const std::vector<int32_t> ids = random_ids(4, 320, 60);
  HandRunner exact_runner(model_of("deepseek_v2_bf16"), make_ref_backend({}),
                          {.context = 1024, .max_tokens = 1024, .max_seqs = 1});
  HandSeq seq = exact_runner.new_seq();
  const Rows truth = exact_runner.step({{&seq, ids}});
  const auto worst = [&](const Rows& got) {
    double out = 0;
    for (size_t t = 0; t < truth.size(); ++t) {
      for (size_t i = 0; i < truth[t].size(); ++i) {
        const double error = std::abs(double{truth[t][i]} - double{got[t][i]});
        out = std::isnan(error) ? INFINITY : std::max(out, error);
      }
    }
    return out;
  };
  const double exact = worst(run(MlaPrefill::kExact, 2, {320}, ids));
  const double fast = worst(run(MlaPrefill::kFast, 2, {320}, ids));
  std::printf("  worst error of a logit: exact %.3e, fast %.3e\n", exact, fast);
  EXPECT_LE(fast, 4 * exact);
}

TEST(MlaFastMode, KeepsItsBytesOverThreadsStrangersAndVerifyRowsAndLargeChunks) {
  const std::vector<int32_t> ids = random_ids(4, 320, 60);
  const Rows whole = run(MlaPrefill::kFast, 1, {320}, ids);
  EXPECT_EQ(first_different_row(whole, run(MlaPrefill::kFast, 3, {320}, ids)), -1);
  // Chunks that are all decompressed do not show.
  EXPECT_EQ(first_different_row(whole, run(MlaPrefill::kFast, 2, {100, kDecompressFrom, 176}, ids)), -1);
  // Strangers that decode or bring prompts of their own do not either.
  HandRunner hand = latent_runner(2, MlaPrefill::kFast);
  HandSeq stranger = hand.new_seq(), other = hand.new_seq(), seq = hand.new_seq();
  hand.step({{&stranger, random_ids(9, 150, 60)}});
  const Rows mixed = hand.step({{&stranger, {3}}, {&seq, ids}, {&other, random_ids(8, 70, 60)}});
  EXPECT_EQ(first_different_row(whole, Rows(mixed.begin() + 1, mixed.begin() + 321)), -1);
  // Rows that check guesses are absorbed as single tokens are.
  const std::vector<int32_t> more = random_ids(7, 16, 60);
  const Rows together = hand.step({{&seq, more}});
  hand.roll_back(seq, 320);
  Rows single;
  for (const int32_t id : more) single.push_back(hand.step({{&seq, {id}}, {&stranger, {id}}})[0]);
  EXPECT_EQ(first_different_row(together, single), -1);
}

TEST(MlaFastMode, LosesItsBytesOverSmallChunksAsItsHelpSays) {
  const std::vector<int32_t> ids = random_ids(4, 320, 60);
  const Rows whole = run(MlaPrefill::kFast, 1, {320}, ids);
  EXPECT_NE(first_different_row(whole, run(MlaPrefill::kFast, 1, {280, kDecompressFrom - 4}, ids)), -1);
  EXPECT_NE(first_different_row(whole, run(MlaPrefill::kExact, 1, {320}, ids)), -1);
  const std::string_view help = option_info(Opt::kMlaPrefill).help;
  EXPECT_NE(help.find("how the prompt was cut into steps"), std::string_view::npos);
  EXPECT_NE(help.find("prefix"), std::string_view::npos);
}

std::unique_ptr<Engine> open(const std::string& model, const std::string& prefill) {
  EngineOptions options;
  options.n_threads = 1;
  options.context = 256;
  options.compute = "f32";
  options.mla_prefill = prefill;
  return must(Engine::open(make_checkpoint(model_of(model)), options));
}

TEST(MlaFastMode, CachedPrefixesOfTheTwoModesNeverMix) {
  const auto path = std::filesystem::temp_directory_path() / ("skua_mla_" + std::to_string(::getpid()));
  const auto exact = open("deepseek_v2_bf16", "exact"), fast = open("deepseek_v2_bf16", "fast");
  EXPECT_NE(exact->runner().fingerprint(), fast->runner().fingerprint());
  GenerateRequest request;
  request.prompt_ids = random_ids(4, 150, 60);
  request.max_tokens = 4;
  ASSERT_TRUE(exact->submit(request).ok());
  while (!exact->idle()) exact->step();
  ASSERT_EQ(must(exact->save_state(request.prompt_ids, path)), 150);
  const auto refused = fast->restore_state(path);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::kInvalidArgument) << refused.status().message();
  EXPECT_TRUE(open("deepseek_v2_bf16", "exact")->restore_state(path).ok());
  std::filesystem::remove(path);
}

TEST(MlaFastMode, RefusesWhatItDoesNotKnow) {
  EngineOptions options;
  options.n_threads = 1;
  options.mla_prefill = "fast";
  const auto sparse = Engine::open(make_checkpoint(model_of("deepseek_v32_f32")), options);
  ASSERT_FALSE(sparse.ok());
  EXPECT_NE(sparse.status().message().find("mla-prefill exact"), std::string::npos)
      << sparse.status().message();
  options.mla_prefill = "quick";
  EXPECT_FALSE(Engine::open(make_checkpoint(model_of("deepseek_v2_bf16")), options).ok());
}

TEST(MlaFastMode, SaysWhenItChangesNothing) {
  const auto has_word = [](const Engine& engine) {
    for (const std::string& warning : engine.load_report().warnings) {
      if (warning.find("no latent attention") != std::string::npos) return true;
    }
    return false;
  };
  EXPECT_FALSE(has_word(*open("deepseek_v2_bf16", "fast")));
  EXPECT_TRUE(has_word(*open("llama_bf16", "fast")));
  EXPECT_FALSE(has_word(*open("llama_bf16", "exact")));
}

}  // namespace
}  // namespace skua::test
