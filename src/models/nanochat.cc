// nanochat: norms without weights (one right after the embedding), q and k normed after a rotation that turns
// the other way, squared ReLU, capped logits. llama.cpp has no architecture for it: there are no GGUF files.
// Sources: transformers modeling_nanochat.py and configuration_nanochat.py (5.17).
#include "models/families.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config);
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.qkv_bias = spec.o_bias = config.flag_or("attention_bias", false);
  spec.norm_vectors = Norm::Vectors::kNone;
  spec.embed_norm = true;
  spec.qk_norm = true;
  spec.logit_softcap = static_cast<float>(config.number_or("final_logit_softcapping", 15.0));
  spec.adjust_attention = [](AttentionBlock& block) {
    block.qk_norm_at = QkNormAt::kAfterRope;
    block.q_norm_name = block.k_norm_name = "";
  };
  const PlainMlpBlock mlp{"", "", spec.config.info.d_model, spec.config.info.d_ff,
                          read_act(config, "hidden_act", "relu2")};
  spec.feed_forward = [mlp](GraphBuilder& b, const std::string& p, int32_t, ValueId x) {
    PlainMlpBlock block = mlp;
    block.up = p + ".mlp.fc1";
    block.down = p + ".mlp.fc2";
    return plain_mlp_block(b, block, x);
  };
  const Json rope = rope_parameters(config);
  SKUA_RETURN_IF_ERROR(config.finish(policy));
  SKUA_ASSIGN_OR_RETURN(spec.angles, rope_angles_from(rope, spec.config.info.head_dim, 10000.0));
  for (double& f : spec.angles.inv_freq) f = -f;
  return make_pre_norm_decoder(std::move(spec));
}

constexpr std::string_view kTypes[] = {"nanochat"};

}  // namespace

extern const Family kNanochat;
const Family kNanochat{"nanochat", kTypes, "", GgufRows::kPlain, &parse, nullptr};

}  // namespace skua
