// Gated short convolutions (LFM2) and the config keys of its families.
#include "models/short_conv.h"

namespace skua {
namespace {

Linear with_bias(GraphBuilder& b, const std::string& name, int64_t out, int64_t in, bool bias) {
  Linear linear{b.weight(name + ".weight", out, in), std::nullopt};
  if (bias) linear.bias = b.vector(name + ".bias", out);
  return linear;
}

/// The `index`-th third of in_proj.
Linear third(GraphBuilder& b, const ShortConvBlock& block, int64_t index) {
  const int64_t d = block.d_model;
  const std::string name = block.prefix + ".in_proj";
  Linear linear{b.part({name + ".weight", 3 * d, index * d, d, 3 * d}, d), std::nullopt};
  if (block.bias) linear.bias = b.part({name + ".bias", 3 * d, index * d, d, 3 * d}, 1);
  return linear;
}

/// Which layers have a convolution: layer_types, or all but full_attn_idxs.
std::vector<char> read_conv_layers(ConfigReader& config, int32_t n_layers) {
  std::vector<char> out(static_cast<size_t>(n_layers), 1);
  const Json* types = config.raw("layer_types");
  const Json* attending = config.raw("full_attn_idxs");
  if (attending != nullptr && !attending->is_array()) {
    config.fail(invalid_argument("[model] config.json: full_attn_idxs must be a list of layers"));
    return out;
  }
  if (types == nullptr) {
    if (attending == nullptr) return std::vector<char>(out.size(), 0);
    for (const Json& index : attending->items()) {
      const int64_t layer = index.kind() == Json::Kind::kInt ? index.as_int() : -1;
      if (layer < 0 || layer >= n_layers) {
        config.fail(invalid_argument("[model] config.json: full_attn_idxs names a layer " + index.dump()));
        return out;
      }
      out[static_cast<size_t>(layer)] = 0;
    }
    return out;
  }
  if (!types->is_array() || types->size() != out.size()) {
    config.fail(invalid_argument("[model] config.json: layer_types must name every layer"));
    return out;
  }
  for (size_t layer = 0; layer < out.size(); ++layer) {
    const Json& type = types->items()[layer];
    if (type != Json("conv") && type != Json("full_attention")) {
      config.fail(unsupported("[model] config.json: layer_types holds layer type " + type.dump() +
                              " is not known; known are conv, full_attention"));
    }
    out[layer] = type == Json("conv") ? 1 : 0;
  }
  return out;
}

}  // namespace

ValueId short_conv_block(GraphBuilder& b, const ShortConvBlock& block, ValueId x) {
  const DType kept = b.numerics().kv;
  const int64_t d = block.d_model;
  const ValueId gate_in = b.linear("b", x, third(b, block, 0), DType::kF32);
  const ValueId gate_out = b.linear("c", x, third(b, block, 1), DType::kF32);
  const ValueId inner = b.linear("x", x, third(b, block, 2), DType::kF32);
  const ValueId gated = b.mul("gate_in", gate_in, inner, kept);
  CausalConv conv;
  conv.slot = b.slot(
      {.kind = SlotKind::kConv, .layer = block.layer, .window = block.taps, .storage = kept, .row = d});
  conv.weight = b.conv_weight(block.prefix + ".conv.weight", d, block.taps);
  if (block.bias) conv.bias = b.vector(block.prefix + ".conv.bias", d);
  const ValueId mixed = b.causal_conv("conv", gated, conv, DType::kF32);
  const ValueId y = b.mul("gate_out", gate_out, mixed, b.numerics().matmul_input);
  return b.linear("out", y, with_bias(b, block.prefix + ".out_proj", d, d, block.bias), DType::kF32);
}

void read_lfm2(ConfigReader& config, PreNormSpec& spec) {
  ModelInfo& info = spec.config.info;
  spec.config = read_decoder_config(config, {.n_kv_heads = 8});
  spec.config.eps = config.epsilon_or("norm_eps", 1e-5);
  const bool tied = config.flag_or("tie_word_embeddings", true);
  spec.config.tied = config.flag_or("tie_embedding", tied);
  spec.qk_norm = true;
  spec.norms = {"operator_norm", "", "ffn_norm", ""};
  spec.names.final_norm = "model.embedding_norm";
  spec.adjust_attention = [](AttentionBlock& block) {
    block.o_name = "out_proj";
    block.q_norm_name = "q_layernorm";
    block.k_norm_name = "k_layernorm";
  };
  const ShortConvBlock conv{"", 0, info.d_model, config.count_or("conv_L_cache", 3),
                            config.flag_or("conv_bias", false)};
  const std::vector<char> conv_layers = read_conv_layers(config, info.n_layers);
  spec.mixer = [conv, conv_layers](GraphBuilder& b, const std::string& p, int32_t layer,
                                   ValueId x) -> std::optional<ValueId> {
    if (conv_layers[static_cast<size_t>(layer)] == 0) return std::nullopt;
    ShortConvBlock block = conv;
    block.prefix = p + ".conv";
    block.layer = layer;
    return short_conv_block(b, block, x);
  };
  for (const char* same : {"block_dim", "conv_dim", "conv_dim_out"}) config.must_be(same, Json(info.d_model));
  config.must_be("num_heads", Json(info.n_heads));
  config.must_be("use_pos_enc", Json(true));
  config.must_be("block_use_swiglu", Json(true));
  config.ignore({"block_norm_eps", "block_mlp_init_scale", "block_out_init_scale", "block_use_xavier_init",
                 "conv_use_xavier_init"});
}

ValueId lfm2_mlp(GraphBuilder& b, const std::string& prefix, int32_t d_model, int32_t d_ff, ValueId x) {
  return mlp_block(b,
                   {.prefix = prefix,
                    .d_model = d_model,
                    .d_ff = d_ff,
                    .gate_name = "w1",
                    .up_name = "w3",
                    .down_name = "w2"},
                   x);
}

}  // namespace skua
