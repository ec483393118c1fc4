// StableLM 2 and 3B: layer norms (12B: of each head's q and k too), a quarter of each head rotated.
// Sources: transformers modeling_stablelm.py and configuration_stablelm.py (5.17).
#include "models/families.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.n_kv_heads = 32});
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  spec.config.eps = config.epsilon_or("layer_norm_eps", 1e-5);
  spec.norm_kind = Norm::Kind::kLayer;
  spec.norm_vectors = Norm::Vectors::kWeightAndBias;
  spec.qkv_bias = config.flag_or("use_qkv_bias", false);
  spec.qk_norm = config.flag_or("qk_layernorm", false);
  spec.adjust_attention = [](AttentionBlock& block) {
    block.qk_norm_kind = Norm::Kind::kLayer;
    block.qk_norm_over = QkNormOver::kEachHeadApart;
    block.q_norm_name = "q_layernorm";
    block.k_norm_name = "k_layernorm";
  };
  if (config.flag_or("use_parallel_residual", false)) {
    spec.residual = Residual::kParallel;
    spec.norms.before_mlp = "";
  }
  Json rope = rope_parameters(config);
  if (rope.find("partial_rotary_factor") == nullptr) rope.set("partial_rotary_factor", Json(0.25));
  spec.partial_rotation = PartialRotation::kKnown;
  return finish_pre_norm(config, policy, std::move(spec), rope, 10000.0);
}

constexpr std::string_view kTypes[] = {"stablelm"};
constexpr GgufName kGgufTensors[] = {{"attn_q_norm", "self_attn.q_layernorm"},
                                     {"attn_k_norm", "self_attn.k_layernorm"}};
constexpr GgufName kGgufKeys[] = {{"attention.layer_norm_epsilon", "layer_norm_eps"},
                                  {"rope.dimension_count", "partial_rotary_factor"},
                                  {"use_parallel_residual", ""}};
constexpr GgufName kGgufFlags[] = {{"blk.0.attn_q.bias", "use_qkv_bias"},
                                   {"blk.0.attn_q_norm.weight", "qk_layernorm"}};

/// use_parallel_residual may be wrong in a file (converters write true where a config says nothing); the norm
/// before the MLP is there or not.
Status adjust(const Checkpoint& file, Json& config) {
  config.set("use_parallel_residual", Json(file.find("blk.0.ffn_norm.weight") == nullptr));
  return ok_status();
}

}  // namespace

extern const Family kStableLm;
const Family kStableLm{"stablelm",
                       kTypes,
                       "stablelm",
                       GgufRows::kPlain,
                       &parse,
                       nullptr,
                       {.tensors = kGgufTensors, .keys = kGgufKeys, .flags = kGgufFlags, .adjust = &adjust}};

}  // namespace skua
