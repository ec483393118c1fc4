// Configs of the tiny models and their random weights.
#include "engine/family_models.h"

#include <cmath>
#include <set>

#include "backend/host_random.h"
#include "engine/family_configs.h"

namespace skua::test {
namespace {

constexpr const char* kLlama = R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 48,
  "intermediate_size": 41, "num_attention_heads": 3, "num_key_value_heads": 1, "vocab_size": 101, "rms_norm_eps": 1e-5,
  "max_position_embeddings": 4096, "tie_word_embeddings": false, "attention_bias": true, "mlp_bias": true,
  "rope_theta": 500000.0, "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
  "high_freq_factor": 4.0, "original_max_position_embeddings": 1024}})";

constexpr const char* kLlamaBlocks = R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 96,
  "intermediate_size": 160, "num_attention_heads": 3, "num_key_value_heads": 3, "vocab_size": 99, "rms_norm_eps": 1e-5,
  "max_position_embeddings": 4096, "tie_word_embeddings": true})";

/// Wide enough for blocks of 256 columns.
constexpr const char* kLlamaWide = R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 256,
  "intermediate_size": 512, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 99, "rms_norm_eps": 1e-5,
  "max_position_embeddings": 4096, "tie_word_embeddings": true})";

constexpr const char* kMistral = R"({"model_type": "mistral", "num_hidden_layers": 2, "hidden_size": 40,
  "intermediate_size": 67, "num_attention_heads": 5, "num_key_value_heads": 1, "head_dim": 24, "vocab_size": 77,
  "rms_norm_eps": 1e-5, "max_position_embeddings": 4096, "sliding_window": 20, "rope_theta": 10000.0})";

constexpr const char* kQwen2 = R"({"model_type": "qwen2", "num_hidden_layers": 3, "hidden_size": 36,
  "intermediate_size": 50, "num_attention_heads": 6, "num_key_value_heads": 2, "vocab_size": 130, "rms_norm_eps": 1e-6,
  "max_position_embeddings": 4096, "tie_word_embeddings": true, "use_sliding_window": true, "sliding_window": 70,
  "max_window_layers": 1, "rope_theta": 1000000.0})";

constexpr const char* kQwen3 = R"({"model_type": "qwen3", "num_hidden_layers": 2, "hidden_size": 64,
  "intermediate_size": 96, "num_attention_heads": 9, "num_key_value_heads": 3, "head_dim": 32, "vocab_size": 90,
  "rms_norm_eps": 1e-6, "max_position_embeddings": 4096, "tie_word_embeddings": true, "rope_theta": 1000000.0})";

constexpr const char* kGemma3 = R"({"model_type": "gemma3_text", "num_hidden_layers": 3, "hidden_size": 52,
  "intermediate_size": 71, "num_attention_heads": 3, "num_key_value_heads": 1, "head_dim": 40, "vocab_size": 111,
  "rms_norm_eps": 1e-6, "max_position_embeddings": 4096, "sliding_window": 33, "sliding_window_pattern": 3,
  "query_pre_attn_scalar": 40, "final_logit_softcapping": 15.0, "rope_theta": 1000000.0,
  "rope_local_base_freq": 10000.0, "rope_scaling": {"rope_type": "linear", "factor": 8.0}})";

constexpr const char* kMixtral = R"({"model_type": "mixtral", "num_hidden_layers": 2, "hidden_size": 40,
  "intermediate_size": 50, "num_attention_heads": 5, "num_key_value_heads": 1, "head_dim": 24, "vocab_size": 77,
  "num_local_experts": 5, "num_experts_per_tok": 2, "max_position_embeddings": 4096, "rms_norm_eps": 1e-5})";

constexpr const char* kQwen2Moe = R"({"model_type": "qwen2_moe", "num_hidden_layers": 3, "hidden_size": 36,
  "intermediate_size": 44, "num_attention_heads": 6, "num_key_value_heads": 2, "vocab_size": 130, "num_experts": 7,
  "num_experts_per_tok": 3, "moe_intermediate_size": 21, "shared_expert_intermediate_size": 33,
  "norm_topk_prob": false, "mlp_only_layers": [1], "max_position_embeddings": 4096})";

constexpr const char* kQwen3Moe = R"({"model_type": "qwen3_moe", "num_hidden_layers": 2, "hidden_size": 64,
  "intermediate_size": 96, "num_attention_heads": 9, "num_key_value_heads": 3, "head_dim": 32, "vocab_size": 90,
  "num_experts": 6, "num_experts_per_tok": 3, "moe_intermediate_size": 32, "norm_topk_prob": true,
  "max_position_embeddings": 4096})";

constexpr const char* kDeepSeekV2 =
    R"({"model_type": "deepseek_v2", "num_hidden_layers": 2, "hidden_size": 44,
  "intermediate_size": 50, "num_attention_heads": 3, "vocab_size": 91, "kv_lora_rank": 37, "q_lora_rank": null,
  "qk_nope_head_dim": 22, "qk_rope_head_dim": 10, "v_head_dim": 18, "n_routed_experts": 6, "n_shared_experts": 2,
  "num_experts_per_tok": 2, "moe_intermediate_size": 14, "first_k_dense_replace": 1, "n_group": 3, "topk_group": 2,
  "topk_method": "group_limited_greedy", "routed_scaling_factor": 1.5, "norm_topk_prob": false, "head_dim": 10,
  "max_position_embeddings": 4096})";

constexpr const char* kDeepSeekV3 =
    R"({"model_type": "deepseek_v3", "num_hidden_layers": 2, "hidden_size": 64,
  "intermediate_size": 96, "num_attention_heads": 4, "vocab_size": 88, "kv_lora_rank": 64, "q_lora_rank": 32,
  "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 16, "n_routed_experts": 8, "n_shared_experts": 1,
  "num_experts_per_tok": 3, "moe_intermediate_size": 32, "first_k_dense_replace": 1, "n_group": 4, "topk_group": 2,
  "topk_method": "noaux_tc", "scoring_func": "sigmoid", "routed_scaling_factor": 2.5, "norm_topk_prob": true,
  "head_dim": 16, "max_position_embeddings": 4096})";

constexpr const char* kDeepSeekV32 =
    R"({"model_type": "deepseek_v32", "num_hidden_layers": 2, "hidden_size": 40,
  "intermediate_size": 36, "num_attention_heads": 3, "vocab_size": 88, "kv_lora_rank": 24, "q_lora_rank": 20,
  "qk_nope_head_dim": 12, "qk_rope_head_dim": 8, "v_head_dim": 14, "n_routed_experts": 4, "n_shared_experts": 1,
  "num_experts_per_tok": 2, "moe_intermediate_size": 12, "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1,
  "topk_method": "noaux_tc", "scoring_func": "sigmoid", "routed_scaling_factor": 2.5, "norm_topk_prob": true,
  "index_topk": 50, "index_n_heads": 5, "index_head_dim": 22, "head_dim": 8, "max_position_embeddings": 4096})";

constexpr const char* kGlm4MoeLite =
    R"({"model_type": "glm4_moe_lite", "num_hidden_layers": 2, "hidden_size": 40,
  "intermediate_size": 36, "num_attention_heads": 2, "vocab_size": 70, "kv_lora_rank": 20, "q_lora_rank": 12,
  "qk_nope_head_dim": 14, "qk_rope_head_dim": 6, "v_head_dim": 9, "n_routed_experts": 5, "n_shared_experts": 1,
  "num_experts_per_tok": 2, "moe_intermediate_size": 10, "mlp_layer_types": ["dense", "sparse"],
  "routed_scaling_factor": 1.0, "attention_bias": true, "max_position_embeddings": 4096})";

constexpr const char* kYoutu = R"({"model_type": "youtu", "num_hidden_layers": 2, "hidden_size": 40,
  "intermediate_size": 36, "num_attention_heads": 5, "vocab_size": 70, "kv_lora_rank": 24, "q_lora_rank": 12,
  "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16, "rope_interleave": false,
  "max_position_embeddings": 4096})";

constexpr const char* kMiniCpm3 = R"({"model_type": "minicpm3", "num_hidden_layers": 2, "hidden_size": 48,
  "intermediate_size": 36, "num_attention_heads": 4, "vocab_size": 70, "kv_lora_rank": 24, "q_lora_rank": 20,
  "qk_nope_head_dim": 12, "qk_rope_head_dim": 8, "v_head_dim": 12, "scale_emb": 12, "scale_depth": 1.4,
  "dim_model_base": 16, "max_position_embeddings": 4096})";

constexpr const char* kLongcatFlash = R"({"model_type": "longcat_flash", "num_layers": 1, "hidden_size": 48,
  "ffn_hidden_size": 36, "num_attention_heads": 3, "vocab_size": 70, "kv_lora_rank": 32, "q_lora_rank": 24,
  "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16, "n_routed_experts": 4, "zero_expert_num": 3,
  "moe_topk": 3, "expert_ffn_hidden_size": 20, "routed_scaling_factor": 2.0, "max_position_embeddings": 4096})";

uint64_t seed_of(const std::string& name) {
  uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

HostWeight random_for(const WeightDecl& decl, const FamilyModel& model) {
  const uint64_t seed = seed_of(model.name + decl.name);
  if (decl.rows > 1) {
    // Rows that a format's blocks do not fit (taps of convolutions) stay plain, as in real checkpoints.
    const bool fits = decl.cols % block_cols(model.format) == 0;
    const Format format = fits ? model.format : Format{FormatKind::kBF16};
    const double scale =
        decl.name.find("embed") != std::string::npos ? 1.0 : 2.5 / std::sqrt(static_cast<double>(decl.cols));
    return random_weight(format, decl.rows, decl.cols, scale, seed);
  }
  HostWeight weight = random_weight({FormatKind::kF32}, 1, decl.cols, 0.3, seed);
  const auto named = [&](const char* part) { return decl.name.find(part) != std::string::npos; };
  const bool step = named("dt_bias") || named("dt_proj.bias");  // small steps: states of scans last
  if (!named("norm") && !step) return weight;
  std::vector<double> values = weight.row(0);
  for (double& v : values) v += step ? -3.0 : 1.0;
  return plain_weight(DType::kF32, 1, decl.cols, values);
}

/// The tensors that a declared weight is made of.
std::vector<WeightDecl> tensors_behind(const WeightDecl& decl) {
  if (decl.blocks.empty()) return {decl};
  const BlockSource& source = decl.blocks[0];
  const int64_t n = source.tensors.size() == 1 ? source.n_blocks : 1;  // blocks of one tensor
  const bool vector = source.block_rows == 1;
  std::vector<WeightDecl> out;
  for (const std::string& name : source.tensors) {
    out.push_back(vector ? WeightDecl{name, 1, n * source.block_cols}
                         : WeightDecl{name, n * source.block_rows, source.block_cols});
  }
  return out;
}

}  // namespace

std::vector<FamilyModel> family_models() {
  std::vector<FamilyModel> out = sample_family_models();
  for (FamilyModel& model : dense_family_models()) out.push_back(std::move(model));
  for (FamilyModel& model : moe_family_models()) out.push_back(std::move(model));
  for (FamilyModel& model : recurrent_family_models()) out.push_back(std::move(model));
  return out;
}

std::vector<FamilyModel> sample_family_models() {
  std::vector<FamilyModel> out{
      {"llama_bf16", "llama", kLlama, {FormatKind::kBF16}},
      {"llama_q4_1", "llama", kLlamaBlocks, {FormatKind::kQ4_1}},
      {"llama_q4_k", "llama", kLlamaWide, {FormatKind::kQ4_K}},
      {"mistral_f32", "mistral", kMistral, {FormatKind::kF32}},
      {"qwen2_f16", "qwen2", kQwen2, {FormatKind::kF16}},
      {"qwen3_affine4", "qwen3", kQwen3, {FormatKind::kAffine, 4, 32, DType::kBF16}},
      {"deepseek_v2_bf16", "deepseek_v2", kDeepSeekV2, {FormatKind::kBF16}},
      {"deepseek_v3_affine8", "deepseek_v3", kDeepSeekV3, {FormatKind::kAffine, 8, 32, DType::kF16}},
      {"deepseek_v32_f32", "deepseek_v32", kDeepSeekV32, {FormatKind::kF32}},
      {"glm4_moe_lite_f16", "glm4_moe_lite", kGlm4MoeLite, {FormatKind::kF16}},
      {"longcat_flash_bf16", "longcat_flash", kLongcatFlash, {FormatKind::kBF16}},
      {"minicpm3_f32", "minicpm3", kMiniCpm3, {FormatKind::kF32}},
      {"youtu_bf16", "youtu", kYoutu, {FormatKind::kBF16}},
      {"mixtral_bf16", "mixtral", kMixtral, {FormatKind::kBF16}},
      {"qwen2_moe_f32", "qwen2_moe", kQwen2Moe, {FormatKind::kF32}},
      {"qwen3_moe_affine4", "qwen3_moe", kQwen3Moe, {FormatKind::kAffine, 4, 32, DType::kBF16}},
      {"gemma3_bf16", "gemma3", kGemma3, {FormatKind::kBF16}},
  };
  for (FamilyModel& model : recurrent_sample_models()) out.push_back(std::move(model));
  for (FamilyModel& model : mixed_attention_models()) out.push_back(std::move(model));
  return out;
}

namespace {

Graph graph_of(const Json& config) {
  const auto parsed = parse_model(config, ConfigPolicy::kStrict);
  if (!parsed.ok()) check_failed(__FILE__, __LINE__, "parse_model", parsed.status().message());
  auto graph = (*parsed)->build(Numerics{});
  if (!graph.ok()) check_failed(__FILE__, __LINE__, "build", graph.status().message());
  return std::move(graph).value();
}

}  // namespace

std::vector<FamilyModel> sample_models_with_heads() {
  std::vector<FamilyModel> out;
  for (FamilyModel& model : sample_family_models()) {
    const auto config = parse_json(model.config);
    SKUA_CHECK(config.ok());
    if (keeps_heads(graph_of(*config))) out.push_back(std::move(model));
  }
  return out;
}

std::unique_ptr<MemoryCheckpoint> make_checkpoint(const FamilyModel& model) {
  auto out = std::make_unique<MemoryCheckpoint>(model.name);
  auto config = parse_json(model.config);
  SKUA_CHECK(config.ok());
  const Graph graph = graph_of(*config);
  std::set<std::string> made;  // several weights may be parts of one tensor
  for (const WeightDecl& weight_decl : graph.weights) {
    for (const WeightDecl& decl : tensors_behind(weight_decl)) {
      if (!made.insert(decl.name).second) continue;
      const HostWeight weight = random_for(decl, model);
      std::vector<std::byte> bytes;
      for (const auto& plane : weight.planes) bytes.insert(bytes.end(), plane.begin(), plane.end());
      const auto shape =
          decl.rows == 1 ? std::vector<int64_t>{decl.cols} : std::vector<int64_t>{decl.rows, decl.cols};
      SKUA_CHECK(out->add_tensor(decl.name, shape, weight.format, std::move(bytes)).ok());
    }
  }
  out->set_config(std::move(*config));
  return out;
}

}  // namespace skua::test
