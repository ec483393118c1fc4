// Opening a model and taking requests. The loop itself is step.cc.
#include "engine/engine.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "backend/all/make_backend.h"
#include "base/log.h"
#include "base/threads.h"
#include "engine/draft_model.h"
#include "engine/load.h"
#include "engine/runner.h"
#include "engine/state_file.h"
#include "engine/text_setup.h"
#include "models/latent_bytes.h"
#include "models/text_part.h"

namespace skua {
namespace {

constexpr int32_t kDefaultContextLimit = 8192;

double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Status check_options(const EngineOptions& options) {
  const auto range = [](const char* name, int64_t value, int64_t low, int64_t high) {
    if (value >= low && value <= high) return ok_status();
    return invalid_argument("[engine] " + std::string(name) + " must be " + std::to_string(low) + " to " +
                            std::to_string(high) + ", got " + std::to_string(value));
  };
  SKUA_RETURN_IF_ERROR(range("threads", options.n_threads, 1, 1024));
  SKUA_RETURN_IF_ERROR(range("context", options.context, 0, 1 << 24));
  SKUA_RETURN_IF_ERROR(range("sequences", options.max_seqs, 1, 4096));
  SKUA_RETURN_IF_ERROR(range("max draft", options.max_draft, 1, 15));
  SKUA_RETURN_IF_ERROR(range("cache tokens", options.cache_tokens, 0, INT32_MAX));
  return range("prefill chunk", options.prefill_chunk, 1, 65536);
}

Result<std::unique_ptr<Proposer>> load_draft(const EngineOptions& options, Backend& backend,
                                             const Tokenizer* tokenizer) {
  SKUA_ASSIGN_OR_RETURN(auto checkpoint, open_checkpoint(options.draft));
  SKUA_ASSIGN_OR_RETURN(const TextSetup text, load_text(*checkpoint));
  if (tokenizer == nullptr || text.tokenizer == nullptr) {
    return invalid_argument("[draft] both models need a tokenizer, to show that they share a vocabulary");
  }
  SKUA_RETURN_IF_ERROR(check_same_vocabulary(*tokenizer, *text.tokenizer));
  std::vector<std::string> notices;
  SKUA_ASSIGN_OR_RETURN(checkpoint, import_checkpoint(std::move(checkpoint), options.config_policy, notices));
  for (const std::string& notice : notices) log_warning("draft: " + notice);
  SKUA_ASSIGN_OR_RETURN(LoadedModel model, load_model(*checkpoint, backend, options.config_policy, nullptr));
  DraftOptions draft{std::min(options.context, model.info.max_context), options.max_seqs,
                     options.prefill_chunk};
  SKUA_ASSIGN_OR_RETURN(auto out, DraftModel::create(std::move(model), backend, draft));
  return std::unique_ptr<Proposer>(std::move(out));
}

Result<std::unique_ptr<Proposer>> make_proposer(const EngineOptions& options, Backend& backend,
                                                const Tokenizer* tokenizer) {
  const std::string& how = options.speculate;
  if (how != "auto" && how != "off" && how != "lookup" && how != "draft") {
    return invalid_argument("[engine] speculate must be auto, off, lookup or draft, got \"" + how + "\"");
  }
  if (how == "draft" && options.draft.empty()) {
    return invalid_argument("[engine] speculate is draft, but no draft model is given");
  }
  if (how == "off") return std::unique_ptr<Proposer>();
  if (how == "lookup" || options.draft.empty()) return make_prompt_lookup();
  return load_draft(options, backend, tokenizer);
}

/// An id that the model cannot give is worth a word.
void warn_of_end_ids(const std::vector<int32_t>& end_ids, int32_t n_vocab,
                     std::vector<std::string>& warnings) {
  for (int32_t id : std::set<int32_t>(end_ids.begin(), end_ids.end())) {
    if (id < n_vocab) continue;
    warnings.push_back("the end token " + std::to_string(id) + " is outside the vocabulary of " +
                       std::to_string(n_vocab) + ": it can never end a reply");
  }
}

}  // namespace

Result<int32_t> resolve_context(int32_t asked, int32_t model_limit) {
  if (asked == 0) return std::min(model_limit, kDefaultContextLimit);
  if (asked <= model_limit) return asked;
  return invalid_argument("[engine] a context of " + std::to_string(asked) +
                          " tokens was asked for, the model was made for " + std::to_string(model_limit));
}

struct Engine::Impl {
  EngineOptions options;
  std::unique_ptr<Checkpoint> checkpoint;
  std::unique_ptr<Backend> backend;
  LoadedModel model;
  TextSetup text;
  std::unique_ptr<Runner> runner;
  std::unique_ptr<Proposer> proposer;
  std::unique_ptr<Trace> trace;
  std::unique_ptr<EngineCore> core;
};

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

Result<std::unique_ptr<Engine>> Engine::open(const std::filesystem::path& path, const EngineOptions& options,
                                             const Progress& progress) {
  SKUA_ASSIGN_OR_RETURN(auto checkpoint, open_checkpoint(path));
  return open(std::move(checkpoint), options, progress);
}

Result<std::unique_ptr<Engine>> Engine::open(std::unique_ptr<Checkpoint> checkpoint,
                                             const EngineOptions& options, const Progress& progress) {
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  EngineOptions& o = impl->options;
  if (o.n_threads == 0) o.n_threads = available_cpus();
  SKUA_RETURN_IF_ERROR(check_options(o));
  SKUA_ASSIGN_OR_RETURN(
      impl->backend, make_backend({o.backend, o.compute, o.isa, o.mla_prefill, o.cache_type, o.n_threads}));
  SKUA_ASSIGN_OR_RETURN(impl->text, load_text(*checkpoint));
  std::vector<std::string> notices;
  SKUA_ASSIGN_OR_RETURN(impl->checkpoint, import_checkpoint(std::move(checkpoint), o.config_policy, notices));
  SKUA_ASSIGN_OR_RETURN(const auto parsed, parse_model(impl->checkpoint->config(), o.config_policy));
  SKUA_ASSIGN_OR_RETURN(o.context, resolve_context(o.context, parsed->info().max_context));
  SKUA_ASSIGN_OR_RETURN(impl->model,
                        load_model(*impl->checkpoint, *impl->backend, o.config_policy, progress, o.context));
  std::vector<std::string>& warnings = impl->model.report.warnings;
  warnings.insert(warnings.begin(), notices.begin(), notices.end());
  if (o.mla_prefill == "fast" && !latent_sizes(impl->model.graph)) {
    warnings.push_back("--mla-prefill fast changes nothing: this model has no latent attention");
  }
  if (o.cache_type != "f32" && !keeps_heads(impl->model.graph)) {
    warnings.push_back(
        "--cache-type " + o.cache_type +
        " changes nothing: this model keeps no keys and values of heads (latent rows and states "
        "are f32)");
  }
  o.prefill_chunk = std::max(o.prefill_chunk, o.max_seqs);
  SKUA_ASSIGN_OR_RETURN(impl->runner,
                        Runner::create(impl->model, *impl->backend,
                                       {o.context, o.prefill_chunk, o.max_seqs, o.fusion, o.cache_tokens}));
  CoreOptions core;
  core.context = o.context;
  core.context_limit = parsed->info().max_context;
  core.n_vocab = impl->model.info.n_vocab;
  core.max_seqs = o.max_seqs;
  core.max_tokens = o.prefill_chunk;
  core.end_ids = impl->model.info.end_ids;
  core.end_ids.insert(core.end_ids.end(), impl->text.end_ids.begin(), impl->text.end_ids.end());
  warnings.insert(warnings.end(), impl->text.warnings.begin(), impl->text.warnings.end());
  warn_of_end_ids(core.end_ids, core.n_vocab, warnings);
  core.tokenizer = impl->text.tokenizer.get();
  core.clock = monotonic_seconds;
  SKUA_ASSIGN_OR_RETURN(impl->proposer, make_proposer(o, *impl->backend, impl->text.tokenizer.get()));
  core.proposer = impl->proposer.get();
  core.speculation.max_draft = o.max_draft;
  if (!o.trace.empty()) {
    SKUA_ASSIGN_OR_RETURN(impl->trace, Trace::create(o.trace));
    core.trace = impl->trace.get();
  }
  impl->core = std::make_unique<EngineCore>(*impl->runner, std::move(core));
  return std::unique_ptr<Engine>(new Engine(std::move(impl)));
}

const EngineOptions& Engine::options() const { return impl_->options; }
const ModelInfo& Engine::model() const { return impl_->model.info; }
const LoadReport& Engine::load_report() const { return impl_->model.report; }
const Tokenizer* Engine::tokenizer() const { return impl_->text.tokenizer.get(); }
const ChatTemplateSources& Engine::chat_templates() const { return impl_->text.templates; }
std::string Engine::backend_description() const { return impl_->backend->description(); }
Runner& Engine::runner() { return *impl_->runner; }

MemoryReport Engine::memory() const {
  return {impl_->model.weight_bytes, impl_->runner->cache_bytes(), impl_->runner->cache_bytes_per_token(),
          impl_->runner->arena_bytes()};
}

Result<SeqId> Engine::submit(GenerateRequest request) { return impl_->core->submit(std::move(request)); }
void Engine::cancel(SeqId seq) { impl_->core->cancel(seq); }
void Engine::drain() { impl_->core->drain(); }
std::vector<StreamEvent> Engine::step() { return impl_->core->step(); }
Status Engine::finish_trace() { return impl_->trace == nullptr ? ok_status() : impl_->trace->close(); }
bool Engine::idle() const { return impl_->core->idle(); }
const CoreCounters& Engine::counters() const { return impl_->core->counters(); }
LatentCounters Engine::latent_counters() const { return impl_->backend->latent_counters(); }

uint64_t Engine::saturated_cache_values() const { return impl_->backend->saturated_cache_values(); }

Result<int32_t> Engine::save_state(std::span<const int32_t> ids, const std::filesystem::path& path) {
  return skua::save_state(*impl_->runner, ids, path);
}

Result<std::vector<int32_t>> Engine::restore_state(const std::filesystem::path& path) {
  return skua::restore_state(*impl_->runner, path);
}

Result<std::string> Engine::print_plan(int32_t n_tokens, PlanFormat format) {
  if (n_tokens < 1 || n_tokens > impl_->options.prefill_chunk) {
    return invalid_argument("[plan] a step has 1 to " + std::to_string(impl_->options.prefill_chunk) +
                            " tokens, got " + std::to_string(n_tokens));
  }
  SKUA_ASSIGN_OR_RETURN(const Plan* plan, impl_->runner->plan_for(n_tokens, 1, 1));
  return format == PlanFormat::kDot ? dump_dot(*plan) : dump(*plan);
}

}  // namespace skua
