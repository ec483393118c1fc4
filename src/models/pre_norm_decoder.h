// The wiring that most families share: embed; per layer x += attention(norm(x)), x += mlp(norm(x)); norm;
// logits. Norms may stand before a block, after it, or both; attention and MLP may run side by side. A family
// whose wiring differs more writes its own build().
#pragma once

#include <functional>
#include <memory>

#include "models/blocks.h"
#include "models/decoder_config.h"
#include "models/rope_scaling.h"

namespace skua {

/// Names of a layer's norms; an empty name means that there is none.
struct LayerNorms {
  std::string before_attention = "input_layernorm";
  std::string after_attention;
  std::string before_mlp = "post_attention_layernorm";
  std::string after_mlp;
};

enum class Residual : uint8_t {
  kSequential,  // x += attention(norm(x)); x += mlp(norm(x))
  kParallel,    // x += attention(norm(x)) + mlp(norm(x)); without before_mlp both share one norm
  kOneBlock,    // x += mixer(norm(x)): a layer is one block
};

/// Names outside the layers, without ".weight".
struct DecoderNames {
  std::string embed = "model.embed_tokens";
  std::string layers = "model.layers";
  std::string final_norm = "model.norm";
  std::string head = "lm_head";
};

/// A table of learned positions, added to the embedding: row position + offset.
struct LearnedPositions {
  std::string name;  // without ".weight"
  int64_t rows = 0;
  int32_t offset = 0;
};

/// What may differ between such families.
struct PreNormSpec {
  DecoderConfig config;  // its eps is that of every norm
  RopeAngles angles;     // without frequencies: nothing is rotated
  PartialRotation partial_rotation = PartialRotation::kRefused;
  std::optional<RopeAngles> sliding_angles;  // of layers with a window, if they differ
  Act act = Act::kSilu;
  bool qkv_bias = false;
  bool o_bias = false;
  bool mlp_bias = false;
  bool qk_norm = false;  // per head, before rotation
  /// The layer's attention, if it is not that of blocks.h: the same prefix.
  std::function<ValueId(GraphBuilder& b, const std::string& prefix, int32_t layer, ValueId x, ValueId angles)>
      attention;
  /// What stands in attention's place in some layers (a convolution, a scan): prefix "model.layers.3", normed
  /// input -> what is added to the stream; nothing for a layer that attends.
  std::function<std::optional<ValueId>(GraphBuilder& b, const std::string& p, int32_t layer, ValueId x)>
      mixer;
  /// The layer's feed-forward block, if it is not a plain gated MLP: prefix "model.layers.3", normed input ->
  /// what is added to the stream.
  std::function<ValueId(GraphBuilder& b, const std::string& prefix, int32_t layer, ValueId x)> feed_forward;
  /// Changes a layer's attention (its `layer` and `window` are set).
  std::function<void(AttentionBlock& block)> adjust_attention;
  Norm::Kind norm_kind = Norm::Kind::kRms;
  Norm::Vectors norm_vectors = Norm::Vectors::kWeight;
  float norm_offset = 0.0f;
  LayerNorms norms;
  Residual residual = Residual::kSequential;
  DecoderNames names;
  std::optional<LearnedPositions> positions;
  bool embed_norm = false;                 // a norm without weights after the embedding
  std::optional<int64_t> zero_token;       // whose row of the embedding is zero, whatever is stored
  std::vector<IgnorableTensor> ignorable;  // besides the common ones
  float embed_scale = 1.0f;
  float residual_scale = 1.0f;  // of what a block adds to the stream
  float logit_scale = 1.0f;
  float logit_softcap = 0.0f;
  bool head_bias = false;
};

std::unique_ptr<Model> make_pre_norm_decoder(PreNormSpec spec);

/// Granite's factors: embedding_multiplier, residual_multiplier, logits_scaling (a divisor),
/// attention_multiplier (the scores' scale). Sets adjust_attention.
void read_multipliers(ConfigReader& config, PreNormSpec& spec);

/// num_nextn_predict_layers: layers behind the last one that only guess ahead; they may be in the checkpoint.
void ignore_guessing_layers(ConfigReader& config, PreNormSpec& spec);

/// What a parse ends with: refuses keys that nobody read, makes the angles from the rope parameters (of
/// head_dim dimensions, theta as given if they have none), then the model.
Result<std::unique_ptr<Model>> finish_pre_norm(const ConfigReader& config, ConfigPolicy policy,
                                               PreNormSpec spec, const Json& rope, double default_theta);

}  // namespace skua
