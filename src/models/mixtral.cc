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
  spec.config = read_decoder_config(config, {.eps = 1e-5, .n_kv_heads = 8});
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  const int32_t window = config.count_or("sliding_window", 0);
  read_windows(config, spec.config, window, [&](int32_t) { return window > 0; });
  DeepSeekMoe mix = read_plain_mixture(config, spec.config.info, spec.act);
  mix.block.names = {.gate = "w1", .up = "w3", .down = "w2"};
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
