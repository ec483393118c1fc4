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
  spec.feed_forward = mixture(read_qwen_mixture(config, spec.config.info, spec.act, 10, true));
  spec.partial_rotation = PartialRotation::kKnown;
  return finish_pre_norm(config, policy, std::move(spec), delta_rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"qwen3_next"};

}  // namespace

extern const Family kQwen3Next;
const Family kQwen3Next{"qwen3_next",
                        kTypes,
                        "qwen3next",
                        GgufRows::kPlain,
                        &parse,
                        &adjust_gated_delta,
                        {.tensors = kDeltaGgufTensors, .keys = kDeltaGgufKeys, .changes = kDeltaGgufChanges}};

}  // namespace skua
