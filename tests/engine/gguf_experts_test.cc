// Families with experts from GGUF files: a tiny model written the way converters write it gives the same
// bytes as under its transformers names. Facts: gguf-py's constants and tensor_mapping (0.19), llama.cpp's
// conversion scripts.
#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "engine/gguf_files.h"
#include "models/gguf_import.h"

namespace skua::test {
namespace {

enum class QkRows { kAsTheyAre, kPairWise };

struct Case {
  const char* model;  // FamilyModel::name
  const char* arch;
  QkRows rows = QkRows::kAsTheyAre;
  const char* changes = "{}";   // to the model's config, first: what such files cannot say
  const char* metadata = "{}";  // below the architecture's name, besides the sizes
  Renames own = {};             // below the layer; others are common
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.arch; }

const Case kCases[] = {
    {"olmoe_q8_0", "olmoe", QkRows::kAsTheyAre, "{}", R"({"expert_count": 7, "expert_used_count": 3})"},
    {"qwen2_moe_f32",
     "qwen2moe",
     QkRows::kAsTheyAre,
     R"({"mlp_only_layers": []})",
     R"({"expert_count": 7, "expert_used_count": 3, "expert_feed_forward_length": 21,
         "expert_shared_feed_forward_length": 33})",
     {{"mlp.shared_expert_gate", "ffn_gate_inp_shexp"},
      {"mlp.shared_expert.gate_proj", "ffn_gate_shexp"},
      {"mlp.shared_expert.up_proj", "ffn_up_shexp"},
      {"mlp.shared_expert.down_proj", "ffn_down_shexp"}}},
    {"qwen3_moe_affine4", "qwen3moe", QkRows::kAsTheyAre, "{}",
     R"({"expert_count": 6, "expert_used_count": 3, "expert_feed_forward_length": 32})"},
    {"mixtral_bf16",
     "llama",
     QkRows::kPairWise,
     R"({"rope_theta": 1000000.0})",
     R"({"expert_count": 5, "expert_used_count": 2, "vocab_size": 77})",
     {{"block_sparse_moe.gate", "ffn_gate_inp"}}},
    {"dots1_f16", "dots1", QkRows::kAsTheyAre, R"({"sliding_window": null})",
     R"({"expert_count": 7, "expert_used_count": 3, "expert_feed_forward_length": 11, "expert_shared_count": 2,
         "leading_dense_block_count": 1, "expert_weights_scale": 2.5, "expert_weights_norm": true})"},
    {"glm4_moe_bf16",
     "glm4moe",
     QkRows::kAsTheyAre,
     R"({"num_nextn_predict_layers": 1})",
     R"({"expert_count": 8, "expert_used_count": 3, "expert_feed_forward_length": 11, "expert_shared_count": 1,
         "leading_dense_block_count": 1, "expert_weights_scale": 1.0, "expert_weights_norm": true,
         "expert_gating_func": 2, "expert_group_count": 4, "expert_group_used_count": 2, "block_count": 3,
         "nextn_predict_layers": 1, "rope.dimension_count": 12})",
     {{"post_attention_layernorm", "post_attention_norm"}}},
    {"solar_open_affine4",
     "glm4moe",  // whose layers its own are, without norms of q and k, dense layers, and parts that do not
                 // turn
     QkRows::kAsTheyAre,
     R"({"rope_theta": 1000000.0})",
     R"({"vocab_size": 101, "expert_count": 6, "expert_used_count": 2, "expert_feed_forward_length": 32,
         "expert_shared_count": 1, "leading_dense_block_count": 0, "expert_weights_scale": 1.0,
         "expert_weights_norm": true, "expert_gating_func": 2, "expert_group_count": 1,
         "expert_group_used_count": 1, "rope.dimension_count": 32})",
     {{"post_attention_layernorm", "post_attention_norm"}}},
    {"ernie4_5_moe_f16",
     "ernie4_5-moe",
     QkRows::kAsTheyAre,
     R"({"use_bias": false, "rope_theta": 500000.0})",
     R"({"expert_count": 6, "expert_used_count": 2, "expert_feed_forward_length": 9, "expert_shared_count": 2,
         "expert_shared_feed_forward_length": 41, "leading_dense_block_count": 1, "interleave_moe_layer_step": 1,
         "expert_gating_func": 1})",
     {{"mlp.moe_statics.e_score_correction_bias", "exp_probs_b.bias"}}},
    {"hunyuan_moe_bf16",
     "hunyuan-moe",
     QkRows::kAsTheyAre,
     "{}",
     R"({"expert_count": 5, "expert_used_count": 2, "expert_feed_forward_length": 41, "expert_shared_count": 1,
         "expert_shared_feed_forward_length": 41, "rope.scaling.type": "none", "rope.scaling.factor": 1.0,
         "rope.scaling.original_context_length": 262144})",
     {{"self_attn.query_layernorm", "attn_q_norm"},
      {"self_attn.key_layernorm", "attn_k_norm"},
      {"mlp.gate.wg", "ffn_gate_inp"},
      {"mlp.shared_mlp.gate_proj", "ffn_gate_shexp"},
      {"mlp.shared_mlp.up_proj", "ffn_up_shexp"},
      {"mlp.shared_mlp.down_proj", "ffn_down_shexp"}}},
    {"granitemoe_bf16",
     "granitemoe",
     QkRows::kPairWise,
     "{}",
     R"({"expert_count": 6, "expert_used_count": 2, "attention.scale": 0.2, "embedding_scale": 3.0,
         "residual_scale": 0.5, "logit_scale": 2.0})",
     {{"block_sparse_moe.router.layer", "ffn_gate_inp"}}},
    {"minimax_m2_f32",
     "minimax-m2",
     QkRows::kAsTheyAre,
     R"({"rope_theta": 5000000.0})",
     R"({"expert_count": 9, "expert_used_count": 4, "expert_feed_forward_length": 41, "expert_gating_func": 2,
         "rope.dimension_count": 10})",
     {{"block_sparse_moe.gate", "ffn_gate_inp"},
      {"block_sparse_moe.e_score_correction_bias", "exp_probs_b.bias"}}},
    {"exaone_moe_bf16",
     "exaone-moe",
     QkRows::kAsTheyAre,
     "{}",
     R"({"expert_count": 6, "expert_used_count": 3, "expert_feed_forward_length": 11, "expert_shared_count": 1,
         "expert_shared_feed_forward_length": 11, "leading_dense_block_count": 1, "expert_weights_scale": 2.5,
         "expert_weights_norm": true, "expert_gating_func": 2, "nextn_predict_layers": 0, "vocab_size": 101,
         "attention.sliding_window": 33, "attention.sliding_window_pattern": [true, false],
         "rope.scaling.type": "none"})",
     {{"mlp.e_score_correction_bias", "exp_probs_b.bias"}}},
    {"afmoe_f32",
     "afmoe",
     QkRows::kAsTheyAre,
     "{}",
     R"({"expert_count": 5, "expert_used_count": 2, "expert_feed_forward_length": 13, "expert_shared_count": 1,
         "leading_dense_block_count": 1, "expert_weights_scale": 2.8, "expert_weights_norm": true,
         "expert_gating_func": 2, "attention.sliding_window": 50, "attention.sliding_window_pattern": [true, false]})",
     {{"self_attn.gate_proj", "attn_gate"},
      {"post_attention_layernorm", "post_attention_norm"},
      {"pre_mlp_layernorm", "ffn_norm"},
      {"post_mlp_layernorm", "post_ffw_norm"},
      {"mlp.router.gate", "ffn_gate_inp"},
      {"mlp.expert_bias", "exp_probs_b.bias"}}},
};

/// Rows of q or k as converters for pair-wise rotation store them: (head, half, i) at (head, i, half).
std::vector<std::byte> pair_wise(const EncodedMatrix& m, int64_t n_heads) {
  const int64_t d = m.rows / n_heads;
  std::vector<std::byte> out;
  for (int64_t row = 0; row < m.rows; ++row) {
    const int64_t from = pair_wise_row(row, d);
    const std::byte* bytes = m.row_plane(0, from);
    out.insert(out.end(), bytes, bytes + m.row_stride_bytes[0]);
  }
  return out;
}

struct Planes {
  std::vector<std::vector<std::byte>> planes;
  std::vector<int64_t> shape;
  Format format;
};

void append(Planes& to, const EncodedMatrix& m) {
  to.format = m.format;
  to.planes.resize(3);
  for (size_t p = 0; p < 3 && m.planes[p] != nullptr; ++p) {
    const std::byte* bytes = m.planes[p];
    to.planes[p].insert(to.planes[p].end(), bytes,
                        bytes + static_cast<uint64_t>(m.rows) * m.row_stride_bytes[p]);
  }
}

Json metadata_of(const Case& c, const ModelInfo& info, const Json& config) {
  Json out = Json::object();
  const std::string arch = c.arch;
  out.set("general.architecture", Json(arch));
  const auto set = [&](const std::string& key, Json value) { out.set(arch + "." + key, std::move(value)); };
  set("block_count", Json(info.n_layers));
  set("context_length", Json(info.max_context));
  set("embedding_length", Json(info.d_model));
  set("feed_forward_length", Json(info.d_ff));
  set("attention.head_count", Json(info.n_heads));
  set("attention.head_count_kv", Json(info.n_kv_heads));
  set("attention.key_length", Json(info.head_dim));
  set("attention.value_length", Json(info.head_dim));
  set("attention.layer_norm_rms_epsilon", Json(1e-5));
  const Json* theta = config.find("rope_theta");
  set("rope.freq_base", theta != nullptr ? *theta : Json(10000.0));
  if (arch == "hunyuan-moe")  // the file holds the base that alpha gives
    set("rope.freq_base", Json(10000.0 * std::pow(1000.0, info.head_dim / (info.head_dim - 2.0))));
  const Json more = *parse_json(c.metadata);
  for (const auto& [key, value] : more.members()) set(key, value);
  return out;
}

/// The checkpoint as a GGUF file.
std::unique_ptr<FakeGguf> as_gguf(const Case& c, const Checkpoint& from) {
  const auto model = must(parse_model(from.config(), ConfigPolicy::kStrict));
  auto out = std::make_unique<FakeGguf>();
  std::map<std::string, Planes> tensors;
  for (const TensorEntry& entry : from.tensors()) {
    const std::string name(entry.name);
    const EncodedMatrix m = must(from.matrix(name));
    const auto [to, is_expert] = gguf_name(c.own, name);
    Planes& stored = tensors[to];
    const bool q = name.ends_with("q_proj.weight"), k = name.ends_with("k_proj.weight");
    if (c.rows == QkRows::kPairWise && (q || k)) {
      stored = {
          {pair_wise(m, q ? model->info().n_heads : model->info().n_kv_heads)}, {m.rows, m.cols}, m.format};
      continue;
    }
    append(stored, m);
    if (is_expert) stored.shape = {stored.shape.empty() ? 1 : stored.shape[0] + 1, m.rows, m.cols};
    if (!is_expert) stored.shape = entry.shape;
  }
  for (const auto& [name, stored] : tensors) {
    std::vector<std::byte> bytes;
    for (const auto& plane : stored.planes) bytes.insert(bytes.end(), plane.begin(), plane.end());
    const Status status = out->add_tensor(name, stored.shape, stored.format, std::move(bytes));
    if (!status.ok()) check_failed(__FILE__, __LINE__, "add_tensor", status.message());
  }
  if (std::string(c.model) == "glm4_moe_bf16") {  // what guesses ahead is in the file
    const std::vector<float> row(48, 1.0f);
    SKUA_CHECK(out->add_values("blk.2.nextn.enorm.weight", {48}, DType::kF32, row).ok());
    SKUA_CHECK(out->add_values("blk.2.attn_norm.weight", {48}, DType::kF32, row).ok());
  }
  out->set_config(metadata_of(c, model->info(), from.config()));
  return out;
}

class GgufExperts : public testing::TestWithParam<Case> {};

TEST_P(GgufExperts, GiveTheSameBytesAsUnderTheirOwnNames) {
  const Case& c = GetParam();
  for (FamilyModel model : family_models()) {
    if (model.name != c.model) continue;
    Json config = must(parse_json(model.config));
    config.set("rms_norm_eps", Json(1e-5));  // files always say it; families differ in what they take else
    const Json changes = *parse_json(c.changes);
    for (const auto& [key, value] : changes.members()) config.set(key, value);
    model.config = config.dump();
    const auto checkpoint = make_checkpoint(model);
    auto imported = import_gguf(as_gguf(c, *checkpoint), ConfigPolicy::kStrict);
    ASSERT_TRUE(imported.ok()) << imported.status().message();
    EXPECT_EQ(first_different_row(logits_of(*checkpoint), logits_of(**imported)), -1);
    return;
  }
  FAIL() << "no model " << c.model;
}

TEST(GgufGate, AnotherThanTheFamilysIsRefusedWithItsKey) {
  for (const Case& c : kCases) {
    if (std::string_view(c.metadata).find("expert_gating_func") == std::string_view::npos) continue;
    for (const FamilyModel& model : family_models()) {
      if (model.name != c.model) continue;
      auto file = as_gguf(c, *make_checkpoint(model));
      Json metadata = file->config();
      const std::string key = std::string(c.arch) + ".expert_gating_func";
      metadata.set(key, Json(metadata.find(key)->as_int() == 1 ? 2 : 1));
      file->set_config(metadata);
      const auto imported = import_gguf(std::move(file), ConfigPolicy::kStrict);
      ASSERT_TRUE(imported.ok()) << imported.status().message();
      const auto model_or = parse_model((*imported)->config(), ConfigPolicy::kStrict);
      ASSERT_FALSE(model_or.ok()) << c.arch;
      const std::string& text = model_or.status().message();
      EXPECT_TRUE(std::regex_search(text, std::regex("score_func|scoring_func|moe_gate_act"))) << text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, GgufExperts, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<Case>& param) {
                           std::string name = param.param.model;
                           return name;
                         });

}  // namespace
}  // namespace skua::test
