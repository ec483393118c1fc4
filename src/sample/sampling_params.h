// What a request may ask of its sampler, the order of the stages, and the check of both.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace skua {

/// The stages between the raw logits and the draw. Biases and bans come before all of them, the draw after.
enum class SamplerStage : uint8_t {
  kPenalties,  // repetition, frequency, presence
  kDry,
  kTopNSigma,
  kTopK,
  kTypical,
  kTopP,
  kMinP,
  kXtc,
  kTemperature,
};

/// The one place that states the default order; it is llama.cpp's (common/common.h, params.sampling.samplers,
/// September 2025). The cut-offs see the logits before the temperature.
inline constexpr std::array kDefaultStages = {
    SamplerStage::kPenalties, SamplerStage::kDry,     SamplerStage::kTopNSigma,
    SamplerStage::kTopK,      SamplerStage::kTypical, SamplerStage::kTopP,
    SamplerStage::kMinP,      SamplerStage::kXtc,     SamplerStage::kTemperature};

/// Name as in llama-server's `samplers` field, for example "top_k".
std::string_view stage_name(SamplerStage stage);

/// Mirostat keeps the surprise of the text near tau bits. With it on, the cut-offs and XTC are not applied.
enum class Mirostat : uint8_t { kOff, kV1, kV2 };

struct LogitBias {
  int32_t id = 0;
  float bias = 0;  // -100 to 100, added to the logit
};

/// Sampling parameters of one request. "Off" values switch a stage off.
struct SamplingParams {
  uint64_t seed = 0;

  float temperature = 0.8f;        // 0 = the best candidate (ties go to the lowest id)
  float dynatemp_range = 0.0f;     // 0 = off; temperature varies by this much to both sides with the entropy
  float dynatemp_exponent = 1.0f;  // of the normalised entropy
  int32_t top_k = 40;              // 0 or -1 = off
  float top_p = 0.95f;             // 1 = off
  float min_p = 0.05f;             // 0 = off
  float typical_p = 1.0f;          // 1 = off
  float top_n_sigma = 0.0f;        // 0 or -1 = off
  float xtc_probability = 0.0f;    // 0 = off
  float xtc_threshold = 0.1f;      // above 0.5 = off

  float repetition_penalty = 1.0f;  // 1 = off; once per distinct token of the window, prompt and reply
  float frequency_penalty = 0.0f;   // 0 = off; times the number of its occurrences in the window's reply part
  float presence_penalty = 0.0f;    // 0 = off; once if it occurs in the window's reply part
  int32_t repeat_last_n = 64;       // window of the three: the newest tokens; 0 = off, -1 = all

  float dry_multiplier = 0.0f;  // 0 = off
  float dry_base = 1.75f;
  int32_t dry_allowed_length = 2;                  // repeats shorter than this are free
  int32_t dry_penalty_last_n = -1;                 // window of the search; 0 = off, -1 = all
  std::vector<std::vector<int32_t>> dry_breakers;  // id sequences that a repeat does not reach across

  Mirostat mirostat = Mirostat::kOff;
  float mirostat_tau = 5.0f;  // bits
  float mirostat_eta = 0.1f;

  std::vector<LogitBias> logit_bias;  // biases of one id add up
  std::vector<int32_t> allowed_ids;   // empty = all
  std::vector<int32_t> banned_ids;
  std::vector<int32_t> stop_ids;  // end the reply, besides the model's own end ids
  int32_t min_tokens = 0;         // end ids and stop ids are banned before that many tokens
  bool ignore_eos = false;        // the model's end ids are banned throughout

  int32_t logprobs = -1;  // -1 = none; n >= 0: of the chosen token and of the n likeliest

  std::vector<SamplerStage> stages{kDefaultStages.begin(), kDefaultStages.end()};  // each at most once
};

/// Checks ranges, and ids against `n_vocab` (the rows of the output matrix). Errors: kInvalidArgument naming
/// the parameter, its value and the range.
Status validate(const SamplingParams& params, int32_t n_vocab);

}  // namespace skua
