// Command R and R+: layer norm without bias (R+: of each head's q and k too), attention and MLP side by side,
// rotation of neighbouring pairs, scaled logits. Sources: transformers modeling_cohere.py and
// configuration_cohere.py (5.17).
#include "models/families.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config);
  spec.config.tied = config.flag_or("tie_word_embeddings", true);
  spec.act = read_act(config, "hidden_act", "silu");
  spec.config.eps = config.epsilon_or("layer_norm_eps", 1e-5);
  spec.norm_kind = Norm::Kind::kLayer;
  spec.residual = Residual::kParallel;
  spec.norms.before_mlp = "";
  spec.logit_scale = static_cast<float>(config.number_or("logit_scale", 0.0625));
  spec.qkv_bias = spec.o_bias = config.flag_or("attention_bias", false);
  spec.qk_norm = config.flag_or("use_qk_norm", false);
  spec.adjust_attention = [](AttentionBlock& block) {
    block.rope_style = RopeStyle::kInterleaved;
    block.qk_norm_kind = Norm::Kind::kLayer;
    block.qk_norm_over = QkNormOver::kEachHead;
  };
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 500000.0);
}

constexpr std::string_view kTypes[] = {"cohere"};
constexpr GgufName kGgufKeys[] = {{"attention.layer_norm_epsilon", "layer_norm_eps"},
                                  {"logit_scale", "logit_scale"}};
constexpr GgufName kGgufFlags[] = {{"blk.0.attn_output.bias", "attention_bias"},
                                   {"blk.0.attn_q_norm.weight", "use_qk_norm"}};

}  // namespace

extern const Family kCohere;
const Family kCohere{"cohere",
                     kTypes,
                     "command-r",
                     GgufRows::kPlain,
                     &parse,
                     nullptr,
                     {.keys = kGgufKeys, .flags = kGgufFlags}};

}  // namespace skua
