// Hunyuan dense: per-head norms on q and k after the rotation; its "dynamic" rope with alpha is a fixed
// change of the base. Sources: transformers modeling_hunyuan_v1_dense.py and
// configuration_hunyuan_v1_dense.py (5.17).
#include <cmath>

#include "models/families.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

/// theta * alpha^(d / (d - 2)) in place of {type: dynamic, alpha}; other parameters as they are.
Json resolve_alpha(const Json& rope, int32_t head_dim) {
  const Json* alpha = rope.find("alpha");
  const Json* type = rope.find("rope_type") != nullptr ? rope.find("rope_type") : rope.find("type");
  if (alpha == nullptr || !alpha->is_number() || !(alpha->as_double() > 0)) return rope;
  if (type == nullptr || *type != Json("dynamic")) return rope;
  const Json* theta = rope.find("rope_theta");
  const double base = theta != nullptr && theta->is_number() ? theta->as_double() : 10000.0;
  Json out = Json::object();
  out.set("rope_theta", Json(base * std::pow(alpha->as_double(), head_dim / (head_dim - 2.0))));
  return out;
}

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config);
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  spec.qkv_bias = spec.o_bias = config.flag_or("attention_bias", false);
  spec.qk_norm = true;
  config.must_be("use_qk_norm", Json(true));
  config.must_be("use_cla", Json(false));
  config.must_be("mlp_bias", Json(false));
  config.ignore({"eod_token_id", "sep_token_id", "im_start_id", "im_end_id", "text_start_id", "text_end_id",
                 "mask_init_id", "org_vocab_size", "cla_share_factor", "attention_head_dim", "norm_type",
                 "add_classification_head", "class_num", "pool_type", "position_embedding_xdrope"});
  spec.adjust_attention = [](AttentionBlock& block) {
    block.qk_norm_at = QkNormAt::kAfterRope;
    block.q_norm_name = "query_layernorm";
    block.k_norm_name = "key_layernorm";
  };
  const Json rope = resolve_alpha(rope_parameters(config), spec.config.info.head_dim);
  return finish_pre_norm(config, policy, std::move(spec), rope, 10000.0);
}

constexpr std::string_view kTypes[] = {"hunyuan_v1_dense"};

}  // namespace

extern const Family kHunyuanV1Dense;
const Family kHunyuanV1Dense{"hunyuan_v1_dense", kTypes, "", GgufRows::kPlain, &parse, nullptr};

}  // namespace skua
