// Gemma 4 text: sliding and full layers of different head sizes, values normed (on full layers made of the
// keys), the last layers may share keys and values, per-layer embeddings, one learned factor per layer; some
// models have experts beside every dense MLP.
// Sources: transformers modeling_gemma4.py and configuration_gemma4.py (5.17).
#include <cmath>

#include "models/decoder_config.h"
#include "models/families.h"
#include "models/gemma4_gguf.h"
#include "models/moe.h"
#include "models/per_layer_input.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

struct LayerShape {
  int32_t head_dim = 0;
  int32_t n_kv_heads = 0;
};

/// per_layer_config names the layers that differ; older configs give the full layers' sizes.
std::vector<LayerShape> read_shapes(ConfigReader& config, const DecoderConfig& c, Values full_values) {
  const auto global_dim = config.maybe_count("global_head_dim");
  const auto global_heads = config.maybe_count("num_global_key_value_heads");
  const Json* own = config.raw("per_layer_config");
  std::vector<LayerShape> out(c.windows.size(), {c.info.head_dim, c.info.n_kv_heads});
  if (own == nullptr) {
    for (size_t layer = 0; layer < out.size(); ++layer) {
      if (c.windows[layer] > 0) continue;
      out[layer].head_dim = global_dim.value_or(512);
      if (global_heads && full_values == Values::kAsKeys) out[layer].n_kv_heads = *global_heads;
    }
    return out;
  }
  if (!own->is_object()) {
    config.fail(
        invalid_argument("[model] per_layer_config must be an object, got " + own->dump().substr(0, 80)));
    return out;
  }
  for (const auto& [name, value] : own->members()) {
    size_t layer = out.size();
    for (size_t i = 0; i < out.size(); ++i) layer = std::to_string(i) == name ? i : layer;
    if (layer == out.size() || !value.is_object()) {
      config.fail(invalid_argument("[model] per_layer_config: \"" + name + "\" is no layer of this model"));
      return out;
    }
    ConfigReader reader(value, "per_layer_config of layer " + name);
    out[layer].head_dim = reader.count_or("head_dim", c.info.head_dim);
    out[layer].n_kv_heads = reader.count_or("num_key_value_heads", c.info.n_kv_heads);
    config.fail(reader.finish(ConfigPolicy::kStrict));
  }
  return out;
}

class Gemma4 final : public Model {
 public:
  static Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
    auto model = std::make_unique<Gemma4>();
    ConfigReader config(json);
    DecoderConfig& c = model->config_;
    c = read_decoder_config(config, {.head_dim = 256, .n_kv_heads = 4});
    c.tied = config.flag_or("tie_word_embeddings", true);
    model->act_ = read_act(config, "hidden_activation", "gelu_pytorch_tanh");
    model->attention_bias_ = config.flag_or("attention_bias", false);
    model->softcap_ = static_cast<float>(config.number_or("final_logit_softcapping", 0.0));
    if (config.flag_or("attention_k_eq_v", false)) model->full_values_ = Values::kAsKeys;
    if (config.text_or("use_bidirectional_attention", "vision") != "vision") {  // concerns image tokens only
      config.must_be("use_bidirectional_attention", Json("vision"));
    }
    model->read_experts(config);
    config.ignore({"hidden_act"});
    read_windows(config, c, config.count_or("sliding_window", 512),
                 [&](int32_t layer) { return (layer + 1) % 6 != 0; });
    model->shapes_ = read_shapes(config, c, model->full_values_);
    model->source_ = read_key_sources(config, c, 0);
    if (config.flag_or("use_double_wide_mlp", false)) model->shared_d_ff_ = 2 * c.info.d_ff;
    const bool sized = config.raw("hidden_size_per_layer_input") != nullptr;
    const int32_t width = sized ? config.count_or_none("hidden_size_per_layer_input") : 256;
    const int32_t n_rows = config.count_or("vocab_size_per_layer_input", 262144);
    model->per_layer_ = {c.info.n_layers, width, n_rows, c.info.d_model, c.eps, model->act_};
    LayerRope rope = read_layer_rope(config, 10000.0);
    if (rope.full.members().empty()) {
      rope.full.set("rope_type", Json("proportional"));
      rope.full.set("partial_rotary_factor", Json(0.25));
    }
    SKUA_RETURN_IF_ERROR(config.finish(policy));
    for (size_t layer = 0; layer < c.windows.size(); ++layer) {
      const bool slides = c.windows[layer] > 0;
      RopeAngles& angles = slides ? model->sliding_angles_ : model->full_angles_;
      SKUA_ASSIGN_OR_RETURN(angles, rope_angles_from(slides ? rope.sliding : rope.full,
                                                     model->shapes_[layer].head_dim, slides ? 1e4 : 1e6));
    }
    return std::unique_ptr<Model>(std::move(model));
  }

  const ModelInfo& info() const override { return config_.info; }
  std::vector<IgnorableTensor> ignorable() const override {
    std::vector<IgnorableTensor> out = common_ignorable(config_.tied);
    for (int32_t layer = 0; layer < config_.info.n_layers; ++layer) {
      if (!shares(layer)) continue;
      for (const char* name : {"k_proj.*", "v_proj.*", "k_norm.*"}) {
        out.push_back({"model.layers." + std::to_string(layer) + ".self_attn." + name, "keys are shared"});
      }
    }
    return out;
  }

  Result<Graph> build(const Numerics& numerics) const override {
    const ModelInfo& m = config_.info;
    GraphBuilder b(numerics);
    const auto embed_scale = static_cast<float>(std::sqrt(static_cast<double>(m.d_model)));
    ValueId x = b.embed(b.weight("model.embed_tokens.weight", m.n_vocab, m.d_model), embed_scale);
    ValueId vectors = x;
    if (per_layer_.width > 0) vectors = per_layer_vectors(b, per_layer_, x);
    const bool any_sliding = !sliding_angles_.inv_freq.empty(), any_full = !full_angles_.inv_freq.empty();
    const ValueId full = any_full ? b.rope_angles("rope_full", full_angles_) : x;
    const ValueId sliding = any_sliding ? b.rope_angles("rope_sliding", sliding_angles_) : x;
    std::vector<SlotId> slots;
    for (int32_t layer = 0; layer < m.n_layers; ++layer) {
      b.set_scope("layers." + std::to_string(layer));
      const bool slides = config_.windows[static_cast<size_t>(layer)] > 0;
      x = run_layer(b, layer, x, slides ? sliding : full, vectors, slots);
    }
    b.set_scope("");
    x = norm_block(b, "final_norm", {.eps = config_.eps}, "model.norm", m.d_model, x, numerics.matmul_input);
    return b.finish(head_block(b, {m.d_model, m.n_vocab, config_.tied, softcap_}, x));
  }

 private:
  void read_experts(ConfigReader& config) {
    MoeBlock moe;
    moe.d_model = config_.info.d_model;
    moe.act = act_;
    if (!config.flag_or("enable_moe_block", false)) {
      config.ignore({"moe_intermediate_size", "num_experts", "top_k_experts"});
      return;
    }
    moe.d_ff = config.count("moe_intermediate_size");
    moe.n_experts = config.count("num_experts");
    moe.router.top_k = config.count("top_k_experts");
    moe.router.normalize = MoeRouter::Normalize::kYes;
    moe.names.stacked = "experts.switch_glu";
    experts_ = moe;
  }

  /// Routed experts beside the dense MLP, whose result is `dense`: each has a norm of its own; router and
  /// experts look at the stream `x` itself.
  ValueId add_experts(GraphBuilder& b, const std::string& p, ValueId x, ValueId dense) const {
    const ModelInfo& m = config_.info;
    const auto norm = [&](const char* label, const char* name, ValueId in, DType storage) {
      return norm_block(b, label, {.eps = config_.eps}, p + "." + name, m.d_model, in, storage);
    };
    MoeBlock block = *experts_;
    block.prefix = p;
    MoeRouter router = block.router;
    router.weight = router_weight(b, p + ".router.proj.weight", block.n_experts, m.d_model);
    router.expert_scale = b.vector(p + ".router.per_expert_scale", block.n_experts);
    ValueId seen = b.rms_norm("router_norm", x,
                              {b.vector(p + ".router.scale", m.d_model), config_.eps, 0.0f, 1}, DType::kF32);
    seen = b.scale("router_scale", seen, static_cast<float>(1.0 / std::sqrt(static_cast<double>(m.d_model))),
                   b.numerics().matmul_input);
    const ValueId routing = b.moe_router("route", seen, router);
    ValueId y = norm("experts_norm", "pre_feedforward_layernorm_2", x, b.numerics().matmul_input);
    y = expert_block(b, block, y, routing);
    y = norm("experts_post_norm", "post_feedforward_layernorm_2", y, DType::kF32);
    dense = norm("dense_post_norm", "post_feedforward_layernorm_1", dense, DType::kF32);
    return b.add("experts_add", dense, y, DType::kF32);
  }

  bool shares(int32_t layer) const { return source_[static_cast<size_t>(layer)] != layer; }

  ValueId run_layer(GraphBuilder& b, int32_t layer, ValueId x, ValueId angles, ValueId vectors,
                    std::vector<SlotId>& slots) const {
    const ModelInfo& m = config_.info;
    const Numerics& numerics = b.numerics();
    const std::string p = "model.layers." + std::to_string(layer);
    const auto norm = [&](const char* label, const char* name, ValueId in, DType storage) {
      return norm_block(b, label, {.eps = config_.eps}, p + "." + name, m.d_model, in, storage);
    };
    AttentionBlock block = attention(p, layer);
    block.slot = block.keys == Keys::kShared ? slots[static_cast<size_t>(source_[static_cast<size_t>(layer)])]
                                             : attention_slot(b, block);
    slots.push_back(*block.slot);
    ValueId y = norm("attn_norm", "input_layernorm", x, numerics.matmul_input);
    y = attention_block(b, block, y, angles);
    y = norm("attn_post_norm", "post_attention_layernorm", y, numerics.residual);
    x = b.add("attn_add", x, y, numerics.residual);
    y = norm("mlp_norm", "pre_feedforward_layernorm", x, numerics.matmul_input);
    const int32_t d_ff = shares(layer) && shared_d_ff_ > 0 ? shared_d_ff_ : m.d_ff;
    y = mlp_block(b, {p + ".mlp", m.d_model, d_ff, act_, false}, y);
    if (experts_) y = add_experts(b, p, x, y);
    y = norm("mlp_post_norm", "post_feedforward_layernorm", y, numerics.residual);
    x = b.add("mlp_add", x, y, numerics.residual);
    if (per_layer_.width > 0) {
      y = per_layer_block(b, per_layer_, p, layer, x, vectors);
      x = b.add("per_layer_block_add", x, y, numerics.residual);
    }
    return b.scale_by("layer_scalar", x, b.vector(p + ".layer_scalar", 1), numerics.residual);
  }

  AttentionBlock attention(const std::string& p, int32_t layer) const {
    const auto at = static_cast<size_t>(layer);
    const ModelInfo& m = config_.info;
    AttentionBlock block{p + ".self_attn",    layer, m.d_model, m.n_heads, shapes_[at].n_kv_heads,
                         shapes_[at].head_dim};
    block.qkv_bias = block.o_bias = attention_bias_;
    block.qk_norm = RmsNorm{std::nullopt, config_.eps, 0.0f, 1};
    block.v_norm_eps = config_.eps;
    block.scale = 1.0f;
    block.window = config_.windows[at];
    if (block.window == 0) block.values = full_values_;
    if (shares(layer)) block.keys = Keys::kShared;
    return block;
  }

  DecoderConfig config_;
  PerLayerInputs per_layer_;
  RopeAngles full_angles_, sliding_angles_;
  std::vector<LayerShape> shapes_;  // by layer
  std::vector<int32_t> source_;     // by layer: whose keys it reads
  int32_t shared_d_ff_ = 0;         // of layers that share keys; 0 = as the others
  Values full_values_ = Values::kProjected;
  Act act_ = Act::kGeluTanh;
  std::optional<MoeBlock> experts_;
  float softcap_ = 0.0f;
  bool attention_bias_ = false;
};

constexpr std::string_view kTypes[] = {"gemma4_text"};

}  // namespace

extern const Family kGemma4;
const Family kGemma4{"gemma4",
                     kTypes,
                     "gemma4",
                     GgufRows::kPlain,
                     &Gemma4::parse,
                     nullptr,
                     {.tensors = kGemma4GgufTensors, .keys = kGemma4GgufKeys, .adjust = &adjust_gemma4}};

}  // namespace skua
