// Rotation frequencies from a config, in both spellings (rope_parameters; rope_theta with rope_scaling).
#pragma once

#include <cstdint>

#include "base/json.h"
#include "base/status.h"
#include "ir/op.h"
#include "models/config_reader.h"

namespace skua {

/// Frequencies theta^(-2i/rot_dim), i < rot_dim/2, scaled as `parameters` says. Its keys: rope_theta,
/// rope_type (or type), and what the type needs. Types: default, linear (factor), llama3 (factor,
/// low_freq_factor, high_freq_factor, original_max_position_embeddings), factors (list of divisors, as GGUF
/// carries them). Errors: kUnsupported naming the type and the known ones; kInvalidArgument for missing or
/// odd values. Source: transformers modeling_rope_utils (formulas); rotary embedding: arXiv:2104.09864.
Result<RopeAngles> rope_angles_from(const Json& parameters, int32_t rot_dim, double default_theta);

/// Collects the rope keys of a config into one parameters object: rope_parameters if there, else rope_theta
/// and rope_scaling. Marks the keys as read.
Json rope_parameters(ConfigReader& config);

}  // namespace skua
