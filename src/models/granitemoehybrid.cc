// Granite 4: Mamba-2 or attention (with or without rotation) in each layer, then experts (if any) beside a
// dense block; Granite's fixed factors. Sources: transformers modeling_granitemoehybrid.py and
// configuration_granitemoehybrid.py (5.17).
#include "models/families.h"
#include "models/gguf_values.h"
#include "models/mamba.h"
#include "models/moe.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

/// Experts beside the shared block, or the shared block alone.
void read_feed_forward(ConfigReader& config, PreNormSpec& spec) {
  const ModelInfo& info = spec.config.info;
  MoeBlock moe;
  moe.d_model = info.d_model;
  moe.d_ff = info.d_ff;
  moe.n_experts = config.count_or_none("num_local_experts");
  moe.act = spec.act;
  moe.router.top_k = config.count_or("num_experts_per_tok", 2);
  moe.router.normalize = MoeRouter::Normalize::kYes;  // softmax over the chosen is the chosen part of softmax
  moe.names.router = "router.layer";
  moe.names.all_gate_up = "input_linear.weight";
  moe.names.all_down = "output_linear.weight";
  config.ignore({"output_router_logits", "router_aux_loss_coef"});
  MlpBlock dense{"", info.d_model, config.count("shared_intermediate_size"), spec.act};
  if (!config.flag_or(kGgufConfig, false)) dense.gate_up_name = "input_linear";
  dense.down_name = "output_linear";
  spec.feed_forward = [moe, dense](GraphBuilder& b, const std::string& p, int32_t, ValueId x) {
    MlpBlock shared = dense;
    shared.prefix = p + ".shared_mlp";
    const ValueId y = mlp_block(b, shared, x);
    if (moe.n_experts == 0) return y;
    MoeBlock block = moe;
    block.prefix = p + ".block_sparse_moe";
    return b.add("shared_add", moe_block(b, block, x), y, DType::kF32);
  };
}

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config);
  config.require({"num_local_experts"});
  const ModelInfo& info = spec.config.info;
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  config.must_be("hidden_act", Json("silu"));  // of the convolution and of the scan's gate too
  spec.qkv_bias = spec.o_bias = config.flag_or("attention_bias", false);
  read_multipliers(config, spec);
  config.must_be("normalization_function", Json("rmsnorm"));
  config.must_be("init_method", Json("mup"));
  read_feed_forward(config, spec);
  const int64_t d_inner = int64_t{info.d_model} * config.count_or("mamba_expand", 2);
  Mamba2Block block =
      read_mamba2(config, info.d_model, static_cast<int32_t>(std::min(d_inner, int64_t{INT32_MAX})), {});
  block.in_bias = block.out_bias = config.flag_or("mamba_proj_bias", false);
  block.eps = spec.config.eps;
  const std::string_view key =
      config.raw("layers_block_type") != nullptr ? "layers_block_type" : "layer_types";
  const std::vector<char> recurrent = read_recurrent_layers(config, key, info.n_layers);
  config.raw("layer_types");  // the same under its newer name
  spec.mixer = [block, recurrent](GraphBuilder& b, const std::string& p, int32_t layer,
                                  ValueId x) -> std::optional<ValueId> {
    if (recurrent[static_cast<size_t>(layer)] == 0) return std::nullopt;
    Mamba2Block own = block;
    own.prefix = p + ".mamba";
    own.layer = layer;
    return mamba2_block(b, own, x);
  };
  const std::string positions = config.text_or("position_embedding_type", "none");
  if (positions != "rope" && positions != "none" && positions != "nope") {
    config.fail(unsupported("[model] \"position_embedding_type\" is \"" + positions +
                            "\"; known are rope, nope and null"));
  }
  const Json rope = rope_parameters(config);
  if (positions == "rope") return finish_pre_norm(config, policy, std::move(spec), rope, 10000.0);
  SKUA_RETURN_IF_ERROR(config.finish(policy));
  return make_pre_norm_decoder(std::move(spec));
}

constexpr std::string_view kTypes[] = {"granitemoehybrid"};

/// Without experts the shared block is the only one, and has their names and width. Bamba's layers, which
/// rotate, are told by rope.scaling.finetuned.
Status adjust(const Json& metadata, Json& config) {
  const Json* experts = config.find("num_local_experts");
  if (experts == nullptr || *experts == Json(0)) {
    config.set("num_local_experts", Json(0));
    if (const Json* width = config.find("intermediate_size")) config.set("shared_intermediate_size", *width);
  }
  const Json* rotates = metadata.find("granitehybrid.rope.scaling.finetuned");
  if (rotates != nullptr && *rotates == Json(true)) config.set("position_embedding_type", Json("rope"));
  SKUA_RETURN_IF_ERROR(set_layer_types(metadata, "layer_types", "mamba", "attention", config));
  return adjust_mamba2(metadata, "mamba_d_head", "mamba_expand", config);
}

constexpr GgufName kGgufTensors[] = {{"ffn_gate_inp", "block_sparse_moe.router.layer"},
                                     {"ffn_gate_exps", "block_sparse_moe.experts.gate_proj"},
                                     {"ffn_up_exps", "block_sparse_moe.experts.up_proj"},
                                     {"ffn_down_exps", "block_sparse_moe.experts.down_proj"},
                                     {"ffn_gate_shexp", "shared_mlp.gate_proj"},
                                     {"ffn_up_shexp", "shared_mlp.up_proj"},
                                     {"ffn_down_shexp", "shared_mlp.output_linear"},
                                     {"ffn_gate", "shared_mlp.gate_proj"},
                                     {"ffn_up", "shared_mlp.up_proj"},
                                     {"ffn_down", "shared_mlp.output_linear"},
                                     {"ssm_in", "mamba.in_proj"},
                                     {"ssm_conv1d", "mamba.conv1d"},
                                     {"ssm_dt.bias", "mamba.dt_bias"},
                                     {"ssm_a", "mamba.A_log"},
                                     {"ssm_d", "mamba.D"},
                                     {"ssm_norm", "mamba.norm"},
                                     {"ssm_out", "mamba.out_proj"}};
constexpr GgufName kGgufKeys[] = {
    {"expert_count", "num_local_experts"}, {"expert_shared_feed_forward_length", "shared_intermediate_size"},
    {"attention.head_count_kv", ""},       {"ssm.time_step_rank", "mamba_n_heads"},
    {"ssm.group_count", "mamba_n_groups"}, {"ssm.state_size", "mamba_d_state"},
    {"ssm.conv_kernel", "mamba_d_conv"},   {"ssm.inner_size", ""}};
constexpr GgufName kGgufFlags[] = {{"blk.0.ssm_conv1d.bias", "mamba_conv_bias"}};

}  // namespace

extern const Family kGraniteMoeHybrid;
const Family kGraniteMoeHybrid{
    "granitemoehybrid",
    kTypes,
    "granitehybrid",
    GgufRows::kInterleavedQk,
    &parse,
    &adjust,
    {.tensors = kGgufTensors, .keys = kGgufKeys, .flags = kGgufFlags, .changes = kMamba2GgufChanges}};

}  // namespace skua
