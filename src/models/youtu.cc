// Youtu-LLM: latent attention with plain gated MLPs.
// Sources: transformers modeling_youtu.py and configuration_youtu.py (5.17). The reference sets the padding
// token's row of the embedding, and with it of a tied head, to zero after loading (YoutuPreTrainedModel's
// _init_weights writes through a slice, which does not carry the mark "already loaded"; other families look
// at the mark first). Its numbers are followed, and a load says so if the checkpoint has anything else there;
// but not where that token also ends or begins a text, since such a model could not stop.
#include <algorithm>

#include "models/families.h"
#include "models/mla.h"
#include "models/mla_gguf.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

/// The padding token, if it is no other special token too.
std::optional<int64_t> padding_alone(ConfigReader& config, const ModelInfo& info) {
  const std::vector<int32_t> padding = config.ids("pad_token_id");
  if (padding.empty() || padding[0] < 0 || padding[0] == info.bos_id) return std::nullopt;
  const bool ends = std::count(info.end_ids.begin(), info.end_ids.end(), padding[0]) > 0;
  return ends ? std::nullopt : std::optional<int64_t>(padding[0]);
}

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config);
  config.require({"q_lora_rank"});
  const ModelInfo& info = spec.config.info;
  spec.config.tied = config.flag_or("tie_word_embeddings", true);
  spec.act = read_act(config, "hidden_act", "silu");
  config.must_be("mlp_bias", Json(false));
  // Written by the base class; the reference has no experts.
  config.ignore({"embedding_initializer_range", "first_k_dense_replace", "moe_intermediate_size", "n_group",
                 "n_routed_experts", "n_shared_experts", "norm_topk_prob", "num_experts_per_tok",
                 "routed_scaling_factor", "topk_group", "topk_method", "scoring_func"});
  spec.zero_token = padding_alone(config, info);
  MlaSpec mla = read_mla(config, info.d_model, info.n_heads);
  mla.style = config.flag_or("rope_interleave", true) ? RopeStyle::kInterleaved : RopeStyle::kHalf;
  return finish_mla(config, policy, std::move(spec), mla, rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"youtu"};

}  // namespace

extern const Family kYoutu;
const Family kYoutu{"youtu",
                    kTypes,
                    "deepseek2",
                    GgufRows::kPlain,
                    &parse,
                    &adjust_mla,
                    {.tensors = kMlaGgufTensors, .keys = kDenseMlaGgufKeys}};

}  // namespace skua
