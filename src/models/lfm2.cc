// LFM2: gated short convolutions in most layers, attention with per-head norms in the others.
// Sources: transformers modeling_lfm2.py and configuration_lfm2.py (5.17); arXiv:2511.23404.
#include "models/families.h"
#include "models/gguf_values.h"
#include "models/rope_scaling.h"
#include "models/short_conv.h"

namespace skua {
namespace {

/// The feed-forward's width: two thirds of the stated one, times a factor, rounded up, unless the config says
/// that it is stated as it is. A factor of null leaves the two thirds as they are.
int32_t read_d_ff(ConfigReader& config, const Json& json, int32_t stated) {
  const bool adjust = config.flag_or("block_auto_adjust_ff_dim", true);
  const Json* factor = json.find("block_ffn_dim_multiplier");
  const double times = config.number_or("block_ffn_dim_multiplier", 1.0);
  const int64_t multiple = config.count_or("block_multiple_of", 256);
  if (!adjust) return stated;
  auto width = static_cast<int64_t>(2.0 * stated / 3.0);
  if (factor == nullptr || !factor->is_null()) {
    width = static_cast<int64_t>(times * static_cast<double>(width));
    width = (width + multiple - 1) / multiple * multiple;
  }
  if (width < 1 || width > INT32_MAX) {
    config.fail(invalid_argument("[model] config.json: the feed-forward's width comes out as " +
                                 std::to_string(width)));
    return 1;
  }
  return static_cast<int32_t>(width);
}

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  Json sizes = json;
  if (const Json* d_ff = json.find("block_ff_dim"); d_ff != nullptr && !d_ff->is_null()) {
    sizes.set("intermediate_size", *d_ff);
  }
  ConfigReader config(sizes);
  PreNormSpec spec;
  read_lfm2(config, spec);
  config.ignore({"block_ff_dim"});  // read above
  ModelInfo& info = spec.config.info;
  info.d_ff = read_d_ff(config, json, info.d_ff);
  spec.feed_forward = [d_model = info.d_model, d_ff = info.d_ff](GraphBuilder& b, const std::string& p,
                                                                 int32_t, ValueId x) {
    return lfm2_mlp(b, p + ".feed_forward", d_model, d_ff, x);
  };
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 1e6);
}

constexpr std::string_view kTypes[] = {"lfm2"};

Status adjust(const Json& metadata, Json& config) {
  config.set("block_auto_adjust_ff_dim", Json(false));  // the width is stated as it is
  return set_layer_types(metadata, "layer_types", "conv", "full_attention", config);
}

constexpr GgufName kGgufKeys[] = {{"attention.head_count_kv", ""},
                                  {"shortconv.l_cache", "conv_L_cache"},
                                  {"attention.layer_norm_rms_epsilon", "norm_eps"}};

}  // namespace

extern const Family kLfm2;
const Family kLfm2{"lfm2", kTypes, "lfm2", GgufRows::kPlain, &parse, &adjust, {kLfm2GgufTensors, kGgufKeys}};

}  // namespace skua
