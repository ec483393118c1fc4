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
