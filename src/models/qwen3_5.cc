// Qwen3.5 text, dense or with experts: Qwen3-Next's layers with their projections apart. With text alone the
// three position streams of its rotation are one.
// Sources: transformers modeling_qwen3_5.py, modeling_qwen3_5_moe.py and their configurations (5.17);
// arXiv:2412.06464.
#include "models/families.h"
#include "models/gated_delta_net.h"
#include "models/moe.h"

namespace skua {
namespace {

/// The experts of one layer or, without experts, a gated MLP.
void read_feed_forward(ConfigReader& config, PreNormSpec& spec) {
  const ModelInfo& info = spec.config.info;
  config.must_be("mlp_only_layers", Json::array());
  config.must_be("decoder_sparse_step", Json(1));
  if (!config.maybe_count("num_experts")) return;  // make_pre_norm_decoder's own
  DeepSeekMoe mix;
  mix.d_shared = config.count_or("shared_expert_intermediate_size", 512);
  mix.shared_name = "shared_expert";
  mix.shared_gate = "shared_expert_gate";
  MoeBlock& moe = mix.block;
  moe.d_model = info.d_model;
  moe.d_ff = config.count_or("moe_intermediate_size", 512);
  moe.n_experts = config.count("num_experts");
  moe.act = spec.act;
  moe.router.top_k = config.count_or("num_experts_per_tok", 8);
  moe.router.normalize = MoeRouter::Normalize::kYes;
  config.must_be("norm_topk_prob", Json(true));
  config.ignore({"output_router_logits", "router_aux_loss_coef"});
  config.must_equal({"num_local_experts"}, moe.n_experts);
  spec.feed_forward = mixture(mix);
}

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  Json text = json;
  // Only the dense model's layers have this width; the others' configs may leave it out.
  const Json* experts_width = text.find("moe_intermediate_size");
  if (text.find("intermediate_size") == nullptr && experts_width != nullptr)
    text.set("intermediate_size", *experts_width);
  ConfigReader config(text);
  PreNormSpec spec;
  read_gated_delta(config, DeltaProjections::kInTurn, spec);
  read_feed_forward(config, spec);
  Json rope = Json::object();
  const Json all = delta_rope_parameters(config);
  for (const auto& [key, value] : all.members()) {
    if (key != "mrope_section" && key != "mrope_interleaved") rope.set(key, value);
  }
  spec.partial_rotation = PartialRotation::kKnown;
  return finish_pre_norm(config, policy, std::move(spec), rope, 10000.0);
}

constexpr std::string_view kTypes[] = {"qwen3_5_text", "qwen3_5_moe_text"};

Status adjust(const Json& metadata, Json& config) {
  config.set(std::string(kTiledHeadsKey), Json(true));
  return adjust_gated_delta(metadata, config);
}

}  // namespace

extern const Family kQwen35;
const Family kQwen35{"qwen3_5",
                     kTypes,
                     "qwen35",
                     GgufRows::kPlain,
                     &parse,
                     &adjust,
                     {.tensors = kDeltaGgufTensors,
                      .keys = kDeltaGgufKeys,
                      .changes = kDeltaGgufChanges,
                      .also = "qwen35moe"}};

}  // namespace skua
