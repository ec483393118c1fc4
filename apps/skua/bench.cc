// skua bench: prompt and decode speed, and how near decoding comes to the memory's speed.
#include <algorithm>
#include <numeric>

#include "base/json.h"
#include "engine/runner.h"
#include "skua/commands.h"
#include "skua/generate.h"
#include "skua/memory_speed.h"
#include "skua/model_source.h"
#include "skua/terminal.h"
#include "skua/texts.h"

namespace skua {
namespace {

struct Measured {
  std::vector<double> prompt, decode;  // tokens per second, one per run, sorted
  double memory_speed = 0;             // bytes per second
  uint64_t bytes_per_token = 0;        // weights read for one token
};

double median(const std::vector<double>& sorted) {
  const size_t n = sorted.size();
  return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/// Weight bytes that the plan of one token reads; of an embedding table, the one row.
Result<uint64_t> weight_bytes_per_token(Engine& engine) {
  SKUA_ASSIGN_OR_RETURN(const Plan* plan, engine.runner().plan_for(1, 1, 1));
  uint64_t sum = 0;
  for (const Step& step : plan->steps) {
    for (const Use& use : step.uses) {
      const BufferInfo& buffer = plan->buffers[use.buffer.value()];
      if (buffer.kind != BufferKind::kWeight) continue;
      const uint64_t bytes = use.end - use.begin;
      const int64_t rows = plan->graph.weights[buffer.index].rows;
      sum += step.op == "embed" ? bytes / static_cast<uint64_t>(rows) : bytes;
    }
  }
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

Result<Measured> measure(Engine& engine, const OptionValues& options) {
  Measured out;
  const int64_t n_prompt = options.integer(Opt::kPromptTokens), n_gen = options.integer(Opt::kGenTokens);
  const int64_t n_runs = options.integer(Opt::kRepeat);
  SKUA_ASSIGN_OR_RETURN(out.bytes_per_token, weight_bytes_per_token(engine));
  out.memory_speed = memory_read_speed(engine.options().n_threads);
  ProgressBar bar("Measuring");
  for (int64_t run = -1; run < n_runs; ++run) {  // the first one only warms up
    GenerateRequest request;
    request.prompt_ids = some_prompt(n_prompt, engine.model().n_vocab, run);
    request.max_tokens = static_cast<int32_t>(n_gen);
    request.sampling.temperature = 0;
    request.end_tokens = EndTokens::kIgnore;
    request.speculate = false;  // the plain speed: one token per reading of the weights
    SKUA_ASSIGN_OR_RETURN(const Reply reply, generate(engine, std::move(request), nullptr,
                                                      [&](std::string_view) { return ok_status(); }));
    bar.update(static_cast<uint64_t>(run + 2), static_cast<uint64_t>(n_runs + 1));
    if (run < 0) continue;
    const int32_t n_computed = reply.usage.prompt_tokens - reply.usage.cached_tokens;
    out.prompt.push_back(n_computed / reply.usage.prompt_seconds);
    out.decode.push_back((reply.usage.completion_tokens - 1) / reply.usage.decode_seconds);
  }
  std::sort(out.prompt.begin(), out.prompt.end());
  std::sort(out.decode.begin(), out.decode.end());
  return out;
}

double weight_speed(const Measured& m) { return static_cast<double>(m.bytes_per_token) * median(m.decode); }

std::string as_json(const Engine& engine, const OptionValues& options, const Measured& m) {
  const auto rate = [](int64_t n, const std::vector<double>& rates) {
    Json out = Json::object();
    out.set("tokens", n);
    out.set("tokens_per_second", median(rates));
    out.set("least", rates.front());
    out.set("most", rates.back());
    return out;
  };
  Json out = Json::object();
  out.set("model_type", engine.model().model_type);
  out.set("backend", engine.backend_description());
  out.set("threads", engine.options().n_threads);
  out.set("runs", static_cast<int64_t>(m.prompt.size()));
  out.set("prompt", rate(options.integer(Opt::kPromptTokens), m.prompt));
  out.set("decode", rate(options.integer(Opt::kGenTokens), m.decode));
  out.set("weight_bytes", engine.memory().weight_bytes);
  out.set("weight_bytes_per_token", m.bytes_per_token);
  out.set("weight_bytes_per_second", weight_speed(m));
  out.set("memory_read_bytes_per_second", m.memory_speed);
  out.set("share_of_memory_speed", m.memory_speed > 0 ? Json(weight_speed(m) / m.memory_speed) : Json());
  return out.dump(2) + "\n";
}

std::string as_table(const Engine& engine, const OptionValues& options, const Measured& m) {
  const auto row = [&](const char* head, int64_t n, const std::vector<double>& rates) {
    return std::string(head) + std::to_string(n) + " tokens, " + human_rate(median(rates)) +
           " tok/s (median of " + std::to_string(rates.size()) + ", " + human_rate(rates.front()) + " to " +
           human_rate(rates.back()) + ")\n";
  };
  std::string out = "backend  " + engine.backend_description() + "\n";
  out += row("prompt   ", options.integer(Opt::kPromptTokens), m.prompt);
  out += row("decode   ", options.integer(Opt::kGenTokens), m.decode);
  out += "weights  " + human_bytes(m.bytes_per_token) + " read per token, " +
         human_rate(weight_speed(m) / 1e9) + " GB/s";
  if (m.memory_speed > 0) {
    out += " = " + std::to_string(static_cast<int>(100 * weight_speed(m) / m.memory_speed + 0.5)) +
           "% of the memory's " + human_rate(m.memory_speed / 1e9) + " GB/s";
  }
  return out + "\n";
}

}  // namespace

Exit bench_command(const CommandInput& input) {
  const OptionValues& options = input.options;
  EngineOptions engine_settings = engine_options(options);
  const int64_t needed = options.integer(Opt::kPromptTokens) + options.integer(Opt::kGenTokens);
  if (engine_settings.context == 0) engine_settings.context = static_cast<int32_t>(needed);
  if (engine_settings.context < needed) {
    return fail(invalid_argument("--context: expected at least " + std::to_string(needed) +
                                 " (--prompt-tokens plus --gen-tokens), got " +
                                 std::to_string(engine_settings.context)),
                Exit::kUsage);
  }
  const auto engine = load_engine(options, split_arguments(input).model, engine_settings);
  if (!engine.ok()) return fail(engine.status());
  const auto measured = measure(**engine, options);
  if (!measured.ok()) return fail(measured.status());
  return print_and_exit(options.flag(Opt::kJson) ? as_json(**engine, options, *measured)
                                                 : as_table(**engine, options, *measured));
}

}  // namespace skua
