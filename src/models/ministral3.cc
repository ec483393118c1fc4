// Ministral 3: Mistral with YaRN, and queries that grow with the logarithm of the position.
// Sources: transformers modeling_ministral3.py and configuration_ministral3.py (5.17).
#include <cmath>

#include "models/families.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

/// 1 + beta log(1 + floor(position / original)).
Result<PositionScale> query_scale(const Json& rope, double beta, int32_t max_context) {
  const Json* original = rope.find("original_max_position_embeddings");
  if (original == nullptr || !original->is_int() || original->as_int() < 1 ||
      original->as_int() > INT32_MAX) {
    return invalid_argument("[model] llama_4_scaling_beta needs original_max_position_embeddings");
  }
  PositionScale out{static_cast<int32_t>(original->as_int()), {}};
  for (int64_t step = 0; step <= max_context / original->as_int(); ++step) {
    out.factors.push_back(static_cast<float>(1.0 + beta * std::log(1.0 + static_cast<double>(step))));
  }
  return out;
}

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.eps = 1e-5, .head_dim = 128, .n_kv_heads = 8});
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  const int32_t window = config.count_or("sliding_window", 0);
  read_windows(config, spec.config, window, [&](int32_t) { return window > 0; });
  const Json all = rope_parameters(config);
  const bool typed = all.find("rope_type") != nullptr || all.find("type") != nullptr;
  if (!typed && !config.flag_or(kGgufConfig, false)) {
    config.fail(unsupported(
        "[model] config.json: ministral3 without a rope type means a yarn rope for 262144 tokens; "
        "write it out as rope_parameters"));
  }
  SKUA_RETURN_IF_ERROR(config.finish(policy));
  const Json* beta = all.find("llama_4_scaling_beta");
  if (beta != nullptr && beta->is_number()) {
    SKUA_ASSIGN_OR_RETURN(const PositionScale scale,
                          query_scale(all, beta->as_double(), spec.config.info.max_context));
    spec.adjust_attention = [scale](AttentionBlock& block) { block.query_scale = scale; };
  }
  Json rope = Json::object();
  for (const auto& [key, value] : all.members()) {
    if (key != "llama_4_scaling_beta") rope.set(key, value);
  }
  SKUA_ASSIGN_OR_RETURN(spec.angles, rope_angles_from(rope, spec.config.info.head_dim, 1000000.0));
  return make_pre_norm_decoder(std::move(spec));
}

/// Both factors of YaRN's temperature and beta go into the rope parameters.
Status adjust(const Json& metadata, Json& config) {
  const Json* beta = metadata.find("mistral3.attention.temperature_scale");
  const Json* all_dim = metadata.find("mistral3.rope.scaling.yarn_log_multiplier");
  const Json* scaling = config.find("rope_scaling");
  if (beta == nullptr && all_dim == nullptr) return ok_status();
  if (scaling == nullptr)
    return invalid_argument("[gguf] mistral3.attention.temperature_scale and yarn_log_multiplier need yarn");
  Json own = *scaling;
  if (beta != nullptr) own.set("llama_4_scaling_beta", *beta);
  if (all_dim != nullptr && *all_dim != Json(0.0)) {
    own.set("mscale", Json(1.0));
    own.set("mscale_all_dim", *all_dim);
  }
  config.set("rope_scaling", std::move(own));
  return ok_status();
}

constexpr std::string_view kTypes[] = {"ministral3"};
constexpr GgufName kGgufKeys[] = {{"attention.temperature_scale", ""},
                                  {"rope.scaling.yarn_log_multiplier", ""}};

}  // namespace

extern const Family kMinistral3;
const Family kMinistral3{"ministral3", kTypes,  "mistral3",         GgufRows::kInterleavedQk,
                         &parse,       &adjust, {.keys = kGgufKeys}};

}  // namespace skua
