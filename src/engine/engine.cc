// Opening a model and taking requests. The loop itself is step.cc.
#include "engine/engine.h"

#include <algorithm>

#include "backend/all/make_backend.h"
#include "base/threads.h"
#include "engine/engine_impl.h"
#include "models/gguf_import.h"

namespace skua {
namespace {

constexpr int32_t kDefaultContextLimit = 8192;

Status check_options(const EngineOptions& options) {
  const auto range = [](const char* name, int64_t value, int64_t low, int64_t high) {
    if (value >= low && value <= high) return ok_status();
    return invalid_argument("[engine] " + std::string(name) + " must be " + std::to_string(low) + " to " +
                            std::to_string(high) + ", got " + std::to_string(value));
  };
  SKUA_RETURN_IF_ERROR(range("threads", options.n_threads, 1, 1024));
  SKUA_RETURN_IF_ERROR(range("context", options.context, 0, 1 << 24));
  SKUA_RETURN_IF_ERROR(range("sequences", options.max_seqs, 1, 4096));
  return range("prefill chunk", options.prefill_chunk, 1, 65536);
}

}  // namespace

Result<int32_t> resolve_context(int32_t asked, int32_t model_limit) {
  if (asked == 0) return std::min(model_limit, kDefaultContextLimit);
  if (asked <= model_limit) return asked;
  return invalid_argument("[engine] a context of " + std::to_string(asked) +
                          " tokens was asked for, the model was made for " + std::to_string(model_limit));
}

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
  SKUA_ASSIGN_OR_RETURN(impl->backend, make_backend({o.backend, o.compute, o.isa, o.n_threads}));
  SKUA_ASSIGN_OR_RETURN(impl->text, load_text(*checkpoint));
  SKUA_ASSIGN_OR_RETURN(impl->checkpoint, import_gguf(std::move(checkpoint), o.config_policy));
  SKUA_ASSIGN_OR_RETURN(impl->model,
                        load_model(*impl->checkpoint, *impl->backend, o.config_policy, progress));
  SKUA_ASSIGN_OR_RETURN(o.context, resolve_context(o.context, impl->model.info.max_context));
  o.prefill_chunk = std::max(o.prefill_chunk, o.max_seqs);
  SKUA_ASSIGN_OR_RETURN(impl->runner, Runner::create(impl->model, *impl->backend,
                                                     {o.context, o.prefill_chunk, o.max_seqs, o.fusion}));
  impl->scheduler = std::make_unique<Scheduler>(SchedulerLimits{o.max_seqs, o.prefill_chunk, 1024});
  impl->end_ids = impl->model.info.end_ids;
  impl->end_ids.insert(impl->end_ids.end(), impl->text.end_ids.begin(), impl->text.end_ids.end());
  return std::unique_ptr<Engine>(new Engine(std::move(impl)));
}

const EngineOptions& Engine::options() const { return impl_->options; }
const ModelInfo& Engine::model() const { return impl_->model.info; }
const LoadReport& Engine::load_report() const { return impl_->model.report; }
const Tokenizer* Engine::tokenizer() const { return impl_->text.tokenizer.get(); }
const std::string& Engine::chat_template() const { return impl_->text.template_source; }
std::string Engine::backend_description() const { return impl_->backend->description(); }
Runner& Engine::runner() { return *impl_->runner; }

MemoryReport Engine::memory() const {
  return {impl_->model.weight_bytes, impl_->runner->cache_bytes(), impl_->runner->cache_bytes_per_token(),
          impl_->runner->arena_bytes()};
}

Result<SeqId> Engine::submit(GenerateRequest request) {
  Impl& e = *impl_;
  const auto n_prompt = static_cast<int64_t>(request.prompt_ids.size());
  if (n_prompt == 0) return invalid_argument("[request] the prompt is empty; at least one token is needed");
  if (n_prompt >= e.options.context) {
    return invalid_argument("[request] the prompt has " + std::to_string(n_prompt) +
                            " tokens, but the context holds " + std::to_string(e.options.context) +
                            " and the reply needs at least one; shorten the prompt or raise --context");
  }
  for (int32_t id : request.prompt_ids) {
    if (id < 0 || id >= e.model.info.n_vocab) {
      return invalid_argument("[request] token id " + std::to_string(id) + " is outside the vocabulary of " +
                              std::to_string(e.model.info.n_vocab));
    }
  }
  if (request.max_tokens == 0 || request.max_tokens < -1) {
    return invalid_argument("[request] max tokens must be at least 1 (or -1 for no limit), got " +
                            std::to_string(request.max_tokens));
  }
  SKUA_RETURN_IF_ERROR(validate(request.sampling));
  auto seq = std::make_unique<Sequence>();
  SKUA_ASSIGN_OR_RETURN(seq->stops, StopMatcher::make(request.stop));
  if (!request.stop.empty() && e.text.tokenizer == nullptr) {
    return invalid_argument("[request] stop strings need a tokenizer, and the checkpoint has none");
  }
  if (e.text.tokenizer != nullptr) seq->decoder.emplace(*e.text.tokenizer);
  seq->id = SeqId(e.next_seq++);
  seq->ids = request.prompt_ids;
  seq->n_prompt = static_cast<int32_t>(n_prompt);
  const int64_t wanted = request.max_tokens < 0 ? e.options.context : n_prompt + request.max_tokens;
  seq->max_ids = static_cast<int32_t>(std::min<int64_t>(wanted, e.options.context));
  seq->request = std::move(request);
  const SeqId id = seq->id;
  SKUA_RETURN_IF_ERROR(e.scheduler->enqueue(std::move(seq)));
  return id;
}

void Engine::cancel(SeqId seq) {
  for (auto& slot : impl_->cancels) {
    uint64_t empty = 0;
    if (slot.compare_exchange_strong(empty, seq.value())) return;
  }
}

bool Engine::idle() const { return impl_->scheduler->idle(); }

Result<std::string> Engine::print_plan(int32_t n_tokens, PlanFormat format) {
  if (n_tokens < 1 || n_tokens > impl_->options.prefill_chunk) {
    return invalid_argument("[plan] a step has 1 to " + std::to_string(impl_->options.prefill_chunk) +
                            " tokens, got " + std::to_string(n_tokens));
  }
  SKUA_ASSIGN_OR_RETURN(const Plan* plan, impl_->runner->plan_for(n_tokens, 1, 1));
  return format == PlanFormat::kDot ? dump_dot(*plan) : dump(*plan);
}

void Engine::Impl::apply_cancels() {
  for (auto& slot : cancels) {
    const uint64_t id = slot.exchange(0);
    if (id != 0) finish(SeqId(id), FinishReason::kCancelled);
  }
}

void Engine::Impl::fail_all(const Status& status) {
  for (SeqId id : scheduler->all()) finish(id, FinishReason::kError, status);
}

void Engine::Impl::drop_windows() {
  CacheManager& cache = runner->cache();
  scheduler->for_each_running(
      [&](Sequence& seq) { cache.drop_windows(seq.pages, seq.n_cached, runner->step()); });
  for (PagePool& pool : cache.pools()) pool.reclaim(runner->step());
}

}  // namespace skua
