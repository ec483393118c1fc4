// Finds and loads the model that a command works on, and says what was loaded.
#include "skua/model_source.h"

#include <chrono>
#include <map>

#include "base/log.h"
#include "engine/load.h"
#include "engine/runner.h"
#include "skua/latent_report.h"
#include "skua/terminal.h"

namespace skua {
namespace {

constexpr const char* kDefaultModel = SKUA_DEFAULT_MODEL;

std::string line(const char* head, const std::string& text) {
  std::string out(head);
  out.resize(10, ' ');
  return out + text;
}

void report_kernels(Engine& engine) {
  const auto plan = engine.runner().plan_for(1, 1, 1);
  if (!plan.ok()) return;
  std::map<std::string, int> counts;
  for (const Step& step : (*plan)->steps) ++counts[step.kernel];
  std::string text;
  for (const auto& [kernel, n] : counts)
    text += (text.empty() ? "" : ", ") + kernel + " x" + std::to_string(n);
  log_info(line("kernels", text + " (one token)"));
}

void report_load(Engine& engine, double seconds) {
  const ModelInfo& model = engine.model();
  const LoadReport& report = engine.load_report();
  const auto number = [](int64_t n) { return std::to_string(n); };
  log_info(line("model", model.model_type + ", " + number(model.n_layers) + " layers, d_model " +
                             number(model.d_model) + ", " + number(model.n_heads) + " heads over " +
                             number(model.n_kv_heads) + ", vocabulary " + number(model.n_vocab)));
  log_info(line("tensors", number(static_cast<int64_t>(report.used.size())) + " used, " +
                               number(static_cast<int64_t>(report.ignored.size())) + " left out"));
  for (const std::string& ignored : report.ignored) log_info(line("", "left out " + ignored));
  log_info(line("backend", engine.backend_description()));
  report_kernels(engine);
  const MemoryReport memory = engine.memory();
  log_info(line("memory", "weights " + human_bytes(memory.weight_bytes) + " + cache " +
                              human_bytes(memory.cache_bytes) + " (" + number(engine.options().context) +
                              " tokens, " + human_bytes(memory.cache_bytes_per_token) + " each)"));
  log_info(line("loaded", "in " + human_rate(seconds) + " s"));
}

}  // namespace

StoreRoots store_roots(const OptionValues& options) {
  ModelFolders folders = model_folders(options);
  return {std::move(folders.home), std::move(folders.hub_caches)};
}

Result<std::filesystem::path> locate_model(const OptionValues& options, const std::string& model) {
  const StoreRoots roots = store_roots(options);
  if (!model.empty()) return resolve_model(roots, model);
  auto path = resolve_model(roots, kDefaultModel);
  if (path.ok() || path.status().code() != Code::kNotFound) return path;
  return not_found(std::string("the default model ") + kDefaultModel + " is not in the store (" +
                   (roots.home / "models").string() +
                   "); get it with ./quickstart in skua's folder, or name a model: skua run PATH");
}

Result<std::unique_ptr<Checkpoint>> open_model(const OptionValues& options, const std::string& model) {
  SKUA_ASSIGN_OR_RETURN(const std::filesystem::path path, locate_model(options, model));
  SKUA_ASSIGN_OR_RETURN(auto checkpoint, open_checkpoint(path));
  for (const std::string& note : checkpoint->notes()) log_warning(note);
  return checkpoint;
}

EngineOptions engine_options(const OptionValues& options) {
  EngineOptions out;
  out.backend = options.text(Opt::kBackend);
  out.compute = options.text(Opt::kCompute);
  out.isa = options.text(Opt::kIsa);
  out.mla_prefill = options.text(Opt::kMlaPrefill);
  out.cache_type = options.text(Opt::kCacheType);
  out.n_threads = static_cast<int32_t>(options.integer(Opt::kThreads));
  out.context = static_cast<int32_t>(options.integer(Opt::kContext));
  out.cache_tokens = static_cast<int32_t>(options.integer(Opt::kCacheTokens));
  out.speculate = options.text(Opt::kSpeculate);
  out.draft = options.text(Opt::kDraft);
  out.max_draft = static_cast<int32_t>(options.integer(Opt::kMaxDraft));
  out.trace = options.text(Opt::kTrace);
  if (options.flag(Opt::kAllowUnknownConfig)) out.config_policy = ConfigPolicy::kAllowUnknown;
  return out;
}

Result<std::unique_ptr<Engine>> load_engine(const OptionValues& options, const std::string& model,
                                            const EngineOptions& engine_options) {
  EngineOptions wanted = engine_options;
  if (!wanted.draft.empty()) {
    SKUA_ASSIGN_OR_RETURN(const auto path, locate_model(options, wanted.draft));
    wanted.draft = path.string();
  }
  const auto start = std::chrono::steady_clock::now();
  SKUA_ASSIGN_OR_RETURN(auto checkpoint, open_model(options, model));
  log_info(line("file", checkpoint->source()));
  Result<std::unique_ptr<Engine>> engine = [&] {
    ProgressBar bar("Loading");
    return Engine::open(std::move(checkpoint), wanted,
                        [&](uint64_t done, uint64_t total) { bar.update(done, total); });
  }();
  if (!engine.ok()) return engine;
  for (const std::string& warning : (*engine)->load_report().warnings) log_warning(warning);
  if (log_enabled(LogLevel::kInfo)) {
    report_load(**engine, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return engine;
}

void report_latents(const Engine& engine) {
  for (const std::string& text : latent_lines(engine.latent_counters())) log_info(line("latents", text));
}

void warn_of_saturation(const Engine& engine) {
  const uint64_t n = engine.saturated_cache_values();
  if (n == 0) return;
  const std::string& type = engine.options().cache_type;
  const bool f16 = type == "f16";
  log_warning("--cache-type " + type + ": " + std::to_string(n) + " keys or values lay beyond " +
              (f16 ? "65504" : "its largest number") +
              " and were kept as that; results are off. Use --cache-type " + (f16 ? "bf16" : "f32"));
}

}  // namespace skua
