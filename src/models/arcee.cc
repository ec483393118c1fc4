// Arcee AFM: Llama with a plain MLP and squared ReLU.
// Sources: transformers modeling_arcee.py and configuration_arcee.py (5.17).
#include "models/families.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.eps = 1e-5});
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.qkv_bias = spec.o_bias = config.flag_or("attention_bias", false);
  const PlainMlpBlock mlp{"",
                          "",
                          spec.config.info.d_model,
                          spec.config.info.d_ff,
                          read_act(config, "hidden_act", "relu2"),
                          config.flag_or("mlp_bias", false)};
  spec.feed_forward = [mlp](GraphBuilder& b, const std::string& p, int32_t, ValueId x) {
    PlainMlpBlock block = mlp;
    block.up = p + ".mlp.up_proj";
    block.down = p + ".mlp.down_proj";
    return plain_mlp_block(b, block, x);
  };
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"arcee"};
}  // namespace

extern const Family kArcee;
const Family kArcee{
    "arcee", kTypes, "arcee", GgufRows::kInterleavedQk, &parse, nullptr, {.flags = kGgufMlpBias}};

}  // namespace skua
