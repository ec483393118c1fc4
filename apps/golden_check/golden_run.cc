// One prefill, then decoding one token at a time along the reference's own tokens.
#include "golden_check/golden_run.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/runner.h"

namespace skua::golden {
namespace {

/// Largest |got - expected|; a NaN on either side is infinitely wrong.
double max_error(const double* got, const float* expected, int64_t n) {
  double worst = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double error = std::abs(got[i] - static_cast<double>(expected[i]));
    worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
  }
  return worst;
}

/// One sequence driven by hand.
class Driver {
 public:
  explicit Driver(Runner& runner) : runner_(runner), tables_(runner.cache().new_tables()) {}

  /// Runs `ids` as the next tokens; returns the logits of the batch rows `rows`.
  Result<std::vector<double>> run(std::span<const int32_t> ids, const std::vector<int32_t>& rows) {
    CacheManager& cache = runner_.cache();
    cache.drop_windows(tables_, n_cached_, runner_.step());
    const auto n_ids = static_cast<int32_t>(ids.size());
    SKUA_RETURN_IF_ERROR(cache.extend(tables_, n_cached_ + n_ids, runner_.step()));
    std::vector<std::span<const int32_t>> pages;
    for (const PageTable& table : tables_) pages.push_back(table.pages());
    Batch batch;
    append(batch, ids, n_cached_, 0, std::move(pages));
    batch.rows = rows;
    SKUA_RETURN_IF_ERROR(runner_.run(batch));
    n_cached_ += n_ids;
    return runner_.logits_f64();
  }

 private:
  Runner& runner_;
  std::vector<PageTable> tables_;
  int32_t n_cached_ = 0;
};

Status check_vocabulary(const Expected& expected, const LoadedModel& model) {
  if (model.info.n_vocab == expected.n_vocab) return ok_status();
  return invalid_argument("[golden] the model has " + std::to_string(model.info.n_vocab) +
                          " logits, the reference " + std::to_string(expected.n_vocab));
}

/// Takes the reference's `step`-th token as done and compares what comes before it.
void compare_step(const Expected& expected, int step, const std::vector<double>& logits, Outcome& out) {
  const auto at = static_cast<size_t>(step);
  const auto best = static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  const bool undecided = double{expected.gap[at]} <= out.step_limit;
  out.n_undecided += undecided ? 1 : 0;
  if (best == expected.greedy[at])
    ++out.n_agree;
  else if (!undecided && out.first_disagreement < 0)
    out.first_disagreement = step;
  for (size_t known = 0; known < expected.steps.size(); ++known) {
    if (expected.steps[known] != step) continue;
    const float* row = &expected.step_logits[known * static_cast<size_t>(expected.n_vocab)];
    out.step_error = std::max(out.step_error, max_error(logits.data(), row, expected.n_vocab));
  }
}

}  // namespace

Result<Outcome> run_case(const Case& golden_case, Backend& backend, const RunOptions& options) {
  return run_case(*golden_case.checkpoint, golden_case.expected, backend, options);
}

Result<Outcome> run_case(const Checkpoint& checkpoint, const Expected& expected, Backend& backend,
                         const RunOptions& options) {
  const auto n_prompt = static_cast<int32_t>(expected.prompt.size());
  RunnerOptions runner_options;
  runner_options.context = n_prompt + static_cast<int32_t>(expected.greedy.size());
  SKUA_ASSIGN_OR_RETURN(const LoadedModel model, load_model(checkpoint, backend, ConfigPolicy::kStrict,
                                                            nullptr, runner_options.context));
  SKUA_RETURN_IF_ERROR(check_vocabulary(expected, model));
  runner_options.max_tokens = n_prompt;
  runner_options.max_seqs = 1;
  runner_options.fusion = options.fusion;
  SKUA_ASSIGN_OR_RETURN(const auto runner, Runner::create(model, backend, runner_options));

  Outcome out;
  out.noise = std::max(expected.prompt_noise, expected.step_noise);
  out.prompt_limit = options.noise_factor * expected.prompt_noise;
  out.step_limit = options.noise_factor * out.noise;
  out.n_steps = static_cast<int>(expected.greedy.size());

  Driver driver(*runner);
  std::vector<int32_t> rows = expected.rows;
  rows.push_back(n_prompt - 1);  // chooses the first generated token
  SKUA_ASSIGN_OR_RETURN(std::vector<double> logits, driver.run(expected.prompt, rows));
  const auto n_known = static_cast<int64_t>(expected.rows.size()) * expected.n_vocab;
  out.prompt_error = max_error(logits.data(), expected.logits.data(), n_known);
  logits.erase(logits.begin(), logits.begin() + n_known);
  for (int step = 0;; ++step) {
    compare_step(expected, step, logits, out);
    if (step + 1 == out.n_steps) return out;
    const std::span<const int32_t> next(&expected.greedy[static_cast<size_t>(step)], 1);
    SKUA_ASSIGN_OR_RETURN(logits, driver.run(next, {0}));
  }
}

}  // namespace skua::golden
