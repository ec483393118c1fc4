// Gemma 3n text: four streams that AltUp predicts and corrects around each layer, a low-rank residual
// (Laurel), per-layer embeddings, sparse gates in the first layers, shared keys and values in the last ones.
// Sources: transformers modeling_gemma3n.py and configuration_gemma3n.py (5.17); arXiv:2301.13310 (AltUp).
#include <cmath>

#include "models/decoder_config.h"
#include "models/families.h"
#include "models/per_layer_input.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

/// z with P(normal <= z) = p, by bisection.
double normal_quantile(double p) {
  double low = -40, high = 40;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < p ? low : high) = middle;
  }
  return low;
}

/// A number per layer: a list, one number for all, or nothing.
std::vector<double> read_per_layer(ConfigReader& config, std::string_view key, size_t n_layers,
                                   std::vector<double> fallback) {
  const Json* value = config.raw(key);
  if (value == nullptr) return fallback;
  if (value->is_number()) return std::vector<double>(n_layers, value->as_double());
  std::vector<double> out;
  for (const Json& item : value->items()) out.push_back(item.is_number() ? item.as_double() : -1);
  if (out.size() == n_layers) return out;
  config.fail(invalid_argument("[model] config.json: " + std::string(key) + " must name every layer"));
  return fallback;
}

class Gemma3n final : public Model {
 public:
  static Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
    auto model = std::make_unique<Gemma3n>();
    Json first = json;  // the sizes' reader wants one intermediate size; those of the layers are read below
    const Json* d_ff = json.find("intermediate_size");
    if (d_ff != nullptr && d_ff->is_array() && d_ff->size() > 0)
      first.set("intermediate_size", d_ff->items()[0]);
    ConfigReader config(first), original(json);
    DecoderConfig& c = model->config_;
    c = read_decoder_config(config, {.head_dim = 256, .n_kv_heads = 2});
    c.tied = config.flag_or("tie_word_embeddings", true);
    const size_t n_layers = c.windows.size();
    for (double size : read_per_layer(original, "intermediate_size", n_layers, {})) {
      if (!(size >= 1 && size <= INT32_MAX))
        config.fail(invalid_argument("[model] an intermediate_size is no count"));
      model->d_ff_.push_back(static_cast<int32_t>(size));
    }
    config.fail(original.finish(ConfigPolicy::kAllowUnknown));
    std::vector<double> sparsity(n_layers, 0.0);
    for (size_t layer = 0; n_layers > 10 && layer < 10; ++layer) sparsity[layer] = 0.95;
    for (double p : read_per_layer(config, "activation_sparsity_pattern", n_layers, sparsity)) {
      if (!(p >= 0 && p < 1))
        config.fail(invalid_argument("[model] an activation sparsity is not in [0, 1)"));
      model->cutoff_.push_back(p > 0 ? static_cast<float>(normal_quantile(p)) : 0.0f);
    }
    model->act_ = read_act(config, "hidden_activation", "gelu_pytorch_tanh");
    config.must_be("attention_bias", Json(false));
    config.ignore({"hidden_act", "altup_coef_clip"});  // the clip is for training
    model->softcap_ = static_cast<float>(config.number_or("final_logit_softcapping", 30.0));
    model->n_streams_ = config.count_or("altup_num_inputs", 4);
    model->active_ = static_cast<int32_t>(config.number_or("altup_active_idx", 0));
    if (model->n_streams_ > 64 || model->active_ < 0 || model->active_ >= model->n_streams_) {
      config.fail(invalid_argument("[model] altup_num_inputs or altup_active_idx is out of range"));
    }
    model->scales_correction_ = config.flag_or("altup_correct_scale", true);
    model->laurel_rank_ = config.count_or("laurel_rank", 64);
    read_windows(config, c, config.count_or("sliding_window", 512),
                 [](int32_t layer) { return (layer + 1) % 5 != 0; });
    model->source_ = read_key_sources(config, c, 15);
    model->per_layer_ = {c.info.n_layers,
                         config.count_or("hidden_size_per_layer_input", 256),
                         config.count_or("vocab_size_per_layer_input", 262144),
                         c.info.d_model,
                         c.eps,
                         model->act_};
    const LayerRope rope = read_layer_rope(config, config.number_or("rope_local_base_freq", 10000.0));
    SKUA_RETURN_IF_ERROR(config.finish(policy));
    SKUA_ASSIGN_OR_RETURN(model->full_angles_, rope_angles_from(rope.full, c.info.head_dim, 1e6));
    SKUA_ASSIGN_OR_RETURN(model->sliding_angles_, rope_angles_from(rope.sliding, c.info.head_dim, 1e4));
    return std::unique_ptr<Model>(std::move(model));
  }

  const ModelInfo& info() const override { return config_.info; }
  std::vector<IgnorableTensor> ignorable() const override {
    std::vector<IgnorableTensor> out = common_ignorable(config_.tied);
    for (int32_t layer = 0; layer < config_.info.n_layers; ++layer) {
      if (source_[static_cast<size_t>(layer)] == layer) continue;
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
    std::vector<ValueId> x{b.embed(b.weight("model.embed_tokens.weight", m.n_vocab, m.d_model), embed_scale)};
    const ValueId vectors = per_layer_vectors(b, per_layer_, x[0]);
    for (int32_t i = 1; i < n_streams_; ++i)
      x.push_back(projected_stream(b, "altup_projections", i, x[0], x[0]));
    const ValueId full = b.rope_angles("rope_full", full_angles_);
    const ValueId sliding = b.rope_angles("rope_sliding", sliding_angles_);
    std::vector<SlotId> slots;
    for (int32_t layer = 0; layer < m.n_layers; ++layer) {
      b.set_scope("layers." + std::to_string(layer));
      run_layer(b, layer, x, config_.windows[static_cast<size_t>(layer)] > 0 ? sliding : full, vectors,
                slots);
    }
    b.set_scope("");
    ValueId sum = x[0];
    for (int32_t i = 1; i < n_streams_; ++i) {
      const ValueId y = projected_stream(b, "altup_unembed_projections", i, x[static_cast<size_t>(i)], x[0]);
      sum = b.add("stream_sum", sum, y, numerics.residual);
    }
    sum = b.scale("stream_mean", sum, 1.0f / static_cast<float>(n_streams_), numerics.residual);
    sum = norm_block(b, "final_norm", {.eps = config_.eps}, "model.norm", m.d_model, sum,
                     numerics.matmul_input);
    return b.finish(head_block(b, {m.d_model, m.n_vocab, config_.tied, softcap_}, sum));
  }

 private:
  ValueId input(GraphBuilder& b, ValueId x) const {
    return stored_as(b, "matmul_input", x, b.numerics().residual, b.numerics().matmul_input);
  }

  ValueId linear(GraphBuilder& b, std::string_view label, const std::string& name, int64_t out, int64_t in,
                 ValueId x, DType storage = DType::kF32) const {
    return b.linear(label, x, {b.weight(name + ".weight", out, in), std::nullopt}, storage);
  }

  /// Stream i made of x, as large as `like`.
  ValueId projected_stream(GraphBuilder& b, const char* name, int32_t i, ValueId x, ValueId like) const {
    const int64_t d = config_.info.d_model;
    const std::string stem = std::string("model.") + name, own = stem + "." + std::to_string(i - 1);
    // One tensor for each stream or, in GGUF files, for all of them.
    const BlockSource single{{own + ".weight"}, 1, d, d};
    const BlockSource stacked{{stem + ".weight"}, 1, (n_streams_ - 1) * d, d, (i - 1) * d};
    const WeightId weight = b.weight({own + ".weight", d, d, {single, stacked}, std::nullopt});
    const ValueId y = b.linear(name, input(b, x), {weight, std::nullopt}, DType::kF32);
    return b.match_magnitude("matched", y, like, {1e-5f}, b.numerics().residual);
  }

  /// tanh of the router's view of x: coefficients of the streams are linear in it.
  ValueId modalities(GraphBuilder& b, const std::string& p, ValueId x) const {
    const int32_t d = config_.info.d_model;
    ValueId y = norm_block(b, "router_norm", {.eps = config_.eps}, p + ".router_norm", d, x, DType::kF32);
    y = b.scale("router_scale", y, 1.0f / static_cast<float>(d), b.numerics().matmul_input);
    y = linear(b, "router", p + ".modality_router", n_streams_, d, y);
    return b.softcap("modalities", y, 1.0f, b.numerics().matmul_input);
  }

  void run_layer(GraphBuilder& b, int32_t layer, std::vector<ValueId>& x, ValueId angles, ValueId vectors,
                 std::vector<SlotId>& slots) const {
    const std::string p = "model.layers." + std::to_string(layer);
    const int64_t n = n_streams_;
    const auto active = static_cast<size_t>(active_);
    const DType stream = b.numerics().residual;
    ValueId coefficients = linear(b, "prediction_coefs", p + ".altup.prediction_coefs", n * n, n,
                                  modalities(b, p + ".altup", x[active]));
    std::vector<ValueId> predicted;
    for (int64_t i = 0; i < n; ++i) {
      const ValueId mixed = b.weighted_sum("mixed", coefficients, x, {i * n, 0.0f}, DType::kF32);
      predicted.push_back(b.add("predicted", mixed, x[static_cast<size_t>(i)], stream));
    }
    const ValueId y = decoder_layer(b, layer, predicted[active], angles, slots);
    const ValueId innovation =
        b.add("innovation", y, b.scale("minus", predicted[active], -1.0f, stream), stream);
    coefficients =
        linear(b, "correction_coefs", p + ".altup.correction_coefs", n, n, modalities(b, p + ".altup", y));
    for (int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<size_t>(i);
      const ValueId step = b.weighted_sum("correction", coefficients, {innovation}, {i, 1.0f}, DType::kF32);
      x[at] = b.add("corrected", step, predicted[at], stream);
    }
    ValueId first = x[active];
    if (scales_correction_) {
      const WeightId scale = b.vector(p + ".altup.correct_output_scale", config_.info.d_model);
      first = b.scale_by("correct_scale", first, scale, stream);
    }
    const ValueId own = per_layer_block(b, per_layer_, p, layer, first, vectors);
    for (size_t i = 1; i < x.size(); ++i) x[i] = b.add("per_layer_add", x[i], own, stream);
  }

  /// Attention with Laurel beside it, then the MLP, of the active stream.
  ValueId decoder_layer(GraphBuilder& b, int32_t layer, ValueId x, ValueId angles,
                        std::vector<SlotId>& slots) const {
    const ModelInfo& m = config_.info;
    const DType stream = b.numerics().residual, matmul_input = b.numerics().matmul_input;
    const std::string p = "model.layers." + std::to_string(layer);
    const auto norm = [&](const char* label, const std::string& name, ValueId in, DType storage) {
      return norm_block(b, label, {.eps = config_.eps}, p + "." + name, m.d_model, in, storage);
    };
    const ValueId normed = norm("attn_norm", "input_layernorm", x, matmul_input);
    ValueId laurel =
        linear(b, "laurel_left", p + ".laurel.linear_left", laurel_rank_, m.d_model, normed, matmul_input);
    laurel = linear(b, "laurel_right", p + ".laurel.linear_right", m.d_model, laurel_rank_, laurel);
    laurel = b.add("laurel", normed, norm("laurel_norm", "laurel.post_laurel_norm", laurel, stream), stream);
    ValueId y = attention_block(b, attention(b, p, layer, slots), normed, angles);
    y = b.add("attn_add", x, norm("attn_post_norm", "post_attention_layernorm", y, stream), stream);
    y = b.scale("laurel_scale", b.add("laurel_add", y, laurel, stream), static_cast<float>(std::sqrt(0.5)),
                stream);
    const ValueId hidden = norm("mlp_norm", "pre_feedforward_layernorm", y, matmul_input);
    const int32_t d_ff = d_ff_[static_cast<size_t>(layer)];
    const float cutoff = cutoff_[static_cast<size_t>(layer)];
    ValueId gate = linear(b, "gate", p + ".mlp.gate_proj", d_ff, m.d_model, hidden);
    const ValueId up = linear(b, "up", p + ".mlp.up_proj", d_ff, m.d_model, hidden);
    if (cutoff != 0.0f) gate = b.cutoff("gate_cutoff", gate, cutoff, DType::kF32);
    const ValueId down = linear(b, "down", p + ".mlp.down_proj", m.d_model, d_ff,
                                b.act_mul("act", gate, up, act_, matmul_input));
    return b.add("mlp_add", y, norm("mlp_post_norm", "post_feedforward_layernorm", down, stream), stream);
  }

  AttentionBlock attention(GraphBuilder& b, const std::string& p, int32_t layer,
                           std::vector<SlotId>& slots) const {
    const ModelInfo& m = config_.info;
    const int32_t source = source_[static_cast<size_t>(layer)];
    AttentionBlock block{p + ".self_attn", layer, m.d_model, m.n_heads, m.n_kv_heads, m.head_dim};
    block.qk_norm = RmsNorm{std::nullopt, config_.eps, 0.0f, 1};
    block.v_norm_eps = config_.eps;
    block.scale = 1.0f;
    block.window = config_.windows[static_cast<size_t>(layer)];
    block.keys = source == layer ? Keys::kOwn : Keys::kShared;
    block.slot = source == layer ? attention_slot(b, block) : slots[static_cast<size_t>(source)];
    slots.push_back(*block.slot);
    return block;
  }

  DecoderConfig config_;
  PerLayerInputs per_layer_;
  RopeAngles full_angles_, sliding_angles_;
  std::vector<int32_t> d_ff_;    // by layer
  std::vector<float> cutoff_;    // by layer: standard deviations, 0 = none
  std::vector<int32_t> source_;  // by layer: whose keys it reads
  int32_t n_streams_ = 4;
  int32_t active_ = 0;
  int32_t laurel_rank_ = 0;
  bool scales_correction_ = true;
  Act act_ = Act::kGeluTanh;
  float softcap_ = 0.0f;
};

constexpr std::string_view kTypes[] = {"gemma3n_text"};

/// The files hold the number of standard deviations (minus infinity: none) where configs have the part that
/// they cut off; some sizes are those of tensors.
Status adjust(const Checkpoint& file, Json& config) {
  const Json* scales = file.config().find("gemma3n.activation_sparsity_scale");
  if (scales != nullptr && !scales->is_array())
    return invalid_argument("[gguf] gemma3n.activation_sparsity_scale must be a list");
  Json pattern = Json::array();
  for (size_t i = 0; scales != nullptr && i < scales->size(); ++i) {
    const Json& scale = scales->items()[i];
    const double z = scale.is_number() ? scale.as_double() : -INFINITY;
    pattern.push_back(Json(std::isfinite(z) ? 0.5 * std::erfc(-z / std::sqrt(2.0)) : 0.0));
  }
  if (scales != nullptr) config.set("activation_sparsity_pattern", std::move(pattern));
  const TensorEntry* laurel = file.find("blk.0.laurel_l.weight");
  const TensorEntry* table = file.find("per_layer_token_embd.weight");
  if (laurel == nullptr || table == nullptr || laurel->shape.size() != 2 || table->shape.size() != 2)
    return data_loss("[gguf] blk.0.laurel_l.weight or per_layer_token_embd.weight is missing");
  config.set("laurel_rank", Json(laurel->shape[0]));
  config.set("vocab_size_per_layer_input", Json(table->shape[0]));
  return ok_status();
}

constexpr GgufName kGgufTensors[] = {{"altup_proj", "model.altup_projections"},
                                     {"altup_unembd_proj", "model.altup_unembed_projections"},
                                     {"per_layer_token_embd", "model.embed_tokens_per_layer"},
                                     {"per_layer_model_proj", "model.per_layer_model_projection"},
                                     {"per_layer_proj_norm", "model.per_layer_projection_norm"},
                                     {"inp_gate", "per_layer_input_gate"},
                                     {"proj", "per_layer_projection"},
                                     {"post_norm", "post_per_layer_input_norm"},
                                     {"altup_correct_coef", "altup.correction_coefs"},
                                     {"altup_correct_scale.weight", "altup.correct_output_scale"},
                                     {"altup_predict_coef", "altup.prediction_coefs"},
                                     {"altup_router", "altup.modality_router"},
                                     {"altup_router_norm", "altup.router_norm"},
                                     {"laurel_l", "laurel.linear_left"},
                                     {"laurel_r", "laurel.linear_right"},
                                     {"laurel_post_norm", "laurel.post_laurel_norm"}};
constexpr GgufName kGgufKeys[] = {{"altup.active_idx", "altup_active_idx"},
                                  {"altup.num_inputs", "altup_num_inputs"},
                                  {"activation_sparsity_scale", ""},
                                  {"attention.shared_kv_layers", "num_kv_shared_layers"},
                                  {"attention.sliding_window_pattern", "layer_types"},
                                  {"embedding_length_per_layer_input", "hidden_size_per_layer_input"}};

}  // namespace

extern const Family kGemma3n;
const Family kGemma3n{"gemma3n",
                      kTypes,
                      "gemma3n",
                      GgufRows::kPlain,
                      &Gemma3n::parse,
                      nullptr,
                      {.tensors = kGgufTensors, .keys = kGgufKeys, .adjust = &adjust}};

}  // namespace skua
