// The engine's loop over scripted logits and a fake clock: random arrivals, lengths, cancels, time limits,
// failures and tiny pools. Checks after every request: one terminal event, pages all accounted for, the reply
// equal to its solo run.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <set>

#include "engine/core.h"
#include "sample/random.h"

namespace skua {
namespace {

constexpr int32_t kVocab = 16;

uint64_t hash_of(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9E3779B97F4A7C15u;
  return h ^ (h >> 29);
}

/// Logits after a text: mostly a function of its last two tokens, so that guesses from the text are often
/// right, but every eighth text has its own.
std::vector<float> scripted_logits(uint64_t hash_of_text, int32_t last, int32_t before_last) {
  uint64_t key = hash_of(static_cast<uint64_t>(last), static_cast<uint64_t>(before_last));
  if (hash_of_text % 8 == 0) key = hash_of_text;
  std::vector<float> out;
  for (int32_t id = 0; id < kVocab; ++id) {
    out.push_back(static_cast<float>(hash_of(key, static_cast<uint64_t>(id)) % 1000) / 100.0f);
  }
  return out;
}

/// A model whose logits are a hash of all tokens of the sequence, read back from the cache pages. A page that
/// is freed, shared or overwritten wrongly therefore changes the reply.
class ScriptedRunner final : public StepRunner {
 public:
  ScriptedRunner(int32_t n_pages, double* clock)
      : cache_(CacheLayout{{{SlotKind::kFull, 0}}, {0}}, {n_pages}),
        slab_(static_cast<size_t>(n_pages * kPageTokens), -1),
        clock_(clock) {}

  Status run(const Batch& batch) override {
    *clock_ += 0.001 + 0.0001 * static_cast<double>(batch.ids.size());
    if (fail_next) {
      fail_next = false;
      return internal_error("[simulator] planted failure");
    }
    logits_.clear();
    n_tokens += batch.ids.size();
    most_pages = std::max(most_pages, cache_.pools()[0].n_pages() - cache_.pools()[0].n_free());
    for (const BatchSeq& seq : batch.seqs) {
      for (int32_t i = 0; i < seq.q_len; ++i) {
        const int32_t pos = seq.kv_len - seq.q_len + i;
        EXPECT_EQ(batch.positions[static_cast<size_t>(seq.q_begin + i)], pos);
        cell(seq, pos) = batch.ids[static_cast<size_t>(seq.q_begin + i)];
      }
    }
    for (int32_t row : batch.rows) add_logits(batch, row);
    ++step_;
    return ok_status();
  }

  Result<std::span<const float>> logits() override { return std::span<const float>(logits_); }
  Status copy_page(const PageCopy& copy) override {
    std::copy_n(slab_.begin() + copy.from * kPageTokens, kPageTokens, slab_.begin() + copy.to * kPageTokens);
    return ok_status();
  }
  CacheManager& cache() override { return cache_; }
  uint64_t page_bytes(uint32_t) const override { return kPageTokens * sizeof(int32_t); }
  Status read_page(uint32_t, int32_t, std::span<std::byte>) override {
    return unsupported("[simulator] no files");
  }
  Status write_page(uint32_t, int32_t, std::span<const std::byte>) override {
    return unsupported("[simulator] no files");
  }
  uint64_t fingerprint() override { return 1; }
  std::string_view cache_type() const override { return "f32"; }
  uint64_t step() const override { return step_; }

  /// What a page that is freed a step early looks like: somebody else's tokens in it.
  void plant_early_reuse(uint64_t random) { slab_[random % slab_.size()] = kVocab - 1; }

  bool fail_next = false;
  uint64_t n_tokens = 0;
  int32_t most_pages = 0;

 private:
  int32_t& cell(const BatchSeq& seq, int32_t pos) {
    const int32_t page = seq.pages[0][static_cast<size_t>(pos / kPageTokens)];
    EXPECT_GE(page, 0);
    EXPECT_GT(cache_.pools()[0].n_refs(page), 0) << "a page is used after it was freed";
    return slab_[static_cast<size_t>(page * kPageTokens + pos % kPageTokens)];
  }

  void add_logits(const Batch& batch, int32_t row) {
    for (const BatchSeq& seq : batch.seqs) {
      if (row < seq.q_begin || row >= seq.q_begin + seq.q_len) continue;
      const int32_t last = seq.kv_len - seq.q_len + row - seq.q_begin;
      uint64_t h = 1;
      for (int32_t pos = 0; pos <= last; ++pos) h = hash_of(h, static_cast<uint64_t>(cell(seq, pos)));
      const auto row_logits = scripted_logits(h, cell(seq, last), last > 0 ? cell(seq, last - 1) : -1);
      logits_.insert(logits_.end(), row_logits.begin(), row_logits.end());
    }
  }

  CacheManager cache_;
  std::vector<int32_t> slab_;
  std::vector<float> logits_;
  uint64_t step_ = 0;
  double* clock_;
};

struct Simulation {
  Simulation(int32_t n_pages, int32_t max_seqs, int32_t context) : runner(n_pages, &clock) {
    CoreOptions options;
    options.context = context;
    options.n_vocab = kVocab;
    options.max_seqs = max_seqs;
    options.max_tokens = 48;
    options.max_waiting = 64;
    options.end_ids = {0};
    options.clock = [this] { return clock; };
    options.proposer = proposer.get();
    core = std::make_unique<EngineCore>(runner, std::move(options));
  }

  double clock = 0;
  ScriptedRunner runner;
  std::unique_ptr<Proposer> proposer = make_prompt_lookup();
  std::unique_ptr<EngineCore> core;
};

GenerateRequest random_request(std::mt19937_64& rng, int32_t context) {
  GenerateRequest out;
  // Prompts come from a few families, so that prefixes are shared.
  std::mt19937 family(static_cast<uint32_t>(rng() % 12));
  const auto n = 1 + rng() % static_cast<uint64_t>(context / 2);
  for (uint64_t i = 0; i < n; ++i)
    out.prompt_ids.push_back(1 + static_cast<int32_t>(family() % (kVocab - 1)));
  if (rng() % 3 == 0) out.prompt_ids.back() = 1 + static_cast<int32_t>(rng() % (kVocab - 1));
  out.max_tokens = 1 + static_cast<int32_t>(rng() % 30);
  out.sampling.temperature = rng() % 2 == 0 ? 0.0f : 0.8f;
  out.sampling.seed = rng() % 1000;
  out.speculate = rng() % 2 == 0;
  out.priority = static_cast<int32_t>(rng() % 3);
  if (rng() % 20 == 0) out.n_choices = 3;
  if (rng() % 50 == 0) out.timeout_seconds = 0.01;
  return out;
}

/// The reply of the script to one request, worked out without any engine.
std::vector<int32_t> solo(const GenerateRequest& request, int32_t choice, int32_t context) {
  std::vector<int32_t> ids = request.prompt_ids;
  uint64_t h = 1;
  for (int32_t id : ids) h = hash_of(h, static_cast<uint64_t>(id));
  SamplingParams sampling = request.sampling;
  if (choice > 0) {
    sampling.seed = static_cast<uint64_t>(
        uniform_draw(request.sampling.seed, static_cast<uint64_t>(choice), 1) * 0x1.0p53);
  }
  auto sampler = Sampler::make(sampling, kVocab);
  std::vector<int32_t> reply;
  while (static_cast<int32_t>(reply.size()) < request.max_tokens &&
         static_cast<int32_t>(ids.size()) < context) {
    const auto logits = scripted_logits(h, ids.back(), ids.size() > 1 ? ids[ids.size() - 2] : -1);
    const int32_t id = sampler->sample(logits, ids, {}, ids.size())->id;
    if (id == 0) break;
    ids.push_back(id);
    reply.push_back(id);
    h = hash_of(h, static_cast<uint64_t>(id));
  }
  return reply;
}

/// Sends random requests and checks everything that comes back.
class Client {
 public:
  Client(Simulation& sim, uint64_t seed, int32_t context) : sim_(sim), rng_(seed), context_(context) {}

  void submit_one() {
    GenerateRequest request = random_request(rng_, context_);
    const auto id = sim_.core->submit(request);
    if (!id.ok()) {
      EXPECT_EQ(id.status().code(), Code::kResourceExhausted) << id.status().message();
      ++n_refused;
      return;
    }
    ++n_submitted;
    for (int32_t c = 0; c < request.n_choices; ++c) open_[{id->value(), c}] = {};
    submitted_[id->value()] = sim_.clock;
    requests_[id->value()] = std::move(request);
  }

  void cancel_oldest() {
    if (!open_.empty()) sim_.core->cancel(SeqId(open_.begin()->first.first));
  }

  void step() {
    for (const StreamEvent& event : sim_.core->step()) {
      const auto found = open_.find({event.seq.value(), event.choice});
      if (found == open_.end()) {
        ADD_FAILURE() << "an event after the terminal one, or for nobody";
        continue;
      }
      std::vector<int32_t>& ids = found->second;
      ids.insert(ids.end(), event.ids.begin(), event.ids.end());
      if (event.finish == FinishReason::kNone) continue;
      ++counts[event.finish];
      note_start(event);
      const auto want = solo(requests_[event.seq.value()], event.choice, context_);
      if (event.finish == FinishReason::kStop || event.finish == FinishReason::kLength) {
        n_mismatches += ids == want ? 0 : 1;
      } else {
        const bool begins = ids.size() <= want.size() && std::equal(ids.begin(), ids.end(), want.begin());
        n_mismatches += begins ? 0 : 1;
      }
      open_.erase(found);
    }
  }

  /// Counts replies that started before an earlier one of the same priority.
  int n_overtakings() const {
    int n = 0;
    for (const auto& [priority, starts] : starts_) {
      double latest = 0;
      for (const auto& [id, start] : starts) {
        n += start < latest - 1e-9 ? 1 : 0;
        latest = std::max(latest, start);
      }
    }
    return n;
  }

  uint64_t random() { return rng_(); }
  size_t n_open() const { return open_.size(); }

  int n_submitted = 0;
  int n_refused = 0;
  int n_mismatches = 0;  // replies that differ from their solo run
  std::map<FinishReason, int> counts;

 private:
  void note_start(const StreamEvent& event) {
    if (event.choice != 0 || event.usage.completion_tokens == 0) return;  // may have ended before it started
    const uint64_t id = event.seq.value();
    starts_[requests_[id].priority][id] = submitted_[id] + event.usage.queue_seconds;
  }

  Simulation& sim_;
  std::mt19937_64 rng_;
  int32_t context_;
  std::map<std::pair<uint64_t, int32_t>, std::vector<int32_t>> open_;
  std::map<uint64_t, GenerateRequest> requests_;
  std::map<uint64_t, double> submitted_;
  std::map<int32_t, std::map<uint64_t, double>> starts_;  // by priority, then in order of arrival
};

void print_counters(uint64_t seed, const Client& client, const CoreCounters& c) {
  std::printf(
      "seed %llu: %d requests, %d refused, steps %llu, tokens %llu, reused %llu, preempted %llu, drafted "
      "%llu, accepted "
      "%llu\n",
      static_cast<unsigned long long>(seed), client.n_submitted, client.n_refused,
      static_cast<unsigned long long>(c.n_steps), static_cast<unsigned long long>(c.n_tokens),
      static_cast<unsigned long long>(c.n_cached_tokens), static_cast<unsigned long long>(c.n_preemptions),
      static_cast<unsigned long long>(c.n_drafted), static_cast<unsigned long long>(c.n_accepted));
}

/// Runs `n_requests` random requests; returns counts by finish reason.
std::map<FinishReason, int> simulate(uint64_t seed, int n_requests, int32_t n_pages, int32_t max_seqs,
                                     int32_t context, uint64_t fail_one_in) {
  Simulation sim(n_pages, max_seqs, context);
  Client client(sim, seed, context);
  while (client.n_submitted < n_requests || !sim.core->idle()) {
    const auto burst = client.n_submitted < n_requests ? client.random() % 3 : 0;
    for (uint64_t i = 0; i < burst; ++i) client.submit_one();
    if (client.random() % 40 == 0) client.cancel_oldest();
    if (fail_one_in > 0 && client.random() % fail_one_in == 0) sim.runner.fail_next = true;
    client.step();
    if (::testing::Test::HasFailure()) return client.counts;
  }
  EXPECT_EQ(client.n_mismatches, 0);
  EXPECT_EQ(client.n_overtakings(), 0) << "not first in, first out within a priority";
  EXPECT_EQ(client.n_open(), 0u) << "replies that never ended";
  EXPECT_LE(sim.runner.most_pages, n_pages);
  sim.runner.cache().prefixes().clear(sim.runner.step());
  sim.runner.cache().pools()[0].reclaim(sim.runner.step());
  EXPECT_EQ(sim.runner.cache().pools()[0].n_free(), n_pages) << "pages leaked";
  print_counters(seed, client, sim.core->counters());
  return client.counts;
}

TEST(Simulator, EveryReplyEndsOnceAndEqualsItsSoloRun) {
  const auto begin = std::chrono::steady_clock::now();
  std::map<FinishReason, int> all;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    // Pools from barely one sequence to plenty.
    const int32_t context = 64 + static_cast<int32_t>(seed % 5) * 40;
    const int32_t n_pages = (context + 63) / 64 + static_cast<int32_t>(seed % 7) * 2;
    const auto counts =
        simulate(seed, 2000, n_pages, 1 + static_cast<int32_t>(seed % 6), context, seed % 4 == 0 ? 500 : 0);
    for (const auto& [reason, n] : counts) all[reason] += n;
    if (::testing::Test::HasFailure()) break;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("100000 requests in %.1f s: stop %d, length %d, cancelled %d, error %d\n", seconds,
              all[FinishReason::kStop], all[FinishReason::kLength], all[FinishReason::kCancelled],
              all[FinishReason::kError]);
  EXPECT_GT(all[FinishReason::kStop], 1000);
  EXPECT_GT(all[FinishReason::kLength], 1000);
  EXPECT_GT(all[FinishReason::kCancelled], 100);
  EXPECT_GT(all[FinishReason::kError], 100);
}

TEST(Simulator, APageThatIsReusedEarlyIsCaught) {
  Simulation sim(8, 4, 128);
  Client client(sim, 3, 128);
  while (client.n_submitted < 300 || !sim.core->idle()) {
    if (client.n_submitted < 300) client.submit_one();
    if (client.random() % 4 == 0) sim.runner.plant_early_reuse(client.random());
    client.step();
  }
  EXPECT_GT(client.n_mismatches, 0);
}

TEST(Simulator, DrainFinishesWhatRunsAndTakesNothingMore) {
  Simulation sim(16, 2, 128);
  std::mt19937_64 rng(5);
  ASSERT_TRUE(sim.core->submit(random_request(rng, 128)).ok());
  sim.core->drain();
  const auto refused = sim.core->submit(random_request(rng, 128));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("shutting down"), std::string::npos);
  int n_terminal = 0;
  while (!sim.core->idle()) {
    for (const StreamEvent& event : sim.core->step())
      n_terminal += event.finish == FinishReason::kNone ? 0 : 1;
  }
  EXPECT_GE(n_terminal, 1);
}

}  // namespace
}  // namespace skua
