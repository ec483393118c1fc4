// One token: report the raw row -> biases and bans -> stages in their order -> draw.
#include "sample/sampler.h"

#include <algorithm>
#include <string>

#include "base/exp.h"
#include "sample/random.h"
#include "sample/stages.h"

namespace skua {
namespace {

// Numbers of the draws at one position. Number 1 is the engine's, for the seeds of choices.
constexpr uint64_t kTokenDraw = 0;
constexpr uint64_t kXtcDraw = 2;

}  // namespace

Sampler::Sampler(SamplingParams params, int32_t n_vocab)
    : params_(std::move(params)), n_vocab_(n_vocab), state_{2 * static_cast<double>(params_.mirostat_tau)} {
  // Typical-p and XTC may drop the best token, so what comes before them counts.
  const SamplingParams& p = params_;
  const bool keeps_best = p.typical_p >= 1 && p.xtc_probability <= 0;
  const bool scaled =
      std::find(p.stages.begin(), p.stages.end(), SamplerStage::kTemperature) != p.stages.end();
  greedy_ = p.temperature == 0 && p.dynatemp_range == 0 && scaled && keeps_best;
}

Result<Sampler> Sampler::make(SamplingParams params, int32_t n_vocab, std::span<const int32_t> end_ids) {
  SKUA_RETURN_IF_ERROR(validate(params, n_vocab));
  Sampler sampler(std::move(params), n_vocab);
  SKUA_RETURN_IF_ERROR(sampler.ban_ids(end_ids));
  return sampler;
}

Status Sampler::ban_ids(std::span<const int32_t> end_ids) {
  const auto add_end_ids = [&](std::vector<int32_t>& to) {
    for (int32_t id : end_ids) {
      if (id >= 0 && id < n_vocab_) to.push_back(id);
    }
  };
  always_banned_ = params_.banned_ids;
  if (params_.ignore_eos) add_end_ids(always_banned_);
  if (params_.min_tokens > 0) {
    early_banned_ = params_.stop_ids;
    add_end_ids(early_banned_);
  }
  if (always_banned_.empty() && early_banned_.empty()) return ok_status();
  std::vector<int8_t> allowed(static_cast<size_t>(n_vocab_), params_.allowed_ids.empty());
  for (int32_t id : params_.allowed_ids) allowed[static_cast<size_t>(id)] = 1;
  for (int32_t id : always_banned_) allowed[static_cast<size_t>(id)] = 0;
  for (int32_t id : early_banned_) allowed[static_cast<size_t>(id)] = 0;
  if (std::find(allowed.begin(), allowed.end(), 1) != allowed.end()) return ok_status();
  return invalid_argument(
      "[sampling] allowed ids, banned ids, min tokens and ignore-eos together leave no token to choose");
}

Result<SampledToken> Sampler::sample(std::span<const float> logits, std::span<const int32_t> prompt,
                                     std::span<const int32_t> generated, uint64_t position,
                                     std::span<const uint32_t> mask) {
  const auto n_vocab = static_cast<size_t>(n_vocab_);
  if (logits.size() != n_vocab || (!mask.empty() && mask.size() < (n_vocab + 31) / 32)) {
    return internal_error("[sampling] a row of " + std::to_string(logits.size()) + " logits and a mask of " +
                          std::to_string(mask.size()) + " words do not fit a vocabulary of " +
                          std::to_string(n_vocab));
  }
  SKUA_RETURN_IF_ERROR(candidates_.assign(logits));
  SampledToken out;
  if (params_.logprobs >= 0 && candidates_.size() > 0) report_top(out);
  restrict_ids(generated.size(), mask);
  if (candidates_.size() == 0)
    return internal_error("[sampling] no token is allowed: every logit is minus infinity");
  for (SamplerStage stage : params_.stages) {
    if (!skips(stage)) run_stage(stage, {prompt, generated}, position);
  }
  if (params_.mirostat != Mirostat::kOff) cut_mirostat(candidates_, params_.mirostat, state_.mu);
  if (candidates_.size() == 1) {
    out.id = candidates_.best();
    if (params_.mirostat != Mirostat::kOff)
      state_.mu += static_cast<double>(params_.mirostat_eta) * static_cast<double>(params_.mirostat_tau);
  } else {
    const Candidates::Draw draw = candidates_.draw(uniform_draw(params_.seed, position, kTokenDraw));
    out.id = draw.id;
    if (params_.mirostat != Mirostat::kOff) {
      const double surprise = exact_log(draw.total / draw.weight) * kLog2e;
      state_.mu -=
          static_cast<double>(params_.mirostat_eta) * (surprise - static_cast<double>(params_.mirostat_tau));
    }
  }
  if (params_.logprobs >= 0)
    out.logprob = finite_float(static_cast<double>(logits[static_cast<size_t>(out.id)]) - log_total_);
  return out;
}

void Sampler::report_top(SampledToken& out) {
  log_total_ = static_cast<double>(candidates_.top()) + exact_log(candidates_.sums().weight);
  const auto n = static_cast<size_t>(params_.logprobs);
  if (n == 0) return;
  candidates_.sort(n);
  const size_t n_top = std::min(n, candidates_.size());
  out.top.reserve(n_top);
  for (size_t i = 0; i < n_top; ++i) {
    out.top.push_back({candidates_.sorted_ids()[i],
                       finite_float(static_cast<double>(candidates_.sorted_logits()[i]) - log_total_)});
  }
}

void Sampler::restrict_ids(size_t n_generated, std::span<const uint32_t> mask) {
  if (!params_.allowed_ids.empty()) candidates_.allow_only(params_.allowed_ids);
  if (!mask.empty()) candidates_.apply_mask(mask);
  for (int32_t id : always_banned_) candidates_.ban(id);
  if (n_generated < static_cast<size_t>(params_.min_tokens)) {
    for (int32_t id : early_banned_) candidates_.ban(id);
  }
  for (const LogitBias& b : params_.logit_bias) candidates_.set(b.id, candidates_.logit(b.id) + b.bias);
}

/// Stages that mirostat replaces, and those that cannot matter when only the best token is wanted.
bool Sampler::skips(SamplerStage stage) const {
  const bool tokens_so_far = stage == SamplerStage::kPenalties || stage == SamplerStage::kDry;
  if (tokens_so_far || stage == SamplerStage::kTemperature) return false;
  return params_.mirostat != Mirostat::kOff || greedy_;
}

void Sampler::run_stage(SamplerStage stage, const History& history, uint64_t position) {
  const SamplingParams& p = params_;
  switch (stage) {
    case SamplerStage::kPenalties:
      return penalties_.apply(p, history, candidates_);
    case SamplerStage::kDry:
      return dry_.apply(p, history, candidates_);
    case SamplerStage::kTopNSigma:
      return keep_top_n_sigma(candidates_, static_cast<double>(p.top_n_sigma));
    case SamplerStage::kTopK:
      if (p.top_k > 0) candidates_.keep(static_cast<size_t>(p.top_k));
      return;
    case SamplerStage::kTypical:
      return keep_typical(candidates_, static_cast<double>(p.typical_p));
    case SamplerStage::kTopP:
      return keep_top_p(candidates_, static_cast<double>(p.top_p));
    case SamplerStage::kMinP:
      return keep_min_p(candidates_, static_cast<double>(p.min_p));
    case SamplerStage::kXtc: {
      const Xtc xtc{static_cast<double>(p.xtc_probability), static_cast<double>(p.xtc_threshold)};
      return drop_top_choices(candidates_, xtc, uniform_draw(p.seed, position, kXtcDraw));
    }
    case SamplerStage::kTemperature:
      return apply_temperature(candidates_, p);
  }
}

}  // namespace skua
