// Builds the graph of pre-norm decoders.
#include "models/pre_norm_decoder.h"

#include <algorithm>

#include "models/rope_scaling.h"

namespace skua {
namespace {

class PreNormDecoder final : public Model {
 public:
  explicit PreNormDecoder(PreNormSpec spec) : spec_(std::move(spec)) {}

  const ModelInfo& info() const override { return spec_.config.info; }
  std::vector<IgnorableTensor> ignorable() const override {
    std::vector<IgnorableTensor> out = common_ignorable(spec_.config.tied);
    out.insert(out.end(), spec_.ignorable.begin(), spec_.ignorable.end());
    return out;
  }

  Result<Graph> build(const Numerics& numerics) const override {
    const ModelInfo& m = info();
    const DecoderNames& names = spec_.names;
    GraphBuilder b(numerics);
    ValueId x = embed(b);
    std::optional<ValueId> angles, sliding;
    if (!spec_.angles.inv_freq.empty()) angles = b.rope_angles("rope", spec_.angles);
    if (spec_.sliding_angles) sliding = b.rope_angles("rope_sliding", *spec_.sliding_angles);
    for (int32_t layer = 0; layer < m.n_layers; ++layer) {
      b.set_scope("layers." + std::to_string(layer));
      const bool slides = spec_.config.windows[static_cast<size_t>(layer)] > 0;
      x = run_layer(b, names.layers + "." + std::to_string(layer), layer, x,
                    slides && sliding ? sliding : angles);
    }
    b.set_scope("");
    x = norm_block(b, "final_norm", norm(), names.final_norm, m.d_model, x, numerics.matmul_input);
    HeadBlock head{m.d_model,           m.n_vocab,         spec_.config.tied,
                   spec_.logit_softcap, spec_.logit_scale, spec_.head_bias};
    head.head_name = names.head;
    head.embed_name = names.embed;
    return b.finish(head_block(b, head, x));
  }

 private:
  ValueId embed(GraphBuilder& b) const {
    const ModelInfo& m = info();
    const DType storage = b.numerics().residual;
    WeightDecl tokens{spec_.names.embed + ".weight", m.n_vocab, m.d_model};
    tokens.zero_row = spec_.zero_token;
    ValueId x = b.embed(b.weight(std::move(tokens)), spec_.embed_scale);
    if (spec_.positions) {
      const LearnedPositions& p = *spec_.positions;
      const WeightId table = b.weight(p.name + ".weight", p.rows, m.d_model);
      x = b.add("embed_add", x,
                b.embed("positions", {table, 1.0f, EmbedIndex::kPositions, p.offset}, storage), storage);
    }
    if (spec_.embed_norm) x = b.rms_norm("embed_norm", x, {std::nullopt, spec_.config.eps, 0.0f, 1}, storage);
    return x;
  }

  ValueId run_layer(GraphBuilder& b, const std::string& p, int32_t layer, ValueId x,
                    std::optional<ValueId> angles) const {
    const LayerNorms& norms = spec_.norms;
    ValueId y = before(b, "attn_norm", p, norms.before_attention, x);
    const ValueId shared = y;
    y = mix(b, p, layer, y, angles);
    y = after(b, "attn_post_norm", p, norms.after_attention, y);
    if (spec_.residual == Residual::kOneBlock) return b.add("mixer_add", x, y, b.numerics().residual);
    if (spec_.residual == Residual::kParallel) {
      ValueId z = norms.before_mlp.empty() ? shared : before(b, "mlp_norm", p, norms.before_mlp, x);
      z = after(b, "mlp_post_norm", p, norms.after_mlp, feed_forward(b, p, layer, z));
      const DType storage = b.numerics().residual;
      return b.add("mlp_add", b.add("attn_add", x, y, storage), z, storage);
    }
    x = b.add("attn_add", x, y, b.numerics().residual);
    y = before(b, "mlp_norm", p, norms.before_mlp, x);
    y = after(b, "mlp_post_norm", p, norms.after_mlp, feed_forward(b, p, layer, y));
    return b.add("mlp_add", x, y, b.numerics().residual);
  }

  /// Mixes the tokens of the layer: by its own mixer if it has one, else by attention.
  ValueId mix(GraphBuilder& b, const std::string& p, int32_t layer, ValueId x,
              std::optional<ValueId> angles) const {
    if (spec_.mixer) {
      if (const std::optional<ValueId> mixed = spec_.mixer(b, p, layer, x)) return *mixed;
    }
    return spec_.attention && angles ? spec_.attention(b, p, layer, x, *angles)
                                     : attention_block(b, attention(p + ".self_attn", layer), x, angles);
  }

  /// A block's input: normed, or the stream itself, stored as inputs of products are.
  ValueId before(GraphBuilder& b, std::string_view label, const std::string& p, const std::string& name,
                 ValueId x) const {
    const Numerics& numerics = b.numerics();
    if (!name.empty())
      return norm_block(b, label, norm(), p + "." + name, info().d_model, x, numerics.matmul_input);
    return stored_as(b, label, x, numerics.residual, numerics.matmul_input);
  }

  /// A block's output: normed and scaled as the family wants.
  ValueId after(GraphBuilder& b, std::string_view label, const std::string& p, const std::string& name,
                ValueId x) const {
    const DType storage = b.numerics().residual;
    if (!name.empty()) x = norm_block(b, label, norm(), p + "." + name, info().d_model, x, storage);
    return spec_.residual_scale == 1.0f ? x : b.scale("residual_scale", x, spec_.residual_scale, storage);
  }

  ValueId feed_forward(GraphBuilder& b, const std::string& p, int32_t layer, ValueId x) const {
    if (spec_.feed_forward) return spec_.feed_forward(b, p, layer, x);
    return mlp_block(b, {p + ".mlp", info().d_model, info().d_ff, spec_.act, spec_.mlp_bias}, x);
  }

  Norm norm() const { return {spec_.norm_kind, spec_.norm_vectors, spec_.config.eps, spec_.norm_offset}; }

  AttentionBlock attention(const std::string& p, int32_t layer) const {
    const ModelInfo& m = info();
    AttentionBlock block{p, layer, m.d_model, m.n_heads, m.n_kv_heads, m.head_dim};
    block.qkv_bias = spec_.qkv_bias;
    block.o_bias = spec_.o_bias;
    if (spec_.qk_norm) block.qk_norm = RmsNorm{std::nullopt, spec_.config.eps, 0.0f, 1};
    block.window = spec_.config.windows[static_cast<size_t>(layer)];
    if (spec_.adjust_attention) spec_.adjust_attention(block);
    return block;
  }

  PreNormSpec spec_;
};

}  // namespace

std::unique_ptr<Model> make_pre_norm_decoder(PreNormSpec spec) {
  return std::make_unique<PreNormDecoder>(std::move(spec));
}

void read_multipliers(ConfigReader& config, PreNormSpec& spec) {
  spec.embed_scale = static_cast<float>(config.number_or("embedding_multiplier", 1.0));
  spec.residual_scale = static_cast<float>(config.number_or("residual_multiplier", 1.0));
  spec.logit_scale = static_cast<float>(1.0 / config.number_or("logits_scaling", 1.0));
  const auto scale = static_cast<float>(config.number_or("attention_multiplier", 1.0));
  spec.adjust_attention = [scale](AttentionBlock& block) { block.scale = scale; };
}

void ignore_guessing_layers(ConfigReader& config, PreNormSpec& spec) {
  const int32_t n_layers = spec.config.info.n_layers;
  const int32_t n_more = config.count_or_none("num_nextn_predict_layers");
  for (int32_t layer = n_layers; layer < n_layers + std::min(n_more, 64); ++layer) {
    spec.ignorable.push_back(
        {spec.names.layers + "." + std::to_string(layer) + ".*", "multi-token prediction is not used"});
  }
}

Result<std::unique_ptr<Model>> finish_pre_norm(const ConfigReader& config, ConfigPolicy policy,
                                               PreNormSpec spec, const Json& rope, double default_theta) {
  SKUA_RETURN_IF_ERROR(config.finish(policy));
  SKUA_ASSIGN_OR_RETURN(
      spec.angles, rope_angles_from(rope, spec.config.info.head_dim, default_theta, spec.partial_rotation));
  return make_pre_norm_decoder(std::move(spec));
}

}  // namespace skua
