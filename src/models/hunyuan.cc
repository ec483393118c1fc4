// Attention of the Hunyuan families.
#include "models/hunyuan.h"

#include <cmath>

namespace skua {

void read_hunyuan_attention(ConfigReader& config, PreNormSpec& spec) {
  spec.qkv_bias = spec.o_bias = config.flag_or("attention_bias", false);
  spec.qk_norm = true;
  spec.adjust_attention = [](AttentionBlock& block) {
    block.qk_norm_at = QkNormAt::kAfterRope;
    block.q_norm_name = "query_layernorm";
    block.k_norm_name = "key_layernorm";
  };
  config.must_be("use_qk_norm", Json(true));
  config.must_be("use_cla", Json(false));
  config.ignore({"eod_token_id", "sep_token_id", "im_start_id", "im_end_id", "text_start_id", "text_end_id",
                 "mask_init_id", "org_vocab_size", "cla_share_factor", "attention_head_dim", "norm_type",
                 "add_classification_head", "class_num", "pool_type", "position_embedding_xdrope"});
}

Json hunyuan_rope(const Json& rope, int32_t head_dim) {
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

}  // namespace skua
