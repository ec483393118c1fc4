// Plans by capacity, memory of caches, inputs and arena, and one step through the backend.
#include "engine/runner.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "backend/read_floats.h"
#include "base/checksum.h"
#include "base/math.h"

namespace skua {
namespace {

constexpr size_t kMaxPlans = 24;

/// Smallest of 1, 2, 4, 8, 16, ... at or above n, but at most `limit`.
int32_t bucket(int32_t n, int32_t limit) {
  int32_t size = 1;
  while (size < n) size *= 2;
  return std::max(n, std::min(size, limit));
}

template <typename T>
std::span<const std::byte> as_bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span<const T>(values));
}

}  // namespace

Runner::Runner(const LoadedModel& model, Backend& backend, const RunnerOptions& options)
    : model_(model), backend_(backend), options_(options) {
  max_pages_ = ceil_div(options.context, kPageTokens);
}

Result<std::unique_ptr<Runner>> Runner::create(const LoadedModel& model, Backend& backend,
                                               const RunnerOptions& options) {
  std::unique_ptr<Runner> runner(new Runner(model, backend, options));
  SKUA_RETURN_IF_ERROR(runner->allocate());
  return runner;
}

Status Runner::allocate() {
  CacheLayout layout = make_cache_layout(model_.graph);
  std::vector<int32_t> n_pages;
  for (const CacheGroup& group : layout.groups) {
    n_pages.push_back(
        pool_pages(group, {options_.context, options_.max_tokens, options_.max_seqs, options_.cache_tokens}));
  }
  cache_ = std::make_unique<CacheManager>(std::move(layout), n_pages);
  for (size_t slot = 0; slot < model_.graph.slots.size(); ++slot) {
    const auto n_slab_pages = static_cast<uint64_t>(n_pages[cache_->layout().slot_group[slot]]);
    slab_bytes_.push_back(n_slab_pages * backend_.cache_page_bytes(model_.graph.slots[slot]));
    SKUA_ASSIGN_OR_RETURN(auto slab, backend_.allocate(slab_bytes_.back(), "key and value cache"));
    slabs_.push_back(std::move(slab));
  }
  const auto tokens = static_cast<uint64_t>(options_.max_tokens);
  const auto seqs = static_cast<uint64_t>(options_.max_seqs);
  const uint64_t table_bytes = seqs * static_cast<uint64_t>(max_pages_) * sizeof(int32_t);
  std::vector<uint64_t> sizes{sizeof(StepHeader),     tokens * 4, tokens * 4, tokens * 4,
                              seqs * sizeof(StepSeq), tokens * 4};
  sizes.insert(sizes.end(), n_groups(), table_bytes);
  for (uint64_t bytes : sizes) {
    SKUA_ASSIGN_OR_RETURN(auto input, backend_.allocate(bytes, "step inputs"));
    inputs_.push_back(std::move(input));
  }
  return ok_status();
}

Capacity Runner::capacity_for(int32_t n_tokens, int32_t n_seqs, int32_t n_rows) const {
  return {bucket(n_tokens, options_.max_tokens), bucket(n_seqs, options_.max_seqs),
          bucket(n_rows, options_.max_tokens), max_pages_};
}

Result<const Plan*> Runner::plan_for(int32_t n_tokens, int32_t n_seqs, int32_t n_rows) {
  SKUA_ASSIGN_OR_RETURN(const Entry* entry, entry_for(capacity_for(n_tokens, n_seqs, n_rows)));
  return &entry->plan;
}

Result<Runner::Entry*> Runner::entry_for(const Capacity& capacity) {
  for (auto& entry : entries_) {
    if (entry->plan.capacity == capacity) {
      entry->last_used = ++clock_;
      return entry.get();
    }
  }
  if (entries_.size() >= kMaxPlans) {
    const auto oldest = std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
      return a->last_used < b->last_used;
    });
    if (last_ == oldest->get()) last_ = nullptr;
    entries_.erase(oldest);
  }
  LowerRequest request;
  request.graph = &model_.graph;
  request.backend = &backend_;
  request.weights = model_.weights;
  request.capacity = capacity;
  request.fusion = options_.fusion;
  request.cache_group = cache_->layout().slot_group;
  request.slab_bytes = slab_bytes_;
  SKUA_ASSIGN_OR_RETURN(Plan plan, lower(request));
  auto entry = std::make_unique<Entry>();
  entry->plan = std::move(plan);
  entry->last_used = ++clock_;
  entries_.push_back(std::move(entry));
  return entries_.back().get();
}

Status Runner::bind(Entry& entry) {
  if (arena_ == nullptr || arena_->bytes() < entry.plan.arena_bytes) {
    last_ = nullptr;
    arena_.reset();
    SKUA_ASSIGN_OR_RETURN(arena_, backend_.allocate(entry.plan.arena_bytes, "intermediate results"));
    ++arena_version_;
  }
  if (entry.bound != nullptr && entry.arena_version == arena_version_) return ok_status();
  std::vector<std::byte*> bases;
  for (const BufferInfo& buffer : entry.plan.buffers) {
    switch (buffer.kind) {
      case BufferKind::kWeight:
        bases.push_back(model_.weights[buffer.index].buffer->data());
        break;
      case BufferKind::kCache:
        bases.push_back(slabs_[buffer.index]->data());
        break;
      case BufferKind::kInput:
        bases.push_back(inputs_[buffer.index]->data());
        break;
      case BufferKind::kArena:
        bases.push_back(arena_->data());
        break;
    }
  }
  entry.bound = std::make_unique<BoundPlan>(entry.plan, bases);
  entry.arena_version = arena_version_;
  return ok_status();
}

Status Runner::check(const Batch& batch) const {
  const auto too_many = [](const char* what, size_t got, int64_t limit) {
    return invalid_argument("[step] " + std::string(what) + ": at most " + std::to_string(limit) + ", got " +
                            std::to_string(got));
  };
  if (batch.ids.empty()) return invalid_argument("[step] a step needs at least one token");
  if (batch.ids.size() > static_cast<size_t>(options_.max_tokens)) {
    return too_many("tokens", batch.ids.size(), options_.max_tokens);
  }
  if (batch.seqs.size() > static_cast<size_t>(options_.max_seqs)) {
    return too_many("sequences", batch.seqs.size(), options_.max_seqs);
  }
  if (batch.rows.size() > batch.ids.size()) return too_many("rows", batch.rows.size(), options_.max_tokens);
  for (int32_t id : batch.ids) {
    const WeightDecl& table = model_.graph.weight(std::get<Embed>(model_.graph.nodes[0].op).table);
    if (id < 0 || id >= table.rows) {
      return invalid_argument("[step] token id " + std::to_string(id) + " is outside the vocabulary of " +
                              std::to_string(table.rows));
    }
  }
  for (const BatchSeq& seq : batch.seqs) {
    if (seq.kv_len > options_.context) {
      return invalid_argument("[step] a sequence of " + std::to_string(seq.kv_len) +
                              " tokens does not fit a context of " + std::to_string(options_.context));
    }
    SKUA_CHECK_EQ(seq.pages.size(), n_groups());
    for (const auto& pages : seq.pages)
      SKUA_CHECK_LE(ceil_div(seq.kv_len, kPageTokens), static_cast<int32_t>(pages.size()));
  }
  return ok_status();
}

Status Runner::write_inputs(const Batch& batch) {
  const StepHeader header{static_cast<int32_t>(batch.ids.size()), static_cast<int32_t>(batch.seqs.size()),
                          static_cast<int32_t>(batch.rows.size()), static_cast<int32_t>(step_ & 0x7fffffff)};
  std::vector<int32_t>& token_seq = scratch_ids_;
  std::vector<StepSeq>& seqs = scratch_seqs_;
  token_seq.assign(batch.ids.size(), 0);
  seqs.clear();
  for (const BatchSeq& seq : batch.seqs) {
    for (int32_t i = 0; i < seq.q_len; ++i) {
      token_seq[static_cast<size_t>(seq.q_begin + i)] = static_cast<int32_t>(seqs.size());
    }
    seqs.push_back({seq.q_begin, seq.q_len, seq.kv_len, 0});
  }
  const auto put = [&](StepInput input, std::span<const std::byte> bytes, size_t group = 0) {
    return backend_.upload(inputs_[static_cast<size_t>(input) + group]->data(), bytes);
  };
  SKUA_RETURN_IF_ERROR(put(StepInput::kHeader, std::as_bytes(std::span(&header, 1))));
  SKUA_RETURN_IF_ERROR(put(StepInput::kIds, as_bytes_of(batch.ids)));
  SKUA_RETURN_IF_ERROR(put(StepInput::kPositions, as_bytes_of(batch.positions)));
  SKUA_RETURN_IF_ERROR(put(StepInput::kTokenSeq, as_bytes_of(token_seq)));
  SKUA_RETURN_IF_ERROR(put(StepInput::kSeqs, as_bytes_of(seqs)));
  SKUA_RETURN_IF_ERROR(put(StepInput::kRows, as_bytes_of(batch.rows)));
  for (size_t group = 0; group < n_groups(); ++group) {
    std::vector<int32_t>& table = scratch_ids_;  // the ids above have been written
    table.assign(batch.seqs.size() * static_cast<size_t>(max_pages_), -1);
    for (size_t i = 0; i < batch.seqs.size(); ++i) {
      const auto pages = batch.seqs[i].pages[group];
      std::copy_n(pages.begin(), std::min(pages.size(), static_cast<size_t>(max_pages_)),
                  table.begin() + static_cast<std::ptrdiff_t>(i * static_cast<size_t>(max_pages_)));
    }
    SKUA_RETURN_IF_ERROR(put(StepInput::kPageTable, as_bytes_of(table), group));
  }
  return ok_status();
}

Status Runner::run_timed(const Entry& entry) {
  using Clock = std::chrono::steady_clock;
  step_times_->plan = &entry.plan;
  step_times_->seconds.assign(entry.plan.steps.size(), 0.0);
  auto before = Clock::now();
  for (const uint32_t index : entry.bound->order()) {
    SKUA_RETURN_IF_ERROR(backend_.run(entry.bound->steps(), std::span(&index, 1)));
    const auto after = Clock::now();
    step_times_->seconds[index] = std::chrono::duration<double>(after - before).count();
    before = after;
  }
  return ok_status();
}

Status Runner::run(const Batch& batch) {
  SKUA_RETURN_IF_ERROR(check(batch));
  const Capacity capacity =
      capacity_for(static_cast<int32_t>(batch.ids.size()), static_cast<int32_t>(batch.seqs.size()),
                   std::max<int32_t>(1, static_cast<int32_t>(batch.rows.size())));
  SKUA_ASSIGN_OR_RETURN(Entry * entry, entry_for(capacity));
  SKUA_RETURN_IF_ERROR(bind(*entry));
  SKUA_RETURN_IF_ERROR(write_inputs(batch));
  std::vector<uint32_t> shuffled;
  if (order_seed_) shuffled = random_order(entry->plan.steps.size(), entry->plan.edges, *order_seed_);
  if (step_times_ != nullptr) {
    SKUA_RETURN_IF_ERROR(run_timed(*entry));
  } else {
    SKUA_RETURN_IF_ERROR(backend_.run(entry->bound->steps(), order_seed_ ? shuffled : entry->bound->order()));
  }
  ++step_;
  last_ = entry;
  last_rows_ = batch.rows.size();
  return ok_status();
}

template <typename Fn>
Status Runner::for_page(uint32_t group, int32_t page, Fn&& fn) {
  uint64_t offset = 0;
  for (size_t slot = 0; slot < slabs_.size(); ++slot) {
    if (cache_->layout().slot_group[slot] != group) continue;
    const uint64_t bytes = backend_.cache_page_bytes(model_.graph.slots[slot]);
    SKUA_RETURN_IF_ERROR(fn(slabs_[slot]->data() + static_cast<uint64_t>(page) * bytes, offset, bytes));
    offset += bytes;
  }
  return ok_status();
}

Status Runner::copy_page(const PageCopy& copy) {
  return for_page(copy.group, copy.to, [&](std::byte* to, uint64_t, uint64_t bytes) {
    const std::byte* from = to + (static_cast<int64_t>(copy.from) - copy.to) * static_cast<int64_t>(bytes);
    return backend_.copy(to, from, bytes);
  });
}

uint64_t Runner::page_bytes(uint32_t group) const {
  uint64_t sum = 0;
  for (size_t slot = 0; slot < slabs_.size(); ++slot) {
    if (cache_->layout().slot_group[slot] == group)
      sum += backend_.cache_page_bytes(model_.graph.slots[slot]);
  }
  return sum;
}

Status Runner::read_page(uint32_t group, int32_t page, std::span<std::byte> to) {
  return for_page(group, page, [&](const std::byte* from, uint64_t offset, uint64_t bytes) {
    return backend_.download(to.subspan(offset, bytes), from);
  });
}

Status Runner::write_page(uint32_t group, int32_t page, std::span<const std::byte> from) {
  return for_page(group, page, [&](std::byte* to, uint64_t offset, uint64_t bytes) {
    return backend_.upload(to, from.subspan(offset, bytes));
  });
}

uint64_t Runner::fingerprint() {
  if (fingerprint_ != 0) return fingerprint_;
  Checksum sum;
  sum.add(print(model_.graph));
  sum.add(backend_.arithmetic());
  std::vector<std::byte> chunk;
  for (const PackedWeight& weight : model_.weights) {
    for (uint64_t begin = 0; begin < weight.buffer->bytes(); begin += 1 << 20) {
      chunk.resize(std::min<uint64_t>(1 << 20, weight.buffer->bytes() - begin));
      if (!backend_.download(chunk, weight.buffer->data() + begin).ok()) return 1;
      sum.add(chunk);
    }
  }
  fingerprint_ = sum.value() | 2;  // never 0 or 1
  return fingerprint_;
}

std::string_view Runner::cache_type() const {
  const Numerics numerics = backend_.numerics();
  return dtype_name(numerics.kv_cache.value_or(numerics.kv));
}

Result<std::vector<double>> Runner::logits_f64() const {
  SKUA_CHECK(last_ != nullptr);
  const ValueType& type = last_->plan.graph.value(last_->plan.graph.output).type;
  return read_floats(backend_, last_->bound->output(), type.storage,
                     last_rows_ * static_cast<size_t>(type.width));
}

Result<std::span<const float>> Runner::logits() {
  SKUA_CHECK(last_ != nullptr);
  const ValueType& type = last_->plan.graph.value(last_->plan.graph.output).type;
  const size_t n = last_rows_ * static_cast<size_t>(type.width);
  if (backend_.element_bytes(type.storage) == sizeof(float)) {
    if (backend_.memory_is_host()) {
      return std::span(reinterpret_cast<const float*>(last_->bound->output()), n);
    }
    logits_.resize(n);
    SKUA_RETURN_IF_ERROR(
        backend_.download(std::as_writable_bytes(std::span(logits_)), last_->bound->output()));
    return std::span<const float>(logits_);
  }
  SKUA_ASSIGN_OR_RETURN(const std::vector<double> wide, logits_f64());
  logits_.assign(wide.begin(), wide.end());
  return std::span<const float>(logits_);
}

uint64_t Runner::cache_bytes() const {
  uint64_t sum = 0;
  for (uint64_t bytes : slab_bytes_) sum += bytes;
  return sum;
}

uint64_t Runner::cache_bytes_per_token() const {
  uint64_t sum = 0;
  for (size_t i = 0; i < model_.graph.slots.size(); ++i) {
    if (is_sparse(cache_->layout().groups[cache_->layout().slot_group[i]])) continue;
    sum += backend_.cache_page_bytes(model_.graph.slots[i]) / kPageTokens;
  }
  return sum;
}

}  // namespace skua
