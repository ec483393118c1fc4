// SmolLM3: Llama in which some layers do not rotate.
// Sources: transformers modeling_smollm3.py and configuration_smollm3.py (5.17).
#include "models/families.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

/// no_rope_layers names 1 for a layer that rotates, 0 for one that does not; else every interval-th does not.
std::vector<char> read_rotating_layers(ConfigReader& config, int32_t n_layers) {
  const int32_t interval = config.count_or("no_rope_layer_interval", 4);
  std::vector<char> out;
  for (int32_t layer = 0; layer < n_layers; ++layer) out.push_back((layer + 1) % interval != 0 ? 1 : 0);
  const Json* given = config.raw("no_rope_layers");
  if (given == nullptr) return out;
  if (!given->is_array() || given->size() != out.size()) {
    config.fail(invalid_argument("[model] config.json: no_rope_layers must name every layer"));
    return out;
  }
  for (size_t layer = 0; layer < out.size(); ++layer) {
    const Json& rotates = given->items()[layer];
    out[layer] = rotates == Json(0) ? 0 : 1;
    if (rotates != Json(0) && rotates != Json(1))
      config.fail(invalid_argument("[model] config.json: no_rope_layers holds " +
                                   rotates.dump().substr(0, 80) + "; known are 0 and 1"));
  }
  return out;
}

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.n_kv_heads = 4});
  spec.config.tied = config.flag_or("tie_word_embeddings", true);
  spec.act = read_act(config, "hidden_act", "silu");
  spec.qkv_bias = spec.o_bias = config.flag_or("attention_bias", false);
  spec.mlp_bias = config.flag_or("mlp_bias", false);
  const std::vector<char> rotates = read_rotating_layers(config, spec.config.info.n_layers);
  const bool slides = config.flag_or("use_sliding_window", false);
  read_windows(config, spec.config, config.count_or("sliding_window", 0),
               [&](int32_t layer) { return slides && rotates[static_cast<size_t>(layer)] == 0; });
  spec.adjust_attention = [rotates](AttentionBlock& block) {
    if (rotates[static_cast<size_t>(block.layer)] == 0) block.rotation = Rotation::kNone;
  };
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 2000000.0);
}

constexpr std::string_view kTypes[] = {"smollm3"};
}  // namespace

extern const Family kSmolLm3;
const Family kSmolLm3{
    "smollm3", kTypes, "smollm3", GgufRows::kInterleavedQk, &parse, nullptr, {.flags = kGgufMlpBias}};

}  // namespace skua
