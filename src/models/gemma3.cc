// Gemma 3 text: sliding and global layers with their own rotations, norms before and after each block, norm
// weights stored as w - 1, embeddings scaled by sqrt(d_model). Sources: transformers modeling_gemma3.py and
// configuration_gemma3.py (5.x); arXiv:2503.19786.
#include <cmath>

#include "models/blocks.h"
#include "models/decoder_config.h"
#include "models/families.h"
#include "models/gguf_values.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

class Gemma3 final : public Model {
 public:
  static Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
    auto model = std::make_unique<Gemma3>();
    ConfigReader config(json);
    DecoderConfig& c = model->config_;
    c = read_decoder_config(config, {.head_dim = 256, .n_kv_heads = 4});
    c.tied = config.flag_or("tie_word_embeddings", true);
    model->act_ = read_act(config, "hidden_activation", "gelu_pytorch_tanh");
    config.must_be("attention_bias", Json(false));
    config.must_be("use_bidirectional_attention", Json(false));
    config.ignore({"hidden_act"});
    model->query_scale_ =
        static_cast<float>(1.0 / std::sqrt(config.positive_or("query_pre_attn_scalar", 256.0)));
    config.must_be("attn_logit_softcapping", Json());  // the reference reads it and does nothing with it
    model->final_softcap_ = static_cast<float>(config.number_or("final_logit_softcapping", 0.0));
    // Converters to GGUF add the 1.
    model->norm_offset_ = config.flag_or(kGgufConfig, false) ? 0.0f : 1.0f;
    const int32_t pattern =
        config.count_or("sliding_window_pattern", config.count_or("_sliding_window_pattern", 6));
    read_windows(config, c, config.count_or("sliding_window", 4096),
                 [&](int32_t layer) { return (layer + 1) % pattern != 0; });
    const LayerRope rope = read_layer_rope(config, config.number_or("rope_local_base_freq", 10000.0));
    SKUA_RETURN_IF_ERROR(config.finish(policy));
    SKUA_ASSIGN_OR_RETURN(model->global_angles_, rope_angles_from(rope.full, c.info.head_dim, 1e6));
    SKUA_ASSIGN_OR_RETURN(model->sliding_angles_, rope_angles_from(rope.sliding, c.info.head_dim, 1e4));
    return std::unique_ptr<Model>(std::move(model));
  }

  const ModelInfo& info() const override { return config_.info; }
  std::vector<IgnorableTensor> ignorable() const override { return common_ignorable(config_.tied); }

  Result<Graph> build(const Numerics& numerics) const override {
    const ModelInfo& m = config_.info;
    GraphBuilder b(numerics);
    const auto embed_scale = static_cast<float>(std::sqrt(static_cast<double>(m.d_model)));
    ValueId x = b.embed(b.weight("model.embed_tokens.weight", m.n_vocab, m.d_model), embed_scale);
    const ValueId global = b.rope_angles("rope_global", global_angles_);
    const ValueId sliding = b.rope_angles("rope_sliding", sliding_angles_);
    for (int32_t layer = 0; layer < m.n_layers; ++layer) {
      const std::string p = "model.layers." + std::to_string(layer);
      b.set_scope("layers." + std::to_string(layer));
      const bool slides = config_.windows[static_cast<size_t>(layer)] > 0;
      ValueId y = b.rms_norm("attn_norm", x, norm(b, p + ".input_layernorm.weight"), numerics.matmul_input);
      y = attention_block(b, attention(p, layer), y, slides ? sliding : global);
      y = b.rms_norm("attn_post_norm", y, norm(b, p + ".post_attention_layernorm.weight"), numerics.residual);
      x = b.add("attn_add", x, y, numerics.residual);
      y = b.rms_norm("mlp_norm", x, norm(b, p + ".pre_feedforward_layernorm.weight"), numerics.matmul_input);
      y = mlp_block(b, {p + ".mlp", m.d_model, m.d_ff, act_, false}, y);
      y = b.rms_norm("mlp_post_norm", y, norm(b, p + ".post_feedforward_layernorm.weight"),
                     numerics.residual);
      x = b.add("mlp_add", x, y, numerics.residual);
    }
    b.set_scope("");
    x = b.rms_norm("final_norm", x, norm(b, "model.norm.weight"), numerics.matmul_input);
    return b.finish(head_block(b, {m.d_model, m.n_vocab, config_.tied, final_softcap_}, x));
  }

 private:
  RmsNorm norm(GraphBuilder& b, const std::string& name) const {
    return {b.vector(name, config_.info.d_model), config_.eps, norm_offset_, 1};
  }

  AttentionBlock attention(const std::string& p, int32_t layer) const {
    const ModelInfo& m = config_.info;
    AttentionBlock block{p + ".self_attn", layer, m.d_model, m.n_heads, m.n_kv_heads, m.head_dim};
    block.qk_norm = RmsNorm{std::nullopt, config_.eps, norm_offset_, 1};
    block.scale = query_scale_;
    block.window = config_.windows[static_cast<size_t>(layer)];
    return block;
  }

  DecoderConfig config_;
  RopeAngles global_angles_, sliding_angles_;
  Act act_ = Act::kGeluTanh;
  float query_scale_ = 0.0f;
  float final_softcap_ = 0.0f;
  float norm_offset_ = 1.0f;
};

/// The 27B model alone has 62 layers.
Status adjust(const Json&, Json& config) { return set_gemma_query_scale(config, 62); }

constexpr std::string_view kTypes[] = {"gemma3_text"};

}  // namespace

extern const Family kGemma3;
const Family kGemma3{"gemma3", kTypes, "gemma3", GgufRows::kPlain, &Gemma3::parse, &adjust};

}  // namespace skua
