// Qwen 1.5 and 2 MoE: Qwen 2's attention, experts beside a gated shared expert in most layers.
// Sources: transformers modeling_qwen2_moe.py and configuration_qwen2_moe.py (5.17); arXiv:2407.10671.
#include "models/families.h"
#include "models/moe.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.n_kv_heads = 16});
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  spec.qkv_bias = config.flag_or("qkv_bias", true);
  read_qwen_windows(config, spec.config, QwenWindows::kEverySecondBelowMaxLayers);
  spec.feed_forward = mixture(read_qwen_mixture(config, spec.config.info, spec.act, 4, false));
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"qwen2_moe"};
constexpr GgufName kGgufTensors[] = {{"ffn_gate_inp_shexp", "mlp.shared_expert_gate"},
                                     {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
                                     {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
                                     {"ffn_down_shexp", "mlp.shared_expert.down_proj"}};
constexpr GgufName kGgufKeys[] = {{"expert_count", "num_experts"},
                                  {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"}};
constexpr GgufName kGgufFlags[] = {{"blk.0.attn_q.bias", "qkv_bias"}};

}  // namespace

extern const Family kQwen2Moe;
const Family kQwen2Moe{"qwen2_moe",
                       kTypes,
                       "qwen2moe",
                       GgufRows::kPlain,
                       &parse,
                       nullptr,
                       {kGgufTensors, kGgufKeys, kGgufFlags}};

}  // namespace skua
