// Sizes as the models' own config.json files give them (facts).
#include "models/geometries.h"

namespace skua {
namespace {

struct Geometry {
  std::string_view name, config;
};

constexpr Geometry kGeometries[] = {
    {"smollm2-135m", R"({"model_type": "llama", "hidden_size": 576, "intermediate_size": 1536,
 "num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3, "vocab_size": 49152,
 "rms_norm_eps": 1e-05, "rope_theta": 100000, "max_position_embeddings": 8192, "tie_word_embeddings": true})"},
    {"qwen2.5-0.5b", R"({"model_type": "qwen2", "hidden_size": 896, "intermediate_size": 4864,
 "num_hidden_layers": 24, "num_attention_heads": 14, "num_key_value_heads": 2, "vocab_size": 151936,
 "rms_norm_eps": 1e-06, "rope_theta": 1000000, "max_position_embeddings": 32768, "tie_word_embeddings": true,
 "hidden_act": "silu"})"},
    {"llama-3.2-1b", R"({"model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192,
 "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64,
 "vocab_size": 128256, "rms_norm_eps": 1e-05, "rope_theta": 500000, "max_position_embeddings": 131072,
 "tie_word_embeddings": true, "rope_scaling": {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0,
 "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}})"},
    {"qwen2.5-1.5b", R"({"model_type": "qwen2", "hidden_size": 1536, "intermediate_size": 8960,
 "num_hidden_layers": 28, "num_attention_heads": 12, "num_key_value_heads": 2, "vocab_size": 151936,
 "rms_norm_eps": 1e-06, "rope_theta": 1000000, "max_position_embeddings": 32768, "tie_word_embeddings": true,
 "hidden_act": "silu"})"},
    {"qwen3-moe-30b-a3b", R"({"model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144,
 "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8, "norm_topk_prob": true,
 "decoder_sparse_step": 1, "mlp_only_layers": [], "num_hidden_layers": 48, "num_attention_heads": 32,
 "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 151936, "rms_norm_eps": 1e-06, "rope_theta": 1000000,
 "max_position_embeddings": 40960, "tie_word_embeddings": false, "hidden_act": "silu"})"},
    {"deepseek-v2-lite", R"({"model_type": "deepseek_v2", "hidden_size": 2048, "intermediate_size": 10944,
 "moe_intermediate_size": 1408, "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6,
 "first_k_dense_replace": 1, "moe_layer_freq": 1, "n_group": 1, "topk_group": 1, "topk_method": "greedy",
 "norm_topk_prob": false, "routed_scaling_factor": 1.0, "scoring_func": "softmax", "num_hidden_layers": 27,
 "num_attention_heads": 16, "num_key_value_heads": 16, "q_lora_rank": null, "kv_lora_rank": 512,
 "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 102400, "rms_norm_eps": 1e-06,
 "rope_theta": 10000, "max_position_embeddings": 163840, "tie_word_embeddings": false, "hidden_act": "silu",
 "attention_bias": false, "rope_scaling": {"type": "yarn", "factor": 40, "beta_fast": 32, "beta_slow": 1,
 "mscale": 0.707, "mscale_all_dim": 0.707, "original_max_position_embeddings": 4096}})"},
};

}  // namespace

std::string_view known_config(std::string_view name) {
  for (const Geometry& geometry : kGeometries)
    if (geometry.name == name) return geometry.config;
  return {};
}

std::string known_config_names() {
  std::string out;
  for (const Geometry& geometry : kGeometries) out += (out.empty() ? "" : ", ") + std::string(geometry.name);
  return out;
}

}  // namespace skua
