// A tiny checkpoint in memory with random weights, for tests of loading and of the engine.
#pragma once

#include <memory>
#include <random>

#include "checkpoint/memory_checkpoint.h"

namespace skua {

inline constexpr const char* kTinyConfig =
    R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 16,
  "intermediate_size": 24, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 32,
  "rms_norm_eps": 1e-5, "max_position_embeddings": 256, "tie_word_embeddings": true})";

/// Adds a bf16 tensor of small random values.
inline void add_random(MemoryCheckpoint& checkpoint, const std::string& name, std::vector<int64_t> shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  std::mt19937 rng(static_cast<uint32_t>(std::hash<std::string>()(name)));
  std::uniform_real_distribution<float> uniform(-0.5f, 0.5f);
  std::vector<float> values(static_cast<size_t>(n));
  for (float& v : values) v = uniform(rng);
  (void)checkpoint.add_values(name, std::move(shape), DType::kBF16, values);
}

/// Every tensor that kTinyConfig asks for, except `without`.
inline std::unique_ptr<MemoryCheckpoint> tiny_model(const std::string& without = "") {
  auto out = std::make_unique<MemoryCheckpoint>("tiny");
  out->set_config(*parse_json(kTinyConfig));
  const auto add = [&](const std::string& name, std::vector<int64_t> shape) {
    if (name != without) add_random(*out, name, std::move(shape));
  };
  add("model.embed_tokens.weight", {32, 16});
  add("model.norm.weight", {16});
  for (int layer = 0; layer < 2; ++layer) {
    const std::string p = "model.layers." + std::to_string(layer) + ".";
    add(p + "input_layernorm.weight", {16});
    add(p + "post_attention_layernorm.weight", {16});
    add(p + "self_attn.q_proj.weight", {16, 16});
    add(p + "self_attn.k_proj.weight", {8, 16});
    add(p + "self_attn.v_proj.weight", {8, 16});
    add(p + "self_attn.o_proj.weight", {16, 16});
    add(p + "mlp.gate_proj.weight", {24, 16});
    add(p + "mlp.up_proj.weight", {24, 16});
    add(p + "mlp.down_proj.weight", {16, 24});
  }
  return out;
}

}  // namespace skua
