// A tiny config with some keys set, and all that it decides as text: for tests that compare spellings.
#pragma once

#include <string>

#include "models/families.h"

namespace skua {

inline Json with(const char* own) {
  Json config = *parse_json(R"({"num_hidden_layers": 4, "hidden_size": 32, "intermediate_size": 24,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 50, "max_position_embeddings": 256})");
  const auto keys = parse_json(own);
  SKUA_CHECK(keys.ok());
  for (const auto& [key, value] : keys->members()) config.set(key, value);
  return config;
}

/// What print() leaves out of a node and a config decides here.
inline std::string details(const Node& node) {
  std::string out;
  if (const auto* angles = std::get_if<RopeAngles>(&node.op)) {
    out += " factor " + std::to_string(angles->attention_factor);
    for (double f : angles->inv_freq) out += " " + std::to_string(f);
  }
  if (const auto* attention = std::get_if<Attention>(&node.op)) {
    out += " window " + std::to_string(attention->window) + " scale " + std::to_string(attention->scale) +
           " chunk " + std::to_string(attention->chunk) + " softcap " + std::to_string(attention->softcap);
  }
  if (const auto* embed = std::get_if<Embed>(&node.op)) out += " times " + std::to_string(embed->scale);
  if (const auto* cap = std::get_if<Softcap>(&node.op)) out += " cap " + std::to_string(cap->cap);
  if (const auto* rope = std::get_if<Rope>(&node.op))
    out +=
        " style " + std::to_string(static_cast<int>(rope->style)) + " dim " + std::to_string(rope->head_dim);
  if (const auto* r = std::get_if<MoeRouter>(&node.op)) {
    out += " score " + std::to_string(static_cast<int>(r->score)) + " top_k " + std::to_string(r->top_k) +
           " groups " + std::to_string(r->n_groups) + "/" + std::to_string(r->top_k_groups) + " normalize " +
           std::to_string(static_cast<int>(r->normalize)) + " scale " + std::to_string(r->scale);
  }
  if (const auto* s = std::get_if<Ssm2>(&node.op)) {
    out += " heads " + std::to_string(s->n_heads) + " x " + std::to_string(s->head_dim) + " dt " +
           std::to_string(s->dt_min) + " to " + std::to_string(s->dt_max);
  }
  if (const auto* norm = std::get_if<RmsNorm>(&node.op))
    out += " eps " + std::to_string(norm->eps) + " groups " + std::to_string(norm->n_groups);
  if (const auto* scale = std::get_if<Scale>(&node.op)) out += " by " + std::to_string(scale->factor);
  return out;
}

/// The graph as text, or "error: ...".
inline std::string text_of(const Json& config, int32_t context = 0) {
  const auto model = parse_model(config, ConfigPolicy::kStrict, context);
  if (!model.ok()) return "error: " + model.status().message();
  const auto graph = (*model)->build(Numerics{});
  if (!graph.ok()) return "error: " + graph.status().message();
  std::string out = print(*graph);
  for (const Node& node : graph->nodes) out += details(node);
  return out;
}

}  // namespace skua
