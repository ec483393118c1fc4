// Keys of gemma4 files that are no plain renaming.
#include "models/gemma4_gguf.h"

#include <string>

namespace skua {
namespace {

const std::string kArch = "gemma4.";

int64_t number(const Json* value) {
  return value != nullptr && value->kind() == Json::Kind::kInt ? value->as_int() : 0;
}

/// The value of a key that holds one number for all layers, or a list of one for each.
int64_t at_layer(const Json* value, size_t layer) {
  if (value == nullptr || !value->is_array()) return number(value);
  return layer < value->size() ? number(&value->items()[layer]) : 0;
}

Status wrong(const char* key, const Json* value, const std::string& expected) {
  return unsupported("[gguf] " + kArch + key + " is " +
                     (value == nullptr ? "missing" : value->dump().substr(0, 60)) + ", expected " + expected);
}

/// The rope_freqs of full layers divide some angles by 1 and stop the others (1e30): the part of a head that
/// turns.
Result<double> turning_part(const Json& config) {
  const Json* scaling = config.find("rope_scaling");
  const Json* factors = scaling != nullptr ? scaling->find("factors") : nullptr;
  if (factors == nullptr || factors->size() == 0) return 1.0;
  size_t turning = 0;
  while (turning < factors->size() && factors->items()[turning].as_double() == 1.0) ++turning;
  for (size_t i = turning; i < factors->size(); ++i) {
    if (!(factors->items()[i].as_double() >= 1e29))
      return unsupported("[gguf] rope_freqs.weight holds " + factors->items()[i].dump() +
                         "; gemma4 has 1 for angles that turn, then 1e30");
  }
  return static_cast<double>(turning) / static_cast<double>(factors->size());
}

Status set_rope(const Json& metadata, Json& config) {
  SKUA_ASSIGN_OR_RETURN(const double part, turning_part(config));
  const Json* base = metadata.find(kArch + "rope.freq_base");
  const Json* sliding_base = metadata.find(kArch + "rope.freq_base_swa");
  Json full = Json::object(), sliding = Json::object(), both = Json::object();
  full.set("rope_type", Json("proportional"));
  full.set("partial_rotary_factor", Json(part));
  full.set("rope_theta", base != nullptr ? *base : Json(1e6));
  sliding.set("rope_type", Json("default"));
  sliding.set("rope_theta", sliding_base != nullptr ? *sliding_base : Json(1e4));
  both.set("full_attention", std::move(full));
  both.set("sliding_attention", std::move(sliding));
  config.set("rope_parameters", std::move(both));
  config.set("rope_scaling", Json());
  return ok_status();
}

/// The feed-forward's width; layers that share keys may have twice as much.
Status set_d_ff(const Json& metadata, size_t n_layers, int64_t n_shared, Json& config) {
  const Json* widths = metadata.find(kArch + "feed_forward_length");
  const int64_t first = at_layer(widths, 0), last = at_layer(widths, n_layers - 1);
  const bool wide = last != first;
  for (size_t layer = 0; layer < n_layers; ++layer) {
    const bool shares = static_cast<int64_t>(layer) >= static_cast<int64_t>(n_layers) - n_shared;
    if (at_layer(widths, layer) != (wide && shares ? 2 * first : first))
      return wrong("feed_forward_length", widths, "one width, or twice as much in layers that share keys");
  }
  config.set("intermediate_size", Json(first));
  config.set("use_double_wide_mlp", Json(wide));
  return ok_status();
}

}  // namespace

Status adjust_gemma4(const Checkpoint& file, Json& config) {
  const Json& metadata = file.config();
  const auto n_layers = static_cast<size_t>(std::max<int64_t>(number(config.find("num_hidden_layers")), 0));
  const Json* types = config.find("layer_types");
  if (n_layers == 0 || types == nullptr || !types->is_array() || types->size() != n_layers)
    return wrong("attention.sliding_window_pattern", types, "a flag for every layer");
  const Json* heads = metadata.find(kArch + "attention.head_count_kv");
  const Json* full_dim = metadata.find(kArch + "attention.key_length");
  for (const auto& [key, expected] : {std::pair{"attention.value_length", full_dim},
                                      {"rope.dimension_count", full_dim},
                                      {"attention.value_length_swa", config.find("head_dim")},
                                      {"rope.dimension_count_swa", config.find("head_dim")}}) {
    const Json* value = metadata.find(kArch + key);
    if (value != nullptr && expected != nullptr && *value != *expected)
      return wrong(key, value, expected->dump() + " as the key length");
  }
  Json own = Json::object();
  for (size_t layer = 0; layer < n_layers; ++layer) {
    const bool slides = types->items()[layer] == Json("sliding_attention");
    if (slides) {
      config.set("num_key_value_heads", Json(at_layer(heads, layer)));
      continue;
    }
    Json sizes = Json::object();
    if (full_dim != nullptr) sizes.set("head_dim", *full_dim);
    sizes.set("num_key_value_heads", Json(at_layer(heads, layer)));
    own.set(std::to_string(layer), std::move(sizes));
    const std::string prefix = "blk." + std::to_string(layer) + ".";
    const bool has_keys = file.find(prefix + "attn_k.weight") != nullptr;
    if (has_keys && file.find(prefix + "attn_v.weight") == nullptr)
      config.set("attention_k_eq_v", Json(true));
  }
  if (config.find("num_key_value_heads") == nullptr)
    config.set("num_key_value_heads", Json(at_layer(heads, 0)));
  config.set("per_layer_config", std::move(own));
  config.set("enable_moe_block", Json(config.find("num_experts") != nullptr));
  if (const TensorEntry* table = file.find("per_layer_token_embd.weight"); table != nullptr)
    config.set("vocab_size_per_layer_input", Json(table->shape[0]));
  SKUA_RETURN_IF_ERROR(set_d_ff(metadata, n_layers, number(config.find("num_kv_shared_layers")), config));
  return set_rope(metadata, config);
}

}  // namespace skua
