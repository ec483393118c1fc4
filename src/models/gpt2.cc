// GPT-2: learned positions, layer norms, fused projections that lie transposed.
// Sources: transformers modeling_gpt2.py and configuration_gpt2.py (5.17).
#include <algorithm>

#include "models/families.h"
#include "models/pre_norm_decoder.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  // GGUF files come under the common names, and their matrices lie the common way.
  const bool from_gguf = config.flag_or(kGgufConfig, false);
  const Transpose transpose = from_gguf ? Transpose::kNo : Transpose::kYes;
  SizeKeys keys{"n_layer", "n_embd", "n_head", "n_positions"};
  if (from_gguf)
    keys = {"num_hidden_layers", "hidden_size", "num_attention_heads", "max_position_embeddings"};
  spec.config = read_learned_position_config(config, keys);
  ModelInfo& info = spec.config.info;
  info.d_ff = config.count_or("n_inner",
                              static_cast<int32_t>(std::min<int64_t>(4 * int64_t{info.d_model}, INT32_MAX)));
  spec.config.eps = config.epsilon_or("layer_norm_epsilon", 1e-5);
  spec.config.tied = config.flag_or("tie_word_embeddings", true);
  spec.norm_kind = Norm::Kind::kLayer;
  spec.norm_vectors = Norm::Vectors::kWeightAndBias;
  spec.norms = {"ln_1", "", "ln_2", ""};
  spec.names = {"transformer.wte", "transformer.h", "transformer.ln_f", "lm_head"};
  spec.positions = {"transformer.wpe", spec.config.info.max_context, 0};
  spec.ignorable = {{"*.attn.bias", "the causal mask"}, {"*.attn.masked_bias", "the causal mask"}};
  spec.qkv_bias = spec.o_bias = true;
  config.must_be("scale_attn_weights", Json(true));
  config.must_be("scale_attn_by_inverse_layer_idx", Json(false));
  config.must_be("add_cross_attention", Json(false));
  config.ignore({"reorder_and_upcast_attn", "attn_pdrop", "summary_activation", "summary_first_dropout",
                 "summary_proj_to_labels", "summary_use_proj", "n_ctx"});
  spec.adjust_attention = [transpose](AttentionBlock& block) {
    block.prefix = "transformer.h." + std::to_string(block.layer) + ".attn";
    block.qkv_name = "c_attn";
    block.o_name = "c_proj";
    block.transpose = transpose;
  };
  const PlainMlpBlock mlp{"",
                          "",
                          spec.config.info.d_model,
                          spec.config.info.d_ff,
                          read_act(config, "activation_function", "gelu_new"),
                          true,
                          transpose};
  spec.feed_forward = [mlp](GraphBuilder& b, const std::string& p, int32_t, ValueId x) {
    PlainMlpBlock block = mlp;
    block.up = p + ".mlp.c_fc";
    block.down = p + ".mlp.c_proj";
    return plain_mlp_block(b, block, x);
  };
  SKUA_RETURN_IF_ERROR(config.finish(policy));
  return make_pre_norm_decoder(std::move(spec));
}

constexpr std::string_view kTypes[] = {"gpt2"};
constexpr GgufName kGgufTensors[] = {{"token_embd", "transformer.wte"},
                                     {"position_embd", "transformer.wpe"},
                                     {"output_norm", "transformer.ln_f"},
                                     {"attn_norm", "ln_1"},
                                     {"attn_qkv", "attn.c_attn"},
                                     {"attn_output", "attn.c_proj"},
                                     {"ffn_norm", "ln_2"},
                                     {"ffn_up", "mlp.c_fc"},
                                     {"ffn_down", "mlp.c_proj"}};
constexpr GgufName kGgufKeys[] = {{"feed_forward_length", "n_inner"},
                                  {"attention.layer_norm_epsilon", "layer_norm_epsilon"}};
constexpr GgufName kGgufFlags[] = {{"blk.0.attn_output.bias", ""}};

}  // namespace

extern const Family kGpt2;
const Family kGpt2{
    "gpt2",
    kTypes,
    "gpt2",
    GgufRows::kPlain,
    &parse,
    nullptr,
    {.tensors = kGgufTensors, .keys = kGgufKeys, .flags = kGgufFlags, .layers = "transformer.h."}};

}  // namespace skua
