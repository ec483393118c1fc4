// Mistral 7B and its kin: Llama without biases, optionally with a sliding window on every layer.
// Sources: transformers modeling_mistral.py and configuration_mistral.py (5.x); arXiv:2310.06825.
#include "models/families.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.n_kv_heads = 8});
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  // null says that there is no window; a config that says nothing means 4096, as the first one did.
  const bool said = config.says("sliding_window") || config.says(kGgufConfig);
  const int32_t window = said ? config.count_or_none("sliding_window") : 4096;
  read_windows(config, spec.config, window, [&](int32_t) { return window > 0; });
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"mistral"};

/// Files without windows are read as Llama's: they hold the same layers.
bool slides(const Checkpoint& file) {
  return file.config().find("llama.attention.sliding_window") != nullptr;
}

}  // namespace

extern const Family kMistral;
const Family kMistral{"mistral", kTypes,  "llama",          GgufRows::kInterleavedQk,
                      &parse,    nullptr, {.fits = &slides}};

}  // namespace skua
