// Runs requests and takes the time. Owns no output.
#include "skua/bench_measure.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "engine/runner.h"
#include "skua/generate.h"
#include "skua/memory_speed.h"
#include "skua/terminal.h"

namespace skua {
namespace {

constexpr int64_t kTogetherPrompt = 16;  // tokens of each of several sequences, at most

/// Bytes that a step reads of weights (of an embedding table, one row per token) and of the cache at a
/// context of `context` tokens.
uint64_t bytes_read(const Plan& plan, const Step& step, const Engine& engine, int64_t n_tokens,
                    int64_t context) {
  uint64_t sum = 0;
  for (const Use& use : step.uses) {
    const BufferInfo& buffer = plan.buffers[use.buffer.value()];
    if (buffer.kind == BufferKind::kWeight) {
      const auto rows = static_cast<uint64_t>(plan.graph.weights[buffer.index].rows);
      const uint64_t bytes = use.end - use.begin;
      sum += step.op == "embed" ? bytes / rows * static_cast<uint64_t>(n_tokens) : bytes;
    } else if (buffer.kind == BufferKind::kCache && step.op.ends_with("attention")) {
      const CacheSlot& slot = plan.graph.slots[buffer.index];
      const int64_t seen = slot.window > 0 ? std::min<int64_t>(slot.window, context) : context;
      sum += engine.memory().cache_bytes_per_token * static_cast<uint64_t>(seen) / plan.graph.slots.size();
    }
  }
  return sum;
}

/// Weight bytes that the plan of one token reads.
Result<uint64_t> weight_bytes_per_token(Engine& engine) {
  SKUA_ASSIGN_OR_RETURN(const Plan* plan, engine.runner().plan_for(1, 1, 1));
  uint64_t sum = 0;
  for (const Step& step : plan->steps) sum += bytes_read(*plan, step, engine, 1, 0);
  return sum;
}

/// Ids that look like nothing in particular. Each run has its own, so that no run finds the prefix of another
/// in the cache; the program's next start has the same ones.
std::vector<int32_t> some_prompt(int64_t n, int64_t n_vocab, int64_t run) {
  std::vector<int32_t> ids(static_cast<size_t>(n));
  auto state = static_cast<uint64_t>(run + 2);
  for (int32_t& id : ids) {
    state = state * 6364136223846793005u + 1442695040888963407u;  // Knuth's MMIX generator
    id = static_cast<int32_t>((state >> 33) % static_cast<uint64_t>(n_vocab));
  }
  return ids;
}

GenerateRequest some_request(const Engine& engine, int64_t n_prompt, int64_t n_gen, int64_t run) {
  GenerateRequest request;
  request.prompt_ids = some_prompt(n_prompt, engine.model().n_vocab, run);
  request.max_tokens = static_cast<int32_t>(n_gen);
  request.sampling.temperature = 0;
  request.end_tokens = EndTokens::kIgnore;
  request.speculate = false;  // the plain speed: one token per reading of the weights
  return request;
}

/// Sums of one kind of step of the model (a prompt's or a reply's), by op and kernel.
class OpSums {
 public:
  void add(const Runner::StepTimes& times, const Engine& engine, int64_t n_tokens, int64_t context) {
    std::map<std::string, OpFigures> step_sums;
    for (size_t i = 0; i < times.seconds.size(); ++i) {
      const Step& step = times.plan->steps[i];
      OpFigures& sum = step_sums[step.op + " " + step.kernel];
      sum.op = step.op;
      sum.kernel = step.kernel;
      ++sum.count;
      sum.seconds += times.seconds[i];
      sum.bytes += bytes_read(*times.plan, step, engine, n_tokens, context);
      sum.flops += step.flops;
    }
    for (auto& [key, sum] : step_sums) {
      seconds_[key].push_back(sum.seconds);
      sums_[key] = sum;
    }
  }

  std::vector<OpFigures> figures() {
    std::vector<OpFigures> out;
    for (auto& [key, sum] : sums_) {
      std::vector<double>& seconds = seconds_[key];
      std::sort(seconds.begin(), seconds.end());
      sum.seconds = median(seconds);
      out.push_back(sum);
    }
    std::sort(out.begin(), out.end(),
              [](const OpFigures& a, const OpFigures& b) { return a.seconds > b.seconds; });
    return out;
  }

 private:
  std::map<std::string, OpFigures> sums_;
  std::map<std::string, std::vector<double>> seconds_;
};

/// One more prompt and reply, with a clock read between any two steps.
Status measure_ops(Engine& engine, int64_t n_prompt, int64_t n_gen, int64_t run, Measured& out) {
  OpSums prompt, decode;
  SKUA_RETURN_IF_ERROR(engine.submit(some_request(engine, n_prompt, n_gen, run)).status());
  Runner::StepTimes times;
  engine.runner().set_step_times(&times);
  int64_t context = 0;
  while (!engine.idle()) {
    const uint64_t before = engine.counters().n_tokens;
    const std::vector<StreamEvent> events = engine.step();
    const auto n_tokens = static_cast<int64_t>(engine.counters().n_tokens - before);
    context += n_tokens;
    if (n_tokens == 0) continue;
    (context <= n_prompt ? prompt : decode).add(times, engine, n_tokens, context);
  }
  engine.runner().set_step_times(nullptr);
  out.prompt_ops = prompt.figures();
  out.decode_ops = decode.figures();
  return ok_status();
}

/// `n_seqs` replies at once; the clock runs from when all have their first token.
Status measure_together(Engine& engine, int64_t n_seqs, int64_t n_prompt, int64_t n_gen, int64_t run,
                        Measured& out) {
  for (int64_t i = 0; i < n_seqs; ++i) {
    const int64_t seed = 100000 + run * n_seqs + i;
    SKUA_RETURN_IF_ERROR(
        engine.submit(some_request(engine, std::min(kTogetherPrompt, n_prompt), n_gen, seed)).status());
  }
  // Every row of logits becomes one token. What counts are the steps that serve all sequences.
  using Clock = std::chrono::steady_clock;
  const auto rows_of_a_step = [&] {
    const uint64_t before = engine.counters().n_rows;
    engine.step();
    return static_cast<int64_t>(engine.counters().n_rows - before);
  };
  while (!engine.idle() && rows_of_a_step() < n_seqs) {
  }
  const uint64_t rows_before = engine.counters().n_rows, steps_before = engine.counters().n_steps;
  uint64_t n_tokens = 0, n_steps = 0;
  const auto start = Clock::now();
  std::chrono::duration<double> taken{};
  while (!engine.idle() && rows_of_a_step() == n_seqs) {
    taken = Clock::now() - start;
    n_tokens = engine.counters().n_rows - rows_before;
    n_steps = engine.counters().n_steps - steps_before;
  }
  while (!engine.idle()) engine.step();
  if (n_steps == 0) {
    return invalid_argument("[bench] " + std::to_string(n_seqs) +
                            " sequences never ran in one step; ask for more --gen-tokens");
  }
  if (run < 0) return ok_status();
  out.together.push_back(static_cast<double>(n_tokens) / taken.count());
  out.together_steps = n_steps;
  out.together_tokens = n_tokens;
  return ok_status();
}

}  // namespace

double median(const std::vector<double>& sorted) {
  const size_t n = sorted.size();
  return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

Result<Measured> measure(Engine& engine, const OptionValues& options) {
  Measured out;
  const int64_t n_prompt = options.integer(Opt::kPromptTokens), n_gen = options.integer(Opt::kGenTokens);
  const int64_t n_runs = options.integer(Opt::kRepeat), n_seqs = options.integer(Opt::kSequences);
  SKUA_ASSIGN_OR_RETURN(out.bytes_per_token, weight_bytes_per_token(engine));
  ProgressBar bar("Measuring");
  for (int64_t run = -1; run < n_runs; ++run) {  // the first one only warms up
    SKUA_ASSIGN_OR_RETURN(const Reply reply,
                          generate(engine, some_request(engine, n_prompt, n_gen, run), nullptr,
                                   [&](std::string_view) { return ok_status(); }));
    if (n_seqs > 1) SKUA_RETURN_IF_ERROR(measure_together(engine, n_seqs, n_prompt, n_gen, run, out));
    bar.update(static_cast<uint64_t>(run + 2), static_cast<uint64_t>(n_runs + 3));
    if (run < 0) continue;
    const int32_t n_computed = reply.usage.prompt_tokens - reply.usage.cached_tokens;
    out.prompt.push_back(n_computed / reply.usage.prompt_seconds);
    out.decode.push_back((reply.usage.completion_tokens - 1) / reply.usage.decode_seconds);
  }
  SKUA_RETURN_IF_ERROR(measure_ops(engine, n_prompt, n_gen, n_runs, out));
  for (std::vector<double>* rates : {&out.prompt, &out.decode, &out.together})
    std::sort(rates->begin(), rates->end());
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  out.peak_bytes = static_cast<uint64_t>(used.ru_maxrss) * 1024;
  out.memory_speed = memory_read_speed(engine.options().n_threads);
  return out;
}

}  // namespace skua
