// Rotation frequencies from a config, in both spellings (rope_parameters; rope_theta with rope_scaling).
#pragma once

#include <cstdint>

#include "base/json.h"
#include "base/status.h"
#include "ir/op.h"
#include "models/config_reader.h"

namespace skua {

/// Whether the family's heads may rotate in part. Where its reference ignores partial_rotary_factor, another
/// value than 1 is refused.
enum class PartialRotation : uint8_t { kRefused, kKnown };

/// Frequencies theta^(-2i/rot_dim), i < rot_dim/2, scaled as `parameters` says; rot_dim = head_dim *
/// partial_rotary_factor. Keys: rope_theta, partial_rotary_factor, rope_type (or type), and what the type
/// needs. Types: default, linear (factor), llama3 (factor, low_freq_factor, high_freq_factor,
/// original_max_position_embeddings), yarn, longrope and dynamic (chosen by the served context), proportional
/// (factor; frequencies of the whole head, 0 for what does not rotate), factors (list of divisors, as GGUF
/// carries them). Errors: kUnsupported naming the type and the known ones; kInvalidArgument for missing or
/// odd values. Source: transformers modeling_rope_utils (formulas); rotary embedding: arXiv:2104.09864.
Result<RopeAngles> rope_angles_from(const Json& parameters, int32_t head_dim, double default_theta,
                                    PartialRotation partial = PartialRotation::kRefused);

/// The partial_rotary_factor that turns `rotated` of `head_dim` dimensions: the product, cut to a whole
/// number, is `rotated` again.
double rotary_fraction(int32_t rotated, int32_t head_dim);

/// Collects the rope keys of a config into one parameters object: rope_parameters if there, else
/// rope_scaling, with rope_theta, partial_rotary_factor and (for types that need them) lengths from the top
/// level. Marks them as read.
Json rope_parameters(ConfigReader& config);

/// Rope of models whose sliding layers rotate in their own way. rope_parameters holds one object per layer
/// type; older configs have rope_theta (with rope_scaling) for full layers, and `sliding_theta` for sliding
/// ones.
struct LayerRope {
  Json full = Json::object();
  Json sliding = Json::object();
};
LayerRope read_layer_rope(ConfigReader& config, double sliding_theta);

}  // namespace skua
