// Mixtral: Mistral's attention, every feed-forward block a mixture of experts.
// Sources: transformers modeling_mixtral.py and configuration_mixtral.py (5.17); arXiv:2401.04088.
#include "models/families.h"
#include "models/moe.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.eps = 1e-5});
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  const int32_t window = config.count_or("sliding_window", 0);
  read_windows(config, spec.config, window, [&](int32_t) { return window > 0; });
  DeepSeekMoe mix;
  MoeBlock& moe = mix.block;
  moe.d_model = spec.config.info.d_model;
  moe.d_ff = spec.config.info.d_ff;
  moe.n_experts = config.count_or("num_local_experts", 8);
  moe.act = spec.act;
  moe.router.top_k = config.count_or("num_experts_per_tok", 2);
  moe.router.normalize = MoeRouter::Normalize::kYes;
  moe.names = {.gate = "w1", .up = "w3", .down = "w2"};
  config.ignore({"output_router_logits", "router_aux_loss_coef", "moe_intermediate_size"});
  spec.feed_forward = mixture(mix, "block_sparse_moe");
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 1e6);
}

constexpr std::string_view kTypes[] = {"mixtral"};
constexpr GgufName kGgufTensors[] = {{"ffn_gate_inp", "block_sparse_moe.gate"},
                                     {"ffn_gate_exps", "block_sparse_moe.experts.gate_proj"},
                                     {"ffn_up_exps", "block_sparse_moe.experts.up_proj"},
                                     {"ffn_down_exps", "block_sparse_moe.experts.down_proj"}};
constexpr GgufName kGgufKeys[] = {{"expert_count", "num_local_experts"}};

}  // namespace

extern const Family kMixtral;
const Family kMixtral{
    "mixtral", kTypes, "llama", GgufRows::kInterleavedQk, &parse, nullptr, {kGgufTensors, kGgufKeys}};

}  // namespace skua
