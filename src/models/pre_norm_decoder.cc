// Builds the graph of pre-norm decoders.
#include "models/pre_norm_decoder.h"

namespace skua {
namespace {

class PreNormDecoder final : public Model {
 public:
  explicit PreNormDecoder(PreNormSpec spec) : spec_(std::move(spec)) {}

  const ModelInfo& info() const override { return spec_.config.info; }
  std::vector<IgnorableTensor> ignorable() const override { return common_ignorable(spec_.config.tied); }

  Result<Graph> build(const Numerics& numerics) const override {
    const ModelInfo& m = info();
    GraphBuilder b(numerics);
    ValueId x = b.embed(b.weight("model.embed_tokens.weight", m.n_vocab, m.d_model));
    const ValueId angles = b.rope_angles("rope", spec_.angles);
    for (int32_t layer = 0; layer < m.n_layers; ++layer) {
      const std::string p = "model.layers." + std::to_string(layer);
      b.set_scope("layers." + std::to_string(layer));
      ValueId y = b.rms_norm("attn_norm", x, norm(b, p + ".input_layernorm.weight"), numerics.matmul_input);
      y = attention_block(b, attention(p, layer), y, angles);
      x = b.add("attn_add", x, y, numerics.residual);
      y = b.rms_norm("mlp_norm", x, norm(b, p + ".post_attention_layernorm.weight"), numerics.matmul_input);
      y = mlp_block(b, {p + ".mlp", m.d_model, m.d_ff, spec_.act, spec_.mlp_bias}, y);
      x = b.add("mlp_add", x, y, numerics.residual);
    }
    b.set_scope("");
    x = b.rms_norm("final_norm", x, norm(b, "model.norm.weight"), numerics.matmul_input);
    return b.finish(head_block(b, {m.d_model, m.n_vocab, spec_.config.tied, 0.0f}, x));
  }

 private:
  RmsNorm norm(GraphBuilder& b, const std::string& name) const {
    return {b.vector(name, info().d_model), spec_.config.eps, 0.0f, 1};
  }

  AttentionBlock attention(const std::string& p, int32_t layer) const {
    const ModelInfo& m = info();
    AttentionBlock block{p + ".self_attn", layer, m.d_model, m.n_heads, m.n_kv_heads, m.head_dim};
    block.qkv_bias = spec_.qkv_bias;
    block.o_bias = spec_.o_bias;
    if (spec_.qk_norm) block.qk_norm = RmsNorm{WeightId(0), spec_.config.eps, 0.0f, 1};
    block.window = spec_.config.windows[static_cast<size_t>(layer)];
    return block;
  }

  PreNormSpec spec_;
};

}  // namespace

std::unique_ptr<Model> make_pre_norm_decoder(PreNormSpec spec) {
  return std::make_unique<PreNormDecoder>(std::move(spec));
}

}  // namespace skua
