// skua bench: prompt and decode speed, op by op, and how near decoding comes to the memory's speed.
#include <algorithm>
#include <cstdio>

#include "base/json.h"
#include "ir/graph.h"
#include "skua/bench_measure.h"
#include "skua/bench_mla.h"
#include "skua/commands.h"
#include "skua/latent_report.h"
#include "skua/model_source.h"
#include "skua/synth.h"
#include "skua/terminal.h"
#include "skua/texts.h"

namespace skua {
namespace {

double weight_speed(const Measured& m) { return static_cast<double>(m.bytes_per_token) * median(m.decode); }

Json ops_json(const std::vector<OpFigures>& ops, double memory_speed) {
  Json out = Json::array();
  for (const OpFigures& op : ops) {
    Json one = Json::object();
    const double speed = op.seconds > 0 ? static_cast<double>(op.bytes) / op.seconds : 0;
    one.set("op", op.op);
    one.set("kernel", op.kernel);
    one.set("count", op.count);
    one.set("seconds", op.seconds);
    one.set("bytes", op.bytes);
    one.set("flops", op.flops);
    one.set("bytes_per_second", speed);
    one.set("share_of_memory_speed", memory_speed > 0 ? Json(speed / memory_speed) : Json());
    out.push_back(std::move(one));
  }
  return out;
}

/// One line per op and kernel: how often, time per step, share of the step, bytes, GB/s, share of the
/// memory's speed, Gop/s.
std::string ops_table(const char* head, const std::vector<OpFigures>& ops, double memory_speed) {
  double total = 0;
  for (const OpFigures& op : ops) total += op.seconds;
  char line[256];
  std::snprintf(line, sizeof line, "\n%-52s %5s %9s %6s %10s %7s %7s %8s\n", head, "count", "us", "time",
                "MB read", "GB/s", "memory", "Gop/s");
  std::string out = line;
  for (const OpFigures& op : ops) {
    const double speed = op.seconds > 0 ? static_cast<double>(op.bytes) / op.seconds : 0;
    std::snprintf(line, sizeof line, "%-52s %5lld %9.1f %5.1f%% %10.3f %7.2f %6.0f%% %8.1f\n",
                  op.kernel.c_str(), static_cast<long long>(op.count), op.seconds * 1e6,
                  total > 0 ? 100 * op.seconds / total : 0.0, static_cast<double>(op.bytes) / 1e6,
                  speed / 1e9, memory_speed > 0 ? 100 * speed / memory_speed : 0.0,
                  op.seconds > 0 ? static_cast<double>(op.flops) / op.seconds / 1e9 : 0.0);
    out += line;
  }
  std::snprintf(line, sizeof line, "%-52s %5s %9.1f\n", "sum", "", total * 1e6);
  return out + line;
}

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
  if (!m.together.empty()) {
    Json together = rate(options.integer(Opt::kGenTokens), m.together);
    together.set("sequences", options.integer(Opt::kSequences));
    together.set("steps", m.together_steps);
    together.set("tokens_made", m.together_tokens);
    together.set("times_one", median(m.together) / median(m.decode));
    out.set("together", std::move(together));
  }
  out.set("peak_memory_bytes", m.peak_bytes);
  out.set("weight_bytes", engine.memory().weight_bytes);
  out.set("weight_bytes_per_token", m.bytes_per_token);
  out.set("weight_bytes_per_second", weight_speed(m));
  out.set("memory_read_bytes_per_second", m.memory_speed);
  out.set("share_of_memory_speed", m.memory_speed > 0 ? Json(weight_speed(m) / m.memory_speed) : Json());
  out.set("latents", latent_json(engine.latent_counters()));
  out.set("decode_ops", ops_json(m.decode_ops, m.memory_speed));
  out.set("prompt_ops", ops_json(m.prompt_ops, m.memory_speed));
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
  if (!m.together.empty()) {
    const std::string head =
        "together " + std::to_string(options.integer(Opt::kSequences)) + " sequences of ";
    out += row(head.c_str(), options.integer(Opt::kGenTokens), m.together);
    out += "         " + human_rate(median(m.together) / median(m.decode)) + " times one; " +
           std::to_string(m.together_tokens) + " tokens in " + std::to_string(m.together_steps) +
           " readings of the weights\n";
  }
  out += "weights  " + human_bytes(m.bytes_per_token) + " read per token, " +
         human_rate(weight_speed(m) / 1e9) + " GB/s";
  if (m.memory_speed > 0) {
    out += " = " + std::to_string(static_cast<int>(100 * weight_speed(m) / m.memory_speed + 0.5)) +
           "% of the memory's " + human_rate(m.memory_speed / 1e9) + " GB/s";
  }
  out += "\nmemory   " + human_bytes(m.peak_bytes) + " at most, weights " +
         human_bytes(engine.memory().weight_bytes) + "\n";
  for (const std::string& text : latent_lines(engine.latent_counters())) out += "latents  " + text + "\n";
  return out + ops_table("decode, one step", m.decode_ops, m.memory_speed) +
         ops_table("prompt, one step", m.prompt_ops, m.memory_speed);
}

Result<std::unique_ptr<Engine>> open_synthetic(const OptionValues& options, const std::string& config,
                                               const EngineOptions& settings) {
  SKUA_ASSIGN_OR_RETURN(auto checkpoint, synthetic_checkpoint(options, config));
  ProgressBar bar("Loading");
  return Engine::open(std::move(checkpoint), settings,
                      [&](uint64_t done, uint64_t total) { bar.update(done, total); });
}

/// Options typed that would change nothing are refused; a variable may stand there for other commands.
Status refuse_typed(const OptionValues& options, std::initializer_list<Opt> ids, const std::string& why) {
  for (const Opt id : ids) {
    if (options.source(id) == OptionSource::kCommandLine)
      return invalid_argument("--" + std::string(option_info(id).name) + why);
  }
  return ok_status();
}

Status check_bench_options(const OptionValues& options, const std::string& model, bool mla) {
  if (mla) {
    return refuse_typed(options,
                        {Opt::kPromptTokens, Opt::kGenTokens, Opt::kInMemory, Opt::kQuant, Opt::kGroup,
                         Opt::kSeed, Opt::kCompute, Opt::kMlaPrefill, Opt::kAllowUnknownConfig},
                        " changes nothing of bench mla; leave it out (a model that is called mla needs -m)");
  }
  if (!options.flag(Opt::kInMemory)) {
    return refuse_typed(options, {Opt::kQuant, Opt::kGroup, Opt::kSeed},
                        " is of --in-memory; a model's own weights are measured as they are");
  }
  return check_synth_usage(options, model);
}

/// The context that the runs need; a larger one that is asked for is taken.
Result<int32_t> bench_context(const OptionValues& options) {
  const int64_t needed = options.integer(Opt::kPromptTokens) + options.integer(Opt::kGenTokens);
  // A sequence is admitted when one page more than its prompt is free.
  const int64_t spare = options.integer(Opt::kSequences) > 1 ? kPageTokens : 0;
  const auto most = static_cast<int64_t>(option_info(Opt::kContext).high);
  if (needed + spare > most) {
    return invalid_argument("--prompt-tokens plus --gen-tokens: expected at most " +
                            std::to_string(most - spare) + " together, got " + std::to_string(needed));
  }
  const int64_t asked = options.integer(Opt::kContext);
  if (asked == 0) return static_cast<int32_t>(needed + spare);
  if (asked >= needed) return static_cast<int32_t>(asked);
  return invalid_argument("--context: expected at least " + std::to_string(needed) +
                          " (--prompt-tokens plus --gen-tokens), got " + std::to_string(asked));
}

}  // namespace

Exit bench_command(const CommandInput& input) {
  const OptionValues& options = input.options;
  const std::string model = split_arguments(input).model;
  const bool mla = !options.given(Opt::kModel) && input.arguments == std::vector<std::string>{"mla"};
  const Status usage = check_bench_options(options, model, mla);
  if (!usage.ok()) return fail(usage, Exit::kUsage);
  if (mla) return bench_mla(options);
  const auto context = bench_context(options);
  if (!context.ok()) return fail(context.status(), Exit::kUsage);
  EngineOptions engine_settings = engine_options(options);
  engine_settings.context = *context;
  engine_settings.max_seqs = static_cast<int32_t>(options.integer(Opt::kSequences));
  const auto engine = options.flag(Opt::kInMemory) ? open_synthetic(options, model, engine_settings)
                                                   : load_engine(options, model, engine_settings);
  if (!engine.ok()) return fail(engine.status());
  const auto measured = measure(**engine, options);
  if (!measured.ok()) return fail(measured.status());
  warn_of_saturation(**engine);
  return print_and_exit(options.flag(Opt::kJson) ? as_json(**engine, options, *measured)
                                                 : as_table(**engine, options, *measured));
}

}  // namespace skua
