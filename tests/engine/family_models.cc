// Configs of the tiny models and their random weights.
#include "engine/family_models.h"

#include <cmath>

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
  "query_pre_attn_scalar": 40, "attn_logit_softcapping": 20.0, "final_logit_softcapping": 15.0, "rope_theta": 1000000.0,
  "rope_local_base_freq": 10000.0, "rope_scaling": {"rope_type": "linear", "factor": 8.0}})";

uint64_t seed_of(const std::string& name) {
  uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

HostWeight random_for(const WeightDecl& decl, const FamilyModel& model) {
  const uint64_t seed = seed_of(model.name + decl.name);
  if (decl.rows > 1) {
    const double scale =
        decl.name.find("embed") != std::string::npos ? 1.0 : 2.5 / std::sqrt(static_cast<double>(decl.cols));
    return random_weight(model.format, decl.rows, decl.cols, scale, seed);
  }
  HostWeight weight = random_weight({FormatKind::kF32}, 1, decl.cols, 0.3, seed);
  if (decl.name.find("norm") == std::string::npos) return weight;
  std::vector<double> values = weight.row(0);
  for (double& v : values) v += 1.0;
  return plain_weight(DType::kF32, 1, decl.cols, values);
}

/// The tensor that a declared weight is a part of.
WeightDecl whole_tensor(const WeightDecl& part) {
  if (part.source.tensor.empty()) return part;
  if (part.rows == 1) return {part.tensor(), 1, part.source.rows};
  if (part.source.transpose == Transpose::kYes) return {part.tensor(), part.cols, part.source.rows};
  return {part.tensor(), part.source.rows, part.cols};
}

}  // namespace

std::vector<FamilyModel> family_models() {
  std::vector<FamilyModel> out = sample_family_models();
  for (FamilyModel& model : dense_family_models()) out.push_back(std::move(model));
  return out;
}

std::vector<FamilyModel> sample_family_models() {
  return {
      {"llama_bf16", "llama", kLlama, {FormatKind::kBF16}},
      {"llama_q4_1", "llama", kLlamaBlocks, {FormatKind::kQ4_1}},
      {"mistral_f32", "mistral", kMistral, {FormatKind::kF32}},
      {"qwen2_f16", "qwen2", kQwen2, {FormatKind::kF16}},
      {"qwen3_affine4", "qwen3", kQwen3, {FormatKind::kAffine, 4, 32, DType::kBF16}},
      {"gemma3_bf16", "gemma3", kGemma3, {FormatKind::kBF16}},
  };
}

std::unique_ptr<MemoryCheckpoint> make_checkpoint(const FamilyModel& model) {
  auto out = std::make_unique<MemoryCheckpoint>(model.name);
  auto config = parse_json(model.config);
  SKUA_CHECK(config.ok());
  const auto parsed = parse_model(*config, ConfigPolicy::kStrict);
  if (!parsed.ok()) check_failed(__FILE__, __LINE__, "parse_model", parsed.status().message());
  const auto graph = (*parsed)->build(Numerics{});
  SKUA_CHECK(graph.ok());
  for (const WeightDecl& part : graph->weights) {
    if (out->find(part.tensor()) != nullptr) continue;  // another part of a tensor that is there
    const WeightDecl decl = whole_tensor(part);
    const HostWeight weight = random_for(decl, model);
    std::vector<std::byte> bytes;
    for (const auto& plane : weight.planes) bytes.insert(bytes.end(), plane.begin(), plane.end());
    const auto shape =
        decl.rows == 1 ? std::vector<int64_t>{decl.cols} : std::vector<int64_t>{decl.rows, decl.cols};
    SKUA_CHECK(out->add_tensor(decl.name, shape, weight.format, std::move(bytes)).ok());
  }
  out->set_config(std::move(*config));
  return out;
}

}  // namespace skua::test
