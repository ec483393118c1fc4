// Mamba-2 (Codestral Mamba): layers of one mixer each, no attention, no positions.
// Sources: transformers modeling_mamba2.py and configuration_mamba2.py (5.17); arXiv:2405.21060.
#include "models/families.h"
#include "models/gguf_values.h"
#include "models/mamba.h"
#include "models/pre_norm_decoder.h"

namespace skua {
namespace {

/// The sizes; there are no heads to attend with and no limit of positions.
DecoderConfig read_sizes(ConfigReader& config) {
  DecoderConfig out;
  ModelInfo& info = out.info;
  info.model_type = config.text_or("model_type", "");
  info.n_layers = config.count("num_hidden_layers", 10000);
  info.d_model = config.count("hidden_size");
  info.n_vocab = config.count("vocab_size");
  info.max_context = config.count_or("max_position_embeddings", 1 << 20);
  info.end_ids = config.ids("eos_token_id");
  const auto bos = config.ids("bos_token_id");
  if (!bos.empty()) info.bos_id = bos[0];
  out.eps = config.epsilon_or("layer_norm_epsilon", 1e-5);
  out.tied = config.flag_or("tie_word_embeddings", false);
  out.windows.assign(static_cast<size_t>(info.n_layers), 0);
  return out;
}

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_sizes(config);
  const int32_t d_model = spec.config.info.d_model;
  const int32_t expand = config.count_or("expand", 2);
  Mamba2Block block = read_mamba2(
      config, d_model, static_cast<int32_t>(std::min(int64_t{d_model} * expand, int64_t{INT32_MAX})),
      {"num_heads", "head_dim", "n_groups", "state_size", "conv_kernel", "use_conv_bias", "chunk_size"});
  block.in_bias = block.out_bias = config.flag_or("use_bias", false);
  block.eps = spec.config.eps;
  config.must_be("hidden_act", Json("silu"));
  // Of training, or how the numbers of the state are initialised.
  config.ignore({"residual_in_fp32", "rescale_prenorm_residual", "time_step_floor", "time_step_max",
                 "time_step_min", "time_step_rank", "norm_before_gate", "rms_norm"});
  SKUA_RETURN_IF_ERROR(config.finish(policy));
  spec.names = {"backbone.embeddings", "backbone.layers", "backbone.norm_f", "lm_head"};
  spec.norms.before_attention = "norm";
  spec.residual = Residual::kOneBlock;
  spec.mixer = [block](GraphBuilder& b, const std::string& p, int32_t layer,
                       ValueId x) -> std::optional<ValueId> {
    Mamba2Block own = block;
    own.prefix = p + ".mixer";
    own.layer = layer;
    return mamba2_block(b, own, x);
  };
  return make_pre_norm_decoder(std::move(spec));
}

constexpr std::string_view kTypes[] = {"mamba2"};

Status adjust(const Json& metadata, Json& config) {
  return adjust_mamba2(metadata, "head_dim", "expand", config);
}

constexpr GgufName kGgufKeys[] = {{"attention.layer_norm_rms_epsilon", "layer_norm_epsilon"},
                                  {"feed_forward_length", ""},
                                  {"attention.head_count", ""},
                                  {"ssm.time_step_rank", "num_heads"},
                                  {"ssm.group_count", "n_groups"},
                                  {"ssm.state_size", "state_size"},
                                  {"ssm.conv_kernel", "conv_kernel"},
                                  {"ssm.inner_size", ""}};
constexpr GgufName kGgufFlags[] = {{"blk.0.ssm_conv1d.bias", "use_conv_bias"}};

}  // namespace

extern const Family kMamba2;
const Family kMamba2{"mamba2",
                     kTypes,
                     "mamba2",
                     GgufRows::kPlain,
                     &parse,
                     &adjust,
                     {.tensors = kMixerGgufTensors,
                      .keys = kGgufKeys,
                      .flags = kGgufFlags,
                      .changes = kMamba2GgufChanges,
                      .layers = "backbone.layers."}};

}  // namespace skua
