// Phi-1 to Phi-2: layer norms, biases everywhere, attention and MLP side by side, half of each head rotated.
// Sources: transformers modeling_phi.py and configuration_phi.py (5.17); arXiv:2309.05463.
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
  spec.config.eps = config.epsilon_or("layer_norm_eps", 1e-5);
  spec.norm_kind = Norm::Kind::kLayer;
  spec.norm_vectors = Norm::Vectors::kWeightAndBias;
  spec.residual = Residual::kParallel;
  spec.norms.before_mlp = "";
  spec.names.final_norm = "model.final_layernorm";
  spec.qkv_bias = spec.o_bias = spec.head_bias = true;
  spec.qk_norm = config.flag_or("qk_layernorm", false);
  spec.adjust_attention = [](AttentionBlock& block) {
    block.o_name = "dense";
    block.qk_norm_kind = Norm::Kind::kLayer;
    block.qk_norm_bias = true;
    block.q_norm_name = "q_layernorm";
    block.k_norm_name = "k_layernorm";
  };
  const PlainMlpBlock mlp{
      "",  "", spec.config.info.d_model, spec.config.info.d_ff, read_act(config, "hidden_act", "gelu_new"),
      true};
  spec.feed_forward = [mlp](GraphBuilder& b, const std::string& p, int32_t, ValueId x) {
    PlainMlpBlock block = mlp;
    block.up = p + ".mlp.fc1";
    block.down = p + ".mlp.fc2";
    return plain_mlp_block(b, block, x);
  };
  Json rope = rope_parameters(config);
  if (rope.find("partial_rotary_factor") == nullptr) rope.set("partial_rotary_factor", Json(0.5));
  spec.partial_rotation = PartialRotation::kKnown;
  return finish_pre_norm(config, policy, std::move(spec), rope, 10000.0);
}

constexpr std::string_view kTypes[] = {"phi"};
constexpr GgufName kGgufTensors[] = {{"output_norm", "model.final_layernorm"},
                                     {"attn_output", "self_attn.dense"},
                                     {"ffn_up", "mlp.fc1"},
                                     {"ffn_down", "mlp.fc2"}};
constexpr GgufName kGgufKeys[] = {{"attention.layer_norm_epsilon", "layer_norm_eps"},
                                  {"rope.dimension_count", "partial_rotary_factor"}};
constexpr GgufName kGgufFlags[] = {{"blk.0.attn_output.bias", ""}};

}  // namespace

extern const Family kPhi;
const Family kPhi{"phi",
                  kTypes,
                  "phi2",
                  GgufRows::kPlain,
                  &parse,
                  nullptr,
                  {.tensors = kGgufTensors, .keys = kGgufKeys, .flags = kGgufFlags}};

}  // namespace skua
