// Ranges of the sampling parameters and the messages that name them.
#include "sample/sampling_params.h"

#include <limits>
#include <span>
#include <string>

namespace skua {
namespace {

constexpr int32_t kMaxLogprobs = 1000;
constexpr size_t kMaxBreakers = 1000;
constexpr size_t kMaxBreakerTokens = 64;
constexpr int32_t kNoLimit = std::numeric_limits<int32_t>::max();

struct Range {
  const char* name;
  double value, low, high;
  const char* text;
};

std::string number(double value) {
  std::string text = std::to_string(value);
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

Status check(std::span<const Range> ranges) {
  for (const Range& r : ranges) {
    if (r.value >= r.low && r.value <= r.high) continue;  // false for NaN
    return invalid_argument("[sampling] " + std::string(r.name) + " must be " + r.text + ", got " +
                            number(r.value));
  }
  return ok_status();
}

Status check_shape(const SamplingParams& p) {
  const Range ranges[] = {
      {"temperature", p.temperature, 0, 100, "0 to 100"},
      {"dynamic temperature range", p.dynatemp_range, 0, 100, "0 (off) to 100"},
      {"dynamic temperature exponent", p.dynatemp_exponent, 0, 100, "0 to 100"},
      {"top-k", static_cast<double>(p.top_k), -1, kNoLimit, "-1 or 0 (off) or more"},
      {"top-p", p.top_p, 0, 1, "0 to 1"},
      {"min-p", p.min_p, 0, 1, "0 to 1"},
      {"typical-p", p.typical_p, 0, 1, "0 to 1"},
      {"top-n-sigma", p.top_n_sigma, -1, 100, "-1 or 0 (off) to 100"},
      {"XTC probability", p.xtc_probability, 0, 1, "0 to 1"},
      {"XTC threshold", p.xtc_threshold, 0, 1, "0 to 1"},
      {"mirostat tau", p.mirostat_tau, 0, 100, "0 to 100"},
      {"mirostat eta", p.mirostat_eta, 0, 10, "0 to 10"},
  };
  return check(ranges);
}

Status check_penalties(const SamplingParams& p) {
  const Range ranges[] = {
      {"repetition penalty", p.repetition_penalty, 0.01, 100, "0.01 to 100 (1 is off)"},
      {"frequency penalty", p.frequency_penalty, -2, 2, "-2 to 2"},
      {"presence penalty", p.presence_penalty, -2, 2, "-2 to 2"},
      {"repeat-last-n", static_cast<double>(p.repeat_last_n), -1, kNoLimit, "-1 (all), 0 (off) or more"},
      {"DRY multiplier", p.dry_multiplier, 0, 100, "0 (off) to 100"},
      {"DRY base", p.dry_base, 1, 100, "1 to 100"},
      {"DRY allowed length", static_cast<double>(p.dry_allowed_length), 0, kNoLimit, "0 or more"},
      {"DRY penalty-last-n", static_cast<double>(p.dry_penalty_last_n), -1, kNoLimit,
       "-1 (all), 0 (off) or more"},
      {"min tokens", static_cast<double>(p.min_tokens), 0, kNoLimit, "0 or more"},
      {"logprobs", static_cast<double>(p.logprobs), -1, kMaxLogprobs, "-1 (none) to 1000"},
  };
  return check(ranges);
}

Status check_ids(std::span<const int32_t> ids, const char* name, int32_t n_vocab) {
  for (int32_t id : ids) {
    if (id >= 0 && id < n_vocab) continue;
    return invalid_argument("[sampling] " + std::string(name) + ": token id must be 0 to " +
                            std::to_string(n_vocab - 1) + ", got " + std::to_string(id));
  }
  return ok_status();
}

Status check_bias(std::span<const LogitBias> biases, int32_t n_vocab) {
  for (const LogitBias& b : biases) {
    SKUA_RETURN_IF_ERROR(check_ids(std::span(&b.id, 1), "logit bias", n_vocab));
    const std::string name = "logit bias of token " + std::to_string(b.id);
    const Range range{name.c_str(), b.bias, -100, 100, "-100 to 100"};
    SKUA_RETURN_IF_ERROR(check(std::span(&range, 1)));
  }
  return ok_status();
}

Status check_breakers(const SamplingParams& p, int32_t n_vocab) {
  if (p.dry_breakers.size() > kMaxBreakers) {
    return invalid_argument("[sampling] DRY breakers: at most " + std::to_string(kMaxBreakers) +
                            " sequences are taken, got " + std::to_string(p.dry_breakers.size()));
  }
  for (const std::vector<int32_t>& breaker : p.dry_breakers) {
    if (breaker.empty() || breaker.size() > kMaxBreakerTokens) {
      return invalid_argument("[sampling] DRY breakers: a sequence must have 1 to " +
                              std::to_string(kMaxBreakerTokens) + " tokens, got " +
                              std::to_string(breaker.size()));
    }
    SKUA_RETURN_IF_ERROR(check_ids(breaker, "DRY breakers", n_vocab));
  }
  return ok_status();
}

Status check_stages(std::span<const SamplerStage> stages) {
  for (size_t i = 0; i < stages.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (stages[i] != stages[j]) continue;
      return invalid_argument("[sampling] stages: each may come once, got " +
                              std::string(stage_name(stages[i])) + " twice");
    }
  }
  return ok_status();
}

}  // namespace

std::string_view stage_name(SamplerStage stage) {
  switch (stage) {
    case SamplerStage::kPenalties:
      return "penalties";
    case SamplerStage::kDry:
      return "dry";
    case SamplerStage::kTopNSigma:
      return "top_n_sigma";
    case SamplerStage::kTopK:
      return "top_k";
    case SamplerStage::kTypical:
      return "typ_p";
    case SamplerStage::kTopP:
      return "top_p";
    case SamplerStage::kMinP:
      return "min_p";
    case SamplerStage::kXtc:
      return "xtc";
    case SamplerStage::kTemperature:
      return "temperature";
  }
  return "?";
}

Status validate(const SamplingParams& params, int32_t n_vocab) {
  SKUA_RETURN_IF_ERROR(check_shape(params));
  SKUA_RETURN_IF_ERROR(check_penalties(params));
  SKUA_RETURN_IF_ERROR(check_bias(params.logit_bias, n_vocab));
  SKUA_RETURN_IF_ERROR(check_ids(params.allowed_ids, "allowed ids", n_vocab));
  SKUA_RETURN_IF_ERROR(check_ids(params.banned_ids, "banned ids", n_vocab));
  SKUA_RETURN_IF_ERROR(check_ids(params.stop_ids, "stop ids", n_vocab));
  SKUA_RETURN_IF_ERROR(check_breakers(params, n_vocab));
  return check_stages(params.stages);
}

}  // namespace skua
