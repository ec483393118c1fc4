// The sizes that nearly every decoder's config names alike.
#pragma once

#include <functional>

#include "models/config_reader.h"

namespace skua {

struct DecoderConfig {
  ModelInfo info;
  float eps = 1e-6f;
  bool tied = false;
  std::vector<int32_t> windows;  // per layer; 0 = full attention
};

/// What a family takes for keys that a config leaves out, as its reference does; 0 = see read_decoder_config.
struct DecoderDefaults {
  double eps = 1e-6;
  int32_t head_dim = 0;
  int32_t d_ff = 0;
  int32_t n_kv_heads = 0;
};

/// Reads model_type, sizes, norm eps, tying and token ids. head_dim defaults to d_model / heads; kv heads to
/// heads; intermediate_size must be there. Configs from GGUF files know no other defaults.
DecoderConfig read_decoder_config(ConfigReader& config, const DecoderDefaults& defaults = {});

/// Names of the sizes in configs older than the common ones.
struct SizeKeys {
  std::string_view n_layers, d_model, n_heads, max_context;
};

/// The same for models with learned positions, whose heads share nothing. The width of the MLP is the
/// family's to read; eps is 1e-5.
DecoderConfig read_learned_position_config(ConfigReader& config, const SizeKeys& keys);

/// Which layers attend within a window: from "layer_types" if present (full_attention, sliding_attention),
/// else `fallback(layer)`. Fills `windows` with `window` or 0. A layer that slides needs window > 0.
void read_windows(ConfigReader& config, DecoderConfig& out, int32_t window,
                  const std::function<bool(int32_t layer)>& fallback);

/// sliding_window_pattern: a number n (each n-th layer is full, 0: all slide) or letters such as "LLLG".
int32_t read_sliding_period(ConfigReader& config, int32_t fallback);

/// num_kv_shared_layers: the last layers read the keys and values of the last layer of their kind (sliding or
/// full) that makes its own. Gives, by layer, whose keys it reads: itself or an earlier one.
std::vector<int32_t> read_key_sources(ConfigReader& config, const DecoderConfig& out, int32_t fallback);

/// Which layers slide with use_sliding_window, where layer_types does not say it: each Qwen has its own rule.
enum class QwenWindows : uint8_t {
  kFromMaxWindowLayers,        // layers from max_window_layers on
  kEverySecondBelowMaxLayers,  // layers 0, 2, ... below max_window_layers (Qwen2-MoE)
  kAll,                        // whatever layer_types says (Qwen3-MoE)
};
void read_qwen_windows(ConfigReader& config, DecoderConfig& out,
                       QwenWindows rule = QwenWindows::kFromMaxWindowLayers);

}  // namespace skua
