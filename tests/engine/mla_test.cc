// Latent attention from the outside: what the load refuses, what the fold of kv_b_proj gives, what a trim
// does.
#include <gtest/gtest.h>

#include <cstring>

#include "backend/cpu/cpu_backend.h"
#include "backend/ref/ref_backend.h"
#include "engine/hand_runner.h"
#include "engine/weight_blocks.h"
#include "tensor/decode.h"

namespace skua::test {
namespace {

FamilyModel model_of(const std::string& name) {
  for (FamilyModel& model : sample_family_models()) {
    if (model.name == name) return model;
  }
  check_failed(__FILE__, __LINE__, "model_of", name);
}

std::string refusal(const Checkpoint& checkpoint) {
  const auto backend = make_ref_backend({});
  const auto model = load_model(checkpoint, *backend, ConfigPolicy::kStrict, nullptr);
  EXPECT_FALSE(model.ok());
  return model.ok() ? "" : model.status().message();
}

/// The checkpoint of deepseek_v2_bf16 under a config that differs in one value.
std::unique_ptr<MemoryCheckpoint> with_config(const std::string& from, const std::string& to) {
  FamilyModel model = model_of("deepseek_v2_bf16");
  auto checkpoint = make_checkpoint(model);
  model.config.replace(model.config.find(from), from.size(), to);
  checkpoint->set_config(must(parse_json(model.config)));
  return checkpoint;
}

TEST(MlaLoad, RefusesABiasOnKvB) {
  const auto checkpoint = make_checkpoint(model_of("deepseek_v2_bf16"));
  const std::vector<float> bias(120, 0.0f);
  ASSERT_TRUE(
      checkpoint->add_values("model.layers.1.self_attn.kv_b_proj.bias", {120}, DType::kF32, bias).ok());
  EXPECT_NE(refusal(*checkpoint).find("model.layers.1.self_attn.kv_b_proj.bias"), std::string::npos);
}

TEST(MlaLoad, RefusesAKvBThatDoesNotPartIntoHeadsAndTheirRows) {
  // 3 heads x (22 + 18) = 120 rows of 37.
  for (const auto& [from, to, blocks] :
       {std::tuple{"\"qk_nope_head_dim\": 22", "\"qk_nope_head_dim\": 21", "[39, 37]"},
        {"\"kv_lora_rank\": 37", "\"kv_lora_rank\": 36", "[40, 36]"}}) {
    const std::string error = refusal(*with_config(from, to));
    const std::string expected =
        "kv_b_proj.weight must hold 3 blocks of " + std::string(blocks) + " and is stored as [120, 37]";
    EXPECT_NE(error.find(expected), std::string::npos) << error;
  }
}

TEST(MlaFold, OfAQuantizedKvBRoundsEachDecodedWeightOnce) {
  const FamilyModel model = model_of("deepseek_v3_affine8");
  const auto checkpoint = make_checkpoint(model);
  const auto graph = must(must(parse_model(checkpoint->config(), ConfigPolicy::kStrict))->build(Numerics{}));
  constexpr int64_t kHeads = 4, kNope = 32, kV = 16, kRank = 64;
  const EncodedMatrix stored = must(checkpoint->matrix("model.layers.0.self_attn.kv_b_proj.weight"));
  ASSERT_FALSE(stored.format.is_plain());
  int n_judged = 0;
  for (const WeightDecl& decl : graph.weights) {
    const bool keys = decl.name == "model.layers.0.self_attn.w_uk";
    if (!keys && decl.name != "model.layers.0.self_attn.w_uv") continue;
    std::vector<std::byte> copy;
    const EncodedMatrix folded = must(read_weight(*checkpoint, decl, copy));
    ASSERT_EQ(folded.rows, kHeads * (keys ? kRank : kV));
    ASSERT_EQ(folded.cols, keys ? kNope : kRank);
    std::vector<float> got(static_cast<size_t>(folded.cols)), row(kRank);
    for (int64_t r = 0; r < folded.rows; ++r) {
      decode_row(folded, r, 0, folded.cols, got.data());
      for (int64_t c = 0; c < folded.cols; ++c) {
        const int64_t head = r / (keys ? kRank : kV);
        const int64_t stored_row = head * (kNope + kV) + (keys ? c : kNope + r % kV);
        const int64_t stored_col = keys ? r % kRank : c;
        decode_row(stored, stored_row, 0, kRank, row.data());
        const float expected = bf16_to_f32(f32_to_bf16(row[static_cast<size_t>(stored_col)]));
        ASSERT_EQ(got[static_cast<size_t>(c)], expected) << decl.name << " " << r << ", " << c;
        ++n_judged;
      }
    }
  }
  EXPECT_EQ(n_judged, kHeads * (kNope + kV) * kRank);
}

TEST(MlaFold, OneRowCutOutOfAMatrixIsThatRow) {
  const auto checkpoint = make_checkpoint(model_of("deepseek_v2_bf16"));
  const std::string name = "model.layers.0.self_attn.kv_a_proj_with_mqa.weight";
  const EncodedMatrix stored = must(checkpoint->matrix(name));
  const int64_t last = stored.rows - 1;
  const WeightDecl decl{name + "[last]", 1, stored.cols, {{{name}, 1, stored.rows, stored.cols, last}}};
  std::vector<std::byte> copy;
  const EncodedMatrix got = must(read_weight(*checkpoint, decl, copy));
  ASSERT_EQ(got.rows, 1);
  ASSERT_EQ(got.cols, stored.cols);
  std::vector<float> row(static_cast<size_t>(stored.cols)), expected = row;
  decode_row(got, 0, 0, stored.cols, row.data());
  decode_row(stored, last, 0, stored.cols, expected.data());
  EXPECT_EQ(row, expected);
}

/// All bytes of the sequence's pages.
std::vector<std::vector<std::byte>> pages_of(HandRunner& hand, const HandSeq& seq) {
  std::vector<std::vector<std::byte>> out;
  for (uint32_t group = 0; group < seq.tables.size(); ++group) {
    for (const int32_t page : seq.tables[group].pages()) {
      out.emplace_back(hand.runner().page_bytes(group));
      EXPECT_TRUE(hand.runner().read_page(group, page, out.back()).ok());
    }
  }
  return out;
}

TEST(MlaTrim, DropsTheNewestRowsAndNothingElse) {
  HandRunner hand(model_of("deepseek_v2_bf16"), must(make_cpu_backend({})),
                  {.context = 256, .max_tokens = 256, .max_seqs = 1});
  const std::vector<int32_t> ids = random_ids(3, 140, hand.n_vocab());
  const auto part = [&](int32_t begin, int32_t end) {
    return std::vector<int32_t>(ids.begin() + begin, ids.begin() + end);
  };
  HandSeq seq = hand.new_seq();
  const Rows whole = hand.step({{&seq, ids}});
  const auto before = pages_of(hand, seq);
  ASSERT_EQ(before.size(), 3u);
  for (const int32_t n : {1, 7, 12, 13, 80}) {
    hand.roll_back(seq, 140 - n);
    const auto trimmed = pages_of(hand, seq);
    EXPECT_EQ(trimmed.size(), static_cast<size_t>((140 - n + 63) / 64)) << n;
    for (size_t page = 0; page < trimmed.size(); ++page) EXPECT_EQ(trimmed[page], before[page]);
    const Rows again = hand.step({{&seq, part(140 - n, 140)}});
    EXPECT_EQ(first_different_row(Rows(whole.end() - n, whole.end()), again), -1) << n;
  }
  // One row too many or too few: the logits after it are others.
  for (const int32_t wrong : {-1, 1}) {
    hand.roll_back(seq, 130);
    seq.n_cached += wrong;
    const Rows shifted = hand.step({{&seq, part(130, 132)}});
    EXPECT_EQ(first_different_row(Rows(whole.begin() + 130, whole.begin() + 132), shifted), 0);
    hand.roll_back(seq, 120);
    hand.step({{&seq, part(120, 140)}});
  }
}

}  // namespace
}  // namespace skua::test
