// Qwen3-Next: gated delta layers with a gated full-attention layer every fourth, norms around zero, experts
// beside a gated shared one.
// Sources: transformers modeling_qwen3_next.py and configuration_qwen3_next.py (5.17); arXiv:2412.06464.
#include "models/families.h"
#include "models/gated_delta_net.h"
#include "models/moe.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  const bool from_gguf = config.flag_or(kGgufConfig, false);
  read_gated_delta(config, from_gguf ? DeltaProjections::kQkvInTurn : DeltaProjections::kPerKeyHead, spec);
  const ModelInfo& info = spec.config.info;
  DeepSeekMoe mix;
  mix.d_dense = info.d_ff;
  mix.d_shared = config.count("shared_expert_intermediate_size");
  mix.shared_name = "shared_expert";
  mix.shared_gate = "shared_expert_gate";
  mix.sparse = read_sparse_layers(config, info.n_layers);
  MoeBlock& moe = mix.block;
  moe.d_model = info.d_model;
  moe.d_ff = config.count("moe_intermediate_size");
  moe.n_experts = config.count("num_experts");
  moe.act = spec.act;
  moe.router.top_k = config.count_or("num_experts_per_tok", 10);
  moe.router.normalize = read_normalize(config, true);
  config.ignore({"output_router_logits", "router_aux_loss_coef"});
  config.must_equal({"num_local_experts"}, moe.n_experts);
  spec.feed_forward = mixture(mix);
  spec.partial_rotation = PartialRotation::kKnown;
  return finish_pre_norm(config, policy, std::move(spec), delta_rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"qwen3_next"};
constexpr GgufName kGgufTensors[] = {{"post_attention_norm", "post_attention_layernorm"},
                                     {"attn_qkv", "linear_attn.in_proj_qkv"},
                                     {"attn_gate", "linear_attn.in_proj_z"},
                                     {"ssm_ba", "linear_attn.in_proj_ba"},
                                     {"ssm_a", "linear_attn.A_log"},
                                     {"ssm_conv1d", "linear_attn.conv1d"},
                                     {"ssm_dt.bias", "linear_attn.dt_bias"},
                                     {"ssm_norm", "linear_attn.norm"},
                                     {"ssm_out", "linear_attn.out_proj"},
                                     {"ffn_gate_inp_shexp", "mlp.shared_expert_gate"},
                                     {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
                                     {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
                                     {"ffn_down_shexp", "mlp.shared_expert.down_proj"}};
constexpr GgufName kGgufKeys[] = {{"expert_count", "num_experts"},
                                  {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"},
                                  {"rope.dimension_count", "partial_rotary_factor"},
                                  {"ssm.conv_kernel", "linear_conv_kernel_dim"},
                                  {"ssm.state_size", "linear_key_head_dim"},
                                  {"ssm.group_count", "linear_num_key_heads"},
                                  {"ssm.time_step_rank", "linear_num_value_heads"},
                                  {"ssm.inner_size", ""},
                                  {"full_attention_interval", "full_attention_interval"},
                                  {"attention.recurrent_layers", ""},
                                  {"nextn_predict_layers", ""}};

}  // namespace

extern const Family kQwen3Next;
const Family kQwen3Next{"qwen3_next",
                        kTypes,
                        "qwen3next",
                        GgufRows::kPlain,
                        &parse,
                        &adjust_gated_delta,
                        {.tensors = kGgufTensors, .keys = kGgufKeys, .changes = kDeltaGgufChanges}};

}  // namespace skua
