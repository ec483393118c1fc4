// Common config fields. Sizes are checked here for plain sense; how they fit together is checked by the
// graph.
#include "models/decoder_config.h"

#include <cmath>

namespace skua {

DecoderConfig read_decoder_config(ConfigReader& config, const DecoderDefaults& defaults) {
  DecoderConfig out;
  ModelInfo& info = out.info;
  info.model_type = config.text_or("model_type", "");
  info.n_layers = config.count("num_hidden_layers", 10000);
  info.d_model = config.count("hidden_size");
  info.d_ff = defaults.d_ff > 0 ? config.count_or("intermediate_size", defaults.d_ff)
                                : config.count("intermediate_size");
  info.n_heads = config.count("num_attention_heads");
  const bool own_defaults = !config.says(kGgufConfig);
  const bool kv_default = own_defaults && defaults.n_kv_heads > 0 && !config.says("num_key_value_heads");
  info.n_kv_heads = config.count_or("num_key_value_heads", kv_default ? defaults.n_kv_heads : info.n_heads);
  if (info.n_heads % info.n_kv_heads != 0) {
    config.fail(invalid_argument("[model] config.json: num_attention_heads " + std::to_string(info.n_heads) +
                                 " is no multiple of num_key_value_heads " +
                                 std::to_string(info.n_kv_heads)));
  }
  auto head_dim = config.maybe_count("head_dim");
  if (!head_dim && own_defaults && defaults.head_dim > 0) head_dim = defaults.head_dim;
  if (!head_dim && info.d_model % info.n_heads != 0) {
    config.fail(invalid_argument("[model] config.json: no head_dim, and hidden_size " +
                                 std::to_string(info.d_model) + " is not a multiple of num_attention_heads " +
                                 std::to_string(info.n_heads)));
  }
  info.head_dim = head_dim.value_or(info.d_model / info.n_heads);
  info.n_vocab = config.count("vocab_size");
  info.max_context = config.count_or("max_position_embeddings", 2048);
  info.end_ids = config.ids("eos_token_id");
  const auto bos = config.ids("bos_token_id");
  if (!bos.empty()) info.bos_id = bos[0];
  out.eps = config.epsilon_or("rms_norm_eps", defaults.eps);
  out.windows.assign(static_cast<size_t>(info.n_layers), 0);
  return out;
}

DecoderConfig read_learned_position_config(ConfigReader& config, const SizeKeys& keys) {
  DecoderConfig out;
  ModelInfo& info = out.info;
  info.model_type = config.text_or("model_type", "");
  info.n_layers = config.count(keys.n_layers, 10000);
  info.d_model = config.count(keys.d_model);
  info.n_heads = info.n_kv_heads = config.count(keys.n_heads);
  info.head_dim = info.d_model / info.n_heads;
  if (info.d_model % info.n_heads != 0) {
    config.fail(invalid_argument("[model] config.json: " + std::string(keys.d_model) +
                                 " must be a multiple of " + std::string(keys.n_heads)));
  }
  info.n_vocab = config.count("vocab_size");
  info.max_context = config.count(keys.max_context, INT32_MAX - 2);
  info.end_ids = config.ids("eos_token_id");
  const auto bos = config.ids("bos_token_id");
  if (!bos.empty()) info.bos_id = bos[0];
  out.eps = 1e-5f;
  out.windows.assign(static_cast<size_t>(info.n_layers), 0);
  return out;
}

void read_windows(ConfigReader& config, DecoderConfig& out, int32_t window,
                  const std::function<bool(int32_t layer)>& fallback) {
  const Json* types = config.raw("layer_types");
  if (types != nullptr && types->size() != out.windows.size()) {
    config.fail(invalid_argument("[model] config.json: layer_types names " + std::to_string(types->size()) +
                                 " layers, num_hidden_layers is " + std::to_string(out.windows.size())));
    return;
  }
  for (size_t layer = 0; layer < out.windows.size(); ++layer) {
    bool slides = fallback(static_cast<int32_t>(layer));
    if (types != nullptr) {
      const Json& type = types->items()[layer];
      slides = type == Json("sliding_attention");
      if (!slides && type != Json("full_attention")) {
        config.fail(unsupported("[model] config.json: layer_types holds layer type " + type.dump() +
                                " is not known; known are full_attention, sliding_attention"));
      }
    }
    if (slides && window < 1) {
      config.fail(invalid_argument("[model] config.json: layer " + std::to_string(layer) +
                                   " slides but sliding_window is missing"));
    }
    out.windows[layer] = slides ? window : 0;
  }
}

int32_t read_sliding_period(ConfigReader& config, int32_t fallback) {
  const Json* pattern = config.raw("sliding_window_pattern");
  if (pattern == nullptr) return fallback;
  if (pattern->is_int() && pattern->as_int() >= 0 && pattern->as_int() < 1000)
    return static_cast<int32_t>(pattern->as_int());
  if (pattern->is_string()) {
    const std::string& letters = pattern->as_string();
    if (letters.size() > 1 && letters.find('G') == letters.size() - 1)
      return static_cast<int32_t>(letters.size());
  }
  config.fail(unsupported("[model] \"sliding_window_pattern\" is " + pattern->dump().substr(0, 80) +
                          "; known are a count and a pattern such as \"LLLG\""));
  return fallback;
}

std::vector<int32_t> read_key_sources(ConfigReader& config, const DecoderConfig& out, int32_t fallback) {
  const auto n_layers = static_cast<int32_t>(out.windows.size());
  const double n_shared = config.number_or("num_kv_shared_layers", fallback);
  std::vector<int32_t> sources;
  for (int32_t layer = 0; layer < n_layers; ++layer) sources.push_back(layer);
  if (!(n_shared >= 0 && n_shared < n_layers) || n_shared != std::floor(n_shared)) {
    config.fail(invalid_argument("[model] num_kv_shared_layers must be from 0 to the number of layers - 1"));
    return sources;
  }
  const int32_t first = n_layers - static_cast<int32_t>(n_shared);
  for (int32_t layer = first; layer < n_layers; ++layer) {
    const auto at = static_cast<size_t>(layer);
    for (int32_t before = 0; before < first; ++before) {
      if ((out.windows[static_cast<size_t>(before)] > 0) == (out.windows[at] > 0)) sources[at] = before;
    }
    if (sources[at] == layer) {
      config.fail(invalid_argument("[model] layer " + std::to_string(layer) +
                                   " shares keys of a kind that no earlier layer makes"));
    }
  }
  return sources;
}

void read_qwen_windows(ConfigReader& config, DecoderConfig& out, QwenWindows rule) {
  const bool enabled = config.flag_or("use_sliding_window", false);
  const int32_t window = config.count_or_none("sliding_window");
  const bool said = config.raw("max_window_layers") != nullptr;
  const int32_t border = said ? config.count_or_none("max_window_layers") : 28;
  read_windows(config, out, window, [&](int32_t layer) {
    const bool here = rule == QwenWindows::kFromMaxWindowLayers ? layer >= border
                      : rule == QwenWindows::kAll               ? true
                                                                : layer % 2 == 0 && layer < border;
    return enabled && here;
  });
  for (const int32_t own : out.windows) {
    if (rule == QwenWindows::kAll && (own > 0) != enabled)
      config.fail(
          unsupported("[model] config.json: layer_types and use_sliding_window disagree; the reference "
                      "goes by use_sliding_window, for all layers"));
  }
}

}  // namespace skua
