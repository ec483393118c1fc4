// GPT-NeoX and Pythia: layer norms, attention and MLP side by side with a norm each, q, k and v fused head by
// head. Sources: transformers modeling_gpt_neox.py and configuration_gpt_neox.py (5.17); arXiv:2204.06745.
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
  spec.config.info.n_kv_heads =
      spec.config.info.n_heads;  // a config's num_key_value_heads means nothing here
  spec.config.eps = config.epsilon_or("layer_norm_eps", 1e-5);
  spec.norm_kind = Norm::Kind::kLayer;
  spec.norm_vectors = Norm::Vectors::kWeightAndBias;
  if (config.flag_or("use_parallel_residual", true)) spec.residual = Residual::kParallel;
  spec.names = {"gpt_neox.embed_in", "gpt_neox.layers", "gpt_neox.final_layer_norm", "embed_out"};
  spec.qkv_bias = spec.o_bias = config.flag_or("attention_bias", true);
  config.must_be("is_decoder", Json(false));
  spec.ignorable = {{"*.attention.bias", "the causal mask"}, {"*.attention.masked_bias", "the causal mask"}};
  // Converters to GGUF put all of q first, then all of k and of v.
  const bool from_gguf = config.flag_or(kGgufConfig, false);
  const FusedRows rows = from_gguf ? FusedRows::kInTurn : FusedRows::kPerHead;
  spec.adjust_attention = [rows](AttentionBlock& block) {
    block.prefix = "gpt_neox.layers." + std::to_string(block.layer) + ".attention";
    block.qkv_name = "query_key_value";
    block.fused_rows = rows;
    block.o_name = "dense";
  };
  const PlainMlpBlock mlp{
      "", "", spec.config.info.d_model, spec.config.info.d_ff, read_act(config, "hidden_act", "gelu"), true};
  spec.feed_forward = [mlp](GraphBuilder& b, const std::string& p, int32_t, ValueId x) {
    PlainMlpBlock block = mlp;
    block.up = p + ".mlp.dense_h_to_4h";
    block.down = p + ".mlp.dense_4h_to_h";
    return plain_mlp_block(b, block, x);
  };
  // The reference reads rotary_emb_base alone (GGUF files have one name for all).
  const Json* theta = config.flag_or(kGgufConfig, false) ? nullptr : config.raw("rope_theta");
  if (theta != nullptr && config.raw("rope_parameters") == nullptr) {
    if (config.raw("rotary_emb_base") == nullptr) config.must_be("rope_theta", Json(10000.0));
    config.must_be("rotary_emb_base", *theta);
  }
  const double base = config.number_or("rotary_emb_base", 10000.0),
               part = config.number_or("rotary_pct", 0.25);
  Json rope = rope_parameters(config);
  const Json* own = rope.find("partial_rotary_factor");
  if (own != nullptr) config.must_be("rotary_pct", *own);
  if (own == nullptr) rope.set("partial_rotary_factor", Json(part));
  spec.partial_rotation = PartialRotation::kKnown;
  return finish_pre_norm(config, policy, std::move(spec), rope, base);
}

constexpr std::string_view kTypes[] = {"gpt_neox"};
constexpr GgufName kGgufTensors[] = {{"token_embd", "gpt_neox.embed_in"},
                                     {"output_norm", "gpt_neox.final_layer_norm"},
                                     {"output", "embed_out"},
                                     {"attn_qkv", "attention.query_key_value"},
                                     {"attn_output", "attention.dense"},
                                     {"ffn_up", "mlp.dense_h_to_4h"},
                                     {"ffn_down", "mlp.dense_4h_to_h"}};
constexpr GgufName kGgufKeys[] = {{"attention.layer_norm_epsilon", "layer_norm_eps"},
                                  {"rope.dimension_count", "partial_rotary_factor"},
                                  {"use_parallel_residual", "use_parallel_residual"}};
constexpr GgufName kGgufFlags[] = {{"blk.0.attn_output.bias", "attention_bias"}};

}  // namespace

extern const Family kGptNeoX;
const Family kGptNeoX{
    "gpt_neox",
    kTypes,
    "gptneox",
    GgufRows::kPlain,
    &parse,
    nullptr,
    {.tensors = kGgufTensors, .keys = kGgufKeys, .flags = kGgufFlags, .layers = "gpt_neox.layers."}};

}  // namespace skua
