// Per-layer embeddings, as two families have them.
#include "models/per_layer_input.h"

#include <cmath>

namespace skua {

ValueId per_layer_vectors(GraphBuilder& b, const PerLayerInputs& inputs, ValueId x) {
  const int64_t all = int64_t{inputs.n_layers} * inputs.width;
  const DType f32 = DType::kF32;
  const auto root = [](int32_t n) { return std::sqrt(static_cast<double>(n)); };
  const WeightId table = b.weight("model.embed_tokens_per_layer.weight", inputs.n_vocab, all);
  const ValueId own = b.embed(
      "per_layer_embed", {table, static_cast<float>(root(inputs.width)), EmbedIndex::kIdsOrZero, 0}, f32);
  const ValueId input = stored_as(b, "per_layer_input", x, b.numerics().residual, b.numerics().matmul_input);
  ValueId y =
      b.linear("per_layer_projection", input,
               {b.weight("model.per_layer_model_projection.weight", all, inputs.d_model), std::nullopt}, f32);
  y = b.scale("per_layer_scale", y, static_cast<float>(1.0 / root(inputs.d_model)), f32);
  const WeightId norm = b.vector("model.per_layer_projection_norm.weight", inputs.width);
  y = b.rms_norm("per_layer_norm", y, {norm, inputs.eps, 0.0f, inputs.n_layers}, f32);
  return b.scale("per_layer", b.add("per_layer_add", y, own, f32), static_cast<float>(std::sqrt(0.5)), f32);
}

ValueId per_layer_block(GraphBuilder& b, const PerLayerInputs& inputs, const std::string& prefix,
                        int32_t layer, ValueId x, ValueId vectors) {
  const Numerics& numerics = b.numerics();
  const ValueId input = stored_as(b, "per_layer_input", x, numerics.residual, numerics.matmul_input);
  const ValueId gate = b.linear(
      "per_layer_gate", input,
      {b.weight(prefix + ".per_layer_input_gate.weight", inputs.width, inputs.d_model), std::nullopt},
      DType::kF32);
  const ValueId own =
      b.slice("per_layer_vector", vectors, {int64_t{layer} * inputs.width, inputs.width}, DType::kF32);
  const ValueId hidden = b.act_mul("per_layer_act", gate, own, inputs.act, numerics.matmul_input);
  const ValueId y = b.linear(
      "per_layer_out", hidden,
      {b.weight(prefix + ".per_layer_projection.weight", inputs.d_model, inputs.width), std::nullopt},
      DType::kF32);
  const WeightId norm = b.vector(prefix + ".post_per_layer_input_norm.weight", inputs.d_model);
  return b.rms_norm("per_layer_post_norm", y, {norm, inputs.eps, 0.0f, 1}, numerics.residual);
}

}  // namespace skua
