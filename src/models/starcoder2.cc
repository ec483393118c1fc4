// StarCoder 2: layer norms, biases everywhere, a plain MLP.
// Sources: transformers modeling_starcoder2.py and configuration_starcoder2.py (5.17); arXiv:2402.19173.
#include "models/families.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.n_kv_heads = 2});
  spec.config.tied = config.flag_or("tie_word_embeddings", true);
  spec.config.eps = config.epsilon_or("norm_epsilon", 1e-5);
  spec.norm_kind = Norm::Kind::kLayer;
  spec.norm_vectors = Norm::Vectors::kWeightAndBias;
  const bool bias = config.flag_or("use_bias", true);
  spec.qkv_bias = spec.o_bias = bias;
  config.must_be("mlp_type", Json("default"));
  config.must_be("norm_type", Json("layer_norm"));
  config.ignore({"embedding_dropout", "residual_dropout"});
  const int32_t window = config.count_or("sliding_window", 0);
  read_windows(config, spec.config, window, [&](int32_t) { return window > 0; });
  const PlainMlpBlock mlp{"",
                          "",
                          spec.config.info.d_model,
                          spec.config.info.d_ff,
                          read_act(config, "hidden_act", "gelu_pytorch_tanh"),
                          bias};
  spec.feed_forward = [mlp](GraphBuilder& b, const std::string& p, int32_t, ValueId x) {
    PlainMlpBlock block = mlp;
    block.up = p + ".mlp.c_fc";
    block.down = p + ".mlp.c_proj";
    return plain_mlp_block(b, block, x);
  };
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"starcoder2"};
constexpr GgufName kGgufTensors[] = {{"ffn_up", "mlp.c_fc"}, {"ffn_down", "mlp.c_proj"}};
constexpr GgufName kGgufKeys[] = {{"attention.layer_norm_epsilon", "norm_epsilon"}};
constexpr GgufName kGgufFlags[] = {{"blk.0.attn_output.bias", "use_bias"}};

}  // namespace

extern const Family kStarCoder2;
const Family kStarCoder2{"starcoder2",
                         kTypes,
                         "starcoder2",
                         GgufRows::kPlain,
                         &parse,
                         nullptr,
                         {.tensors = kGgufTensors, .keys = kGgufKeys, .flags = kGgufFlags}};

}  // namespace skua
