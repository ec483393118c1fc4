// The wiring that many families share: embed; per layer x += attention(norm(x)), x += mlp(norm(x)); norm;
// logits. A family whose wiring differs writes its own build().
#pragma once

#include <memory>

#include "models/blocks.h"
#include "models/decoder_config.h"

namespace skua {

/// What may differ between such families.
struct PreNormSpec {
  DecoderConfig config;
  RopeAngles angles;
  Act act = Act::kSilu;
  bool qkv_bias = false;
  bool o_bias = false;
  bool mlp_bias = false;
  bool qk_norm = false;  // per head, before rotation
};

std::unique_ptr<Model> make_pre_norm_decoder(PreNormSpec spec);

}  // namespace skua
