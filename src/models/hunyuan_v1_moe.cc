// Hunyuan MoE: Hunyuan's attention, softmax-routed experts beside a shared one in every layer.
// Sources: transformers modeling_hunyuan_v1_moe.py and configuration_hunyuan_v1_moe.py (5.17).
#include "models/families.h"
#include "models/hunyuan.h"
#include "models/moe.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

/// A count, or a list with the same count for every layer.
int32_t read_alike(ConfigReader& config, std::string_view key, int32_t fallback) {
  const Json* value = config.raw(key);
  if (value == nullptr || !value->is_array() || value->size() == 0) return config.count_or(key, fallback);
  const Json& first = value->items()[0];
  for (const Json& item : value->items()) {
    if (item != first || item.kind() != Json::Kind::kInt || item.as_int() < 1 || item.as_int() > INT32_MAX) {
      config.fail(unsupported("[model] config.json: \"" + std::string(key) + "\" is " +
                              value->dump().substr(0, 80) + "; only one count for all layers is handled"));
      return fallback;
    }
  }
  return static_cast<int32_t>(first.as_int());
}

/// Older configs can say more than the reference runs.
void refuse_other_mixtures(ConfigReader& config, const ModelInfo& info) {
  if (read_alike(config, "moe_intermediate_size", info.d_ff) != info.d_ff ||
      read_alike(config, "num_shared_expert", 1) != 1) {
    config.fail(unsupported("[model] config.json: moe_intermediate_size other than intermediate_size " +
                            std::to_string(info.d_ff) +
                            ", or num_shared_expert other than 1, is not handled"));
  }
  for (const char* key : {"mlp_bias", "use_mla", "group_limited_greedy", "moe_drop_tokens"})
    config.must_be(key, Json(false));
  for (const char* key : {"use_mixed_mlp_moe", "norm_topk_prob", "use_rotary_pos_emb"})
    config.must_be(key, Json(true));
  config.must_be("moe_layer_num_skipped", Json(0));
  config.ignore({"moe_random_routing_dropped_token", "num_experts_per_tok", "kv_lora_rank", "q_lora_rank",
                 "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "n_group", "topk_group",
                 "routed_scaling_factor", "pad_id", "skip_cls_token", "dense_list", "num_media_embeds"});
}

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.eps = 1e-5});
  const ModelInfo& info = spec.config.info;
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  read_hunyuan_attention(config, spec);
  DeepSeekMoe mix;
  mix.d_shared = info.d_ff;
  mix.shared_name = "shared_mlp";
  MoeBlock& moe = mix.block;
  moe.d_model = info.d_model;
  moe.d_ff = info.d_ff;
  moe.n_experts = read_alike(config, "num_experts", 1);
  config.must_equal({"num_local_experts"}, moe.n_experts);
  moe.act = spec.act;
  moe.router.top_k = read_alike(config, "moe_topk", 1);
  moe.router.normalize = MoeRouter::Normalize::kYes;
  moe.names.router = "gate.wg";
  refuse_other_mixtures(config, info);
  spec.feed_forward = mixture(mix);
  const Json rope = hunyuan_rope(rope_parameters(config), info.head_dim);
  return finish_pre_norm(config, policy, std::move(spec), rope, 10000.0);
}

constexpr std::string_view kTypes[] = {"hunyuan_v1_moe"};
constexpr GgufName kGgufTensors[] = {{"attn_q_norm", "self_attn.query_layernorm"},
                                     {"attn_k_norm", "self_attn.key_layernorm"},
                                     {"ffn_gate_inp", "mlp.gate.wg"},
                                     {"ffn_gate_shexp", "mlp.shared_mlp.gate_proj"},
                                     {"ffn_up_shexp", "mlp.shared_mlp.up_proj"},
                                     {"ffn_down_shexp", "mlp.shared_mlp.down_proj"}};
constexpr GgufName kGgufKeys[] = {{"expert_count", "num_experts"},
                                  {"expert_used_count", "moe_topk"},
                                  {"expert_shared_count", "num_shared_expert"},
                                  {"expert_shared_feed_forward_length", ""}};

}  // namespace

extern const Family kHunyuanV1Moe;
const Family kHunyuanV1Moe{"hunyuan_v1_moe",         kTypes, "hunyuan-moe", GgufRows::kPlain, &parse, nullptr,
                           {kGgufTensors, kGgufKeys}};

}  // namespace skua
