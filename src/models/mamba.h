// A Mamba-2 mixer: projection, short convolution, state-space scan, gate and norm, projection.
#pragma once

#include <array>
#include <limits>
#include <string>

#include "ir/builder.h"
#include "models/config_reader.h"

namespace skua {

/// What happens to the scan's output y with the gate z.
enum class MambaGate : uint8_t {
  kThenNorm,   // norm(y * silu(z))
  kAfterNorm,  // norm(y) * silu(z)
  kAlone,      // y * silu(z)
};

/// One mixer. Its tensors are called in_proj, conv1d, dt_bias, A_log, D, norm and out_proj below the prefix.
struct Mamba2Block {
  std::string prefix;  // "model.layers.3.mamba"
  int32_t layer = 0;
  int32_t d_model = 0;
  int32_t n_heads = 0;
  int32_t head_dim = 0;
  int32_t n_groups = 1;   // that share B and C
  int32_t state_dim = 0;  // of B and C
  int32_t n_taps = 4;
  bool in_bias = false;
  bool conv_bias = true;
  bool out_bias = false;
  float dt_min = 0.0f;
  float dt_max = std::numeric_limits<float>::infinity();
  MambaGate gate = MambaGate::kThenNorm;
  int32_t norm_groups = 1;
  float eps = 1e-5f;
  std::array<float, 5> scales = {1, 1, 1, 1, 1};  // of the projected z, x, B, C, dt
};

/// x [T, d_model] -> [T, d_model]; declares a conv and a recurrent slot.
ValueId mamba2_block(GraphBuilder& b, const Mamba2Block& block, ValueId x);

/// The config's names of a mixer's sizes.
struct MambaKeys {
  std::string_view n_heads = "mamba_n_heads";
  std::string_view head_dim = "mamba_d_head";
  std::string_view n_groups = "mamba_n_groups";
  std::string_view state_dim = "mamba_d_state";
  std::string_view n_taps = "mamba_d_conv";
  std::string_view conv_bias = "mamba_conv_bias";
  std::string_view chunk = "mamba_chunk_size";
};

/// Reads the sizes and time_step_limit. A head_dim that is missing or "auto" is d_inner / heads.
Mamba2Block read_mamba2(ConfigReader& config, int32_t d_model, int32_t d_inner, const MambaKeys& keys);

/// Which layers mix by recurrence: from `key`, whose entries are linear_attention (or mamba) and
/// full_attention (or attention); without it, all.
std::vector<char> read_recurrent_layers(ConfigReader& config, std::string_view key, int32_t n_layers);

}  // namespace skua
