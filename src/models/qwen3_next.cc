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
  read_gated_delta(config, DeltaProjections::kPerKeyHead, spec);
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
  config.ignore({"output_router_logits", "router_aux_loss_coef", "num_local_experts"});
  spec.feed_forward = mixture(mix);
  return finish_pre_norm(config, policy, std::move(spec), delta_rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"qwen3_next"};

}  // namespace

extern const Family kQwen3Next;
const Family kQwen3Next{"qwen3_next", kTypes, "", GgufRows::kPlain, &parse, nullptr};

}  // namespace skua
