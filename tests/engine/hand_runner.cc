// Driving a Runner by hand.
#include "engine/hand_runner.h"

#include <algorithm>
#include <cstring>

#include "backend/host_random.h"

namespace skua::test {
namespace {

void or_die(const Status& status) {
  if (!status.ok()) check_failed(__FILE__, __LINE__, "status.ok()", status.message());
}

}  // namespace

HandRunner::HandRunner(const Checkpoint& checkpoint, std::unique_ptr<Backend> backend,
                       const RunnerOptions& options)
    : backend_(std::move(backend)),
      model_(must(load_model(checkpoint, *backend_, ConfigPolicy::kStrict, nullptr))),
      runner_(must(Runner::create(model_, *backend_, options))) {}

HandSeq HandRunner::new_seq() {
  HandSeq seq;
  seq.tables = runner_->cache().new_tables();
  return seq;
}

HandSeq HandRunner::share(const HandSeq& other, int32_t n_pages) {
  HandSeq seq = new_seq();
  for (size_t group = 0; group < seq.tables.size(); ++group) {
    seq.tables[group].adopt(other.tables[group].pages().first(static_cast<size_t>(n_pages)));
  }
  seq.n_cached = n_pages * kPageTokens;
  return seq;
}

void HandRunner::finish(HandSeq& seq, const std::vector<int32_t>& ids) {
  runner_->cache().finish(ids, seq.n_cached, seq.tables, runner_->step());
  seq = new_seq();
}

HandSeq HandRunner::start(const std::vector<int32_t>& ids) {
  HandSeq seq = new_seq();
  const auto most = static_cast<int32_t>(ids.size()) - 1;
  const CachedStart hit = runner_->cache().start(ids, most, seq.tables, runner_->step());
  for (const PageCopy& copy : hit.copies) or_die(runner_->copy_page(copy));
  seq.n_cached = hit.n_tokens;
  return seq;
}

void HandRunner::drop(HandSeq& seq) {
  for (PageTable& table : seq.tables) table.release_all(runner_->step());
  for (PagePool& pool : runner_->pools()) pool.reclaim(runner_->step());
  seq.n_cached = 0;
}

void HandRunner::roll_back(HandSeq& seq, int32_t n_cached) {
  SKUA_CHECK_LE(n_cached, seq.n_cached);
  for (PageTable& table : seq.tables) table.truncate(n_cached, runner_->step());
  seq.n_cached = n_cached;
}

Rows HandRunner::step(const std::vector<Part>& parts) {
  // Pages that a window has left behind go now, not when they were left: a verify step may still be rolled
  // back.
  for (const Part& part : parts) {
    runner_->cache().drop_windows(part.seq->tables, part.seq->n_cached, runner_->step());
  }
  for (PagePool& pool : runner_->pools()) pool.reclaim(runner_->step());
  Batch batch;
  for (const Part& part : parts) {
    const auto n_ids = static_cast<int32_t>(part.ids.size());
    std::vector<std::span<const int32_t>> pages;
    or_die(runner_->cache().extend(part.seq->tables, part.seq->n_cached + n_ids, runner_->step()));
    for (const PageTable& table : part.seq->tables) pages.push_back(table.pages());
    append(batch, part.ids, part.seq->n_cached, n_ids, std::move(pages));
    part.seq->n_cached += n_ids;
  }
  or_die(runner_->run(batch));
  const std::span<const float> all = must(runner_->logits());
  Rows rows;
  for (size_t at = 0; at < all.size(); at += static_cast<size_t>(n_vocab())) {
    rows.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(at),
                      all.begin() + static_cast<std::ptrdiff_t>(at) + n_vocab());
  }
  return rows;
}

int first_different_row(const Rows& a, const Rows& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].size() != b[i].size() ||
        std::memcmp(a[i].data(), b[i].data(), a[i].size() * sizeof(float)) != 0) {
      return static_cast<int>(i);
    }
  }
  return a.size() == b.size() ? -1 : static_cast<int>(std::min(a.size(), b.size()));
}

std::vector<int32_t> random_ids(uint64_t seed, int32_t n, int32_t n_vocab) {
  Random random(seed);
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < n; ++i) ids.push_back(static_cast<int32_t>(random.below(n_vocab)));
  return ids;
}

std::vector<int32_t> random_chunks(uint64_t seed, int32_t n, int32_t most) {
  Random random(seed);
  std::vector<int32_t> chunks;
  while (n > 0) {
    chunks.push_back(static_cast<int32_t>(std::min<int64_t>(n, 1 + random.below(most))));
    n -= chunks.back();
  }
  return chunks;
}

}  // namespace skua::test
