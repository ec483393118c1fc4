// OPT: learned positions with an offset of two, layer norms, ReLU.
// llama.cpp has no architecture for it: there are no GGUF files.
// Sources: transformers modeling_opt.py and configuration_opt.py (5.17); arXiv:2205.01068.
#include "models/families.h"
#include "models/pre_norm_decoder.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_learned_position_config(
      config, {"num_hidden_layers", "hidden_size", "num_attention_heads", "max_position_embeddings"});
  spec.config.info.d_ff = config.count("ffn_dim");
  spec.config.tied = config.flag_or("tie_word_embeddings", true);
  spec.norm_kind = Norm::Kind::kLayer;
  spec.norm_vectors = Norm::Vectors::kWeightAndBias;
  spec.norms = {"self_attn_layer_norm", "", "final_layer_norm", ""};
  spec.names = {"model.decoder.embed_tokens", "model.decoder.layers", "model.decoder.final_layer_norm",
                "lm_head"};
  spec.positions = {"model.decoder.embed_positions", int64_t{spec.config.info.max_context} + 2, 2};
  spec.qkv_bias = spec.o_bias = true;
  config.must_be("do_layer_norm_before", Json(true));
  config.must_be("enable_bias", Json(true));
  config.must_be("layer_norm_elementwise_affine", Json(true));
  config.must_be("_remove_final_layer_norm", Json(false));
  config.must_be("word_embed_proj_dim", Json(spec.config.info.d_model));
  config.ignore({"dropout", "layerdrop", "init_std", "activation_dropout"});
  spec.adjust_attention = [](AttentionBlock& block) { block.o_name = "out_proj"; };
  const PlainMlpBlock mlp{"",
                          "",
                          spec.config.info.d_model,
                          spec.config.info.d_ff,
                          read_act(config, "activation_function", "relu"),
                          true};
  spec.feed_forward = [mlp](GraphBuilder& b, const std::string& p, int32_t, ValueId x) {
    PlainMlpBlock block = mlp;
    block.up = p + ".fc1";
    block.down = p + ".fc2";
    return plain_mlp_block(b, block, x);
  };
  SKUA_RETURN_IF_ERROR(config.finish(policy));
  return make_pre_norm_decoder(std::move(spec));
}

constexpr std::string_view kTypes[] = {"opt"};

}  // namespace

extern const Family kOpt;
const Family kOpt{"opt", kTypes, "", GgufRows::kPlain, &parse, nullptr};

}  // namespace skua
