// Granite 3 MoE: Granite's factors, every feed-forward block a mixture; all experts of a layer in two
// tensors. Sources: transformers modeling_granitemoe.py and configuration_granitemoe.py (5.17).
#include "models/families.h"
#include "models/moe.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config);
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  spec.qkv_bias = spec.o_bias = config.flag_or("attention_bias", false);
  read_multipliers(config, spec);
  DeepSeekMoe mix = read_plain_mixture(config, spec.config.info, spec.act);
  mix.block.names.router = "router.layer";
  mix.block.names.all_gate_up = "input_linear.weight";
  mix.block.names.all_down = "output_linear.weight";
  spec.feed_forward = mixture(mix, "block_sparse_moe");
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"granitemoe"};
constexpr GgufName kGgufTensors[] = {{"ffn_gate_inp", "block_sparse_moe.router.layer"},
                                     {"ffn_gate_exps", "block_sparse_moe.experts.gate_proj"},
                                     {"ffn_up_exps", "block_sparse_moe.experts.up_proj"},
                                     {"ffn_down_exps", "block_sparse_moe.experts.down_proj"}};
constexpr GgufName kGgufKeys[] = {{"expert_count", "num_local_experts"}};

}  // namespace

extern const Family kGraniteMoe;
const Family kGraniteMoe{
    "granitemoe", kTypes, "granitemoe", GgufRows::kInterleavedQk, &parse, nullptr, {kGgufTensors, kGgufKeys}};

}  // namespace skua
