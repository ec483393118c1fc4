// The window of candidates. A row is scanned once for the maximum of every block of 32 logits; whoever wants
// the best few, or those above a bound, looks only into blocks whose maximum says so.
#include "sample/candidates.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>

namespace skua {
namespace {

typedef float Four __attribute__((vector_size(16)));
typedef int32_t FourInts __attribute__((vector_size(16)));

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr size_t kBlock = 32;         // logits under one maximum; also the bits of a mask word
constexpr size_t kSumBlock = 256;     // logits under one partial sum of a draw
constexpr size_t kMostSorted = 1024;  // by a cut at a bound
constexpr size_t kFirstSort = 64;     // the fewest that are sorted at once

struct BlockScan {
  float max = -kInf;
  int32_t n_candidates = 0;
  bool broken = false;  // NaN or +inf
};

inline void scan_four(Four x, Four& max, FourInts& finite, FourInts& fine) {
  max = x > max ? x : max;
  finite += x > -kInf;  // a true lane is -1
  fine &= x < kInf;     // false for NaN, too
}

BlockScan scan(std::span<const float> block) {
  Four max = {-kInf, -kInf, -kInf, -kInf};
  FourInts finite{}, fine = {-1, -1, -1, -1};
  size_t i = 0;
  for (; i + 4 <= block.size(); i += 4) {
    Four x;
    std::memcpy(&x, block.data() + i, sizeof(x));
    scan_four(x, max, finite, fine);
  }
  if (i < block.size()) {
    Four x = {-kInf, -kInf, -kInf, -kInf};
    for (size_t j = 0; i + j < block.size(); ++j) x[j] = block[i + j];
    scan_four(x, max, finite, fine);
  }
  BlockScan out;
  for (int j = 0; j < 4; ++j) {
    out.max = std::max(out.max, max[j]);
    out.n_candidates -= finite[j];
    out.broken |= fine[j] == 0;
  }
  return out;
}

std::span<const float> block_of(std::span<const float> row, size_t block) {
  return row.subspan(block * kBlock, std::min(kBlock, row.size() - block * kBlock));
}

Status broken_logit(std::span<const float> logits) {
  size_t i = 0;
  while (i + 1 < logits.size() && logits[i] < kInf) ++i;
  return internal_error("[sampling] the logit of token " + std::to_string(i) +
                        " is not a number; the model's weights or a kernel are at fault");
}

}  // namespace

bool Candidates::before(const Entry& a, const Entry& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

Status Candidates::assign(std::span<const float> logits) {
  row_ = logits;
  inverse_temperature_ = 1;
  return scan_row() ? ok_status() : broken_logit(logits);
}

/// False if a logit is NaN or +inf.
bool Candidates::scan_row() {
  forget_order();
  block_max_.resize((row_.size() + kBlock - 1) / kBlock);
  n_allowed_ = 0;
  bool broken = false;
  for (size_t block = 0; block < block_max_.size(); ++block) {
    const BlockScan found = scan(block_of(row_, block));
    block_max_[block] = found.max;
    n_allowed_ += static_cast<size_t>(found.n_candidates);
    broken |= found.broken;
  }
  size_ = n_allowed_;
  return !broken;
}

void Candidates::settle() {
  if (whole() && inverse_temperature_ == 1) return;
  own();
  if (!whole()) {
    std::fill(copy_.begin(), copy_.end(), -kInf);
    for (size_t i = 0; i < size_; ++i) copy_[static_cast<size_t>(sorted_ids_[i])] = sorted_logits_[i];
  }
  for (float& x : copy_) {
    if (x > -kInf) x = finite_float(static_cast<double>(x) * inverse_temperature_);
  }
  inverse_temperature_ = 1;
  scan_row();
}

void Candidates::forget_order() {
  sorted_logits_.clear();
  sorted_ids_.clear();
}

void Candidates::own() {
  if (row_.data() == copy_.data()) return;
  copy_.assign(row_.begin(), row_.end());
  row_ = copy_;
}

void Candidates::rescan(size_t id) { block_max_[id / kBlock] = scan(block_of(row_, id / kBlock)).max; }

void Candidates::set(int32_t id, float value) {
  own();
  forget_order();
  const auto i = static_cast<size_t>(id);
  n_allowed_ += static_cast<size_t>(value > -kInf) - static_cast<size_t>(copy_[i] > -kInf);
  size_ = n_allowed_;
  copy_[i] = value;
  rescan(i);
}

void Candidates::ban(int32_t id) {
  if (logit(id) > -kInf) set(id, -kInf);
}

void Candidates::allow_only(std::span<const int32_t> ids) {
  own();
  entries_.clear();
  for (int32_t id : ids) entries_.push_back({logit(id), id});
  std::fill(copy_.begin(), copy_.end(), -kInf);
  for (const Entry& entry : entries_) copy_[static_cast<size_t>(entry.id)] = entry.logit;
  scan_row();
}

void Candidates::apply_mask(std::span<const uint32_t> bits) {
  own();
  for (size_t block = 0; block < block_max_.size(); ++block) {
    if (bits[block] == ~uint32_t{0}) continue;
    const size_t begin = block * kBlock, end = std::min(begin + kBlock, copy_.size());
    for (size_t i = begin; i < end; ++i) {
      if ((bits[block] >> (i - begin) & 1) == 0) copy_[i] = -kInf;
    }
  }
  scan_row();
}

float Candidates::top() const {
  if (!sorted_logits_.empty()) return sorted_logits_[0];
  return *std::max_element(block_max_.begin(), block_max_.end());
}

int32_t Candidates::best() const {
  if (!sorted_ids_.empty()) return sorted_ids_[0];
  const auto block = std::max_element(block_max_.begin(), block_max_.end());  // the first of equals
  size_t id = static_cast<size_t>(block - block_max_.begin()) * kBlock;
  while (row_[id] != *block) ++id;
  return static_cast<int32_t>(id);
}

size_t Candidates::sort(size_t n) {
  n = std::min(n, size_);
  if (sorted_ids_.size() >= n) return n_sorted();
  const size_t target = std::min(std::max(n, kFirstSort), n_allowed_);
  float threshold = -kInf;
  if (2 * target <= block_max_.size()) {
    // As many blocks reach this maximum as logits are wanted.
    maxima_ = block_max_;
    const auto nth = maxima_.begin() + static_cast<std::ptrdiff_t>(target) - 1;
    std::nth_element(maxima_.begin(), nth, maxima_.end(), std::greater<>());
    threshold = *nth;
  }
  collect(threshold);
  take_sorted(target);
  return n_sorted();
}

void Candidates::collect(float threshold) {
  entries_.clear();
  for (size_t block = 0; block < block_max_.size(); ++block) {
    if (!(block_max_[block] >= threshold)) continue;
    const std::span<const float> logits = block_of(row_, block);
    for (size_t i = 0; i < logits.size(); ++i) {
      if (logits[i] >= threshold && logits[i] > -kInf)
        entries_.push_back({logits[i], static_cast<int32_t>(block * kBlock + i)});
    }
  }
}

void Candidates::take_sorted(size_t most) {
  if (entries_.size() > most) {
    std::nth_element(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(most), entries_.end(),
                     before);
    entries_.resize(most);
  }
  std::sort(entries_.begin(), entries_.end(), before);
  forget_order();
  for (const Entry& entry : entries_) {
    sorted_logits_.push_back(entry.logit);
    sorted_ids_.push_back(entry.id);
  }
}

void Candidates::keep(size_t n) {
  n = std::max<size_t>(n, 1);
  if (n >= size_) return;
  if (n == 1 && sorted_ids_.empty()) {
    const int32_t id = best();
    sorted_ids_.push_back(id);
    sorted_logits_.push_back(logit(id));
  } else {
    sort(n);
  }
  size_ = n;
}

void Candidates::keep_above(double bound) {
  if (bound > static_cast<double>(top())) return keep(1);
  const bool reaches = !sorted_logits_.empty() && static_cast<double>(sorted_logits_.back()) < bound;
  if (whole() && !reaches && sorted_logits_.size() < size_) {
    // Rounded down, so that nothing is lost; the exact comparison follows.
    float threshold = finite_float(bound);
    if (static_cast<double>(threshold) > bound) threshold = std::nextafter(threshold, -kInf);
    collect(threshold);
    if (entries_.size() == size_) return;
    if (entries_.size() > kMostSorted) return ban_below(bound);
    take_sorted(entries_.size());
  }
  const std::span<const float> sorted = sorted_logits();
  const auto end = std::partition_point(sorted.begin(), sorted.end(),
                                        [bound](float x) { return static_cast<double>(x) >= bound; });
  keep(static_cast<size_t>(end - sorted.begin()));
}

/// A window too large to be worth sorting stays a row.
void Candidates::ban_below(double bound) {
  own();
  for (float& x : copy_) {
    if (static_cast<double>(x) < bound) x = -kInf;
  }
  scan_row();
}

void Candidates::drop(size_t n) {
  if (n == 0) return;
  if (whole()) {
    own();
    for (size_t i = 0; i < n; ++i) {
      const auto id = static_cast<size_t>(sorted_ids_[i]);
      copy_[id] = -kInf;
      rescan(id);
    }
    n_allowed_ -= n;
  }
  size_ -= n;
  sorted_ids_.erase(sorted_ids_.begin(), sorted_ids_.begin() + static_cast<std::ptrdiff_t>(n));
  sorted_logits_.erase(sorted_logits_.begin(), sorted_logits_.begin() + static_cast<std::ptrdiff_t>(n));
}

ExpSums Candidates::sums() const {
  return exp_sums(whole() ? row_ : sorted_logits().first(size_), static_cast<double>(top()),
                  inverse_temperature_);
}

double Candidates::spread() const { return deviation(whole() ? row_ : sorted_logits().first(size_)); }

std::span<const double> Candidates::weights(size_t begin, size_t end) {
  weights_.resize(end - begin);
  exp_weights(sorted_logits().subspan(begin, end - begin), static_cast<double>(top()), inverse_temperature_,
              weights_);
  return weights_;
}

Candidates::Draw Candidates::draw(double u) {
  return whole() && sorted_ids_.size() < size_ ? draw_whole(u) : draw_sorted(u);
}

Candidates::Draw Candidates::draw_sorted(double u) {
  const std::span<const double> w = weights(0, size_);
  Draw out{sorted_ids_[0]};
  for (double value : w) out.total += value;
  double left = u * out.total;
  for (size_t i = 0; i < w.size() && left >= 0; ++i) {
    left -= w[i];
    if (w[i] > 0) out = {sorted_ids_[i], w[i], out.total};
  }
  return out;
}

Candidates::Draw Candidates::draw_whole(double u) {
  const auto best_logit = static_cast<double>(top());
  const auto block = [&](size_t i) {
    return row_.subspan(i * kSumBlock, std::min(kSumBlock, row_.size() - i * kSumBlock));
  };
  weights_.resize((row_.size() + kSumBlock - 1) / kSumBlock);
  double total = 0;
  for (size_t i = 0; i < weights_.size(); ++i) {
    weights_[i] = exp_sums(block(i), best_logit, inverse_temperature_).weight;
    total += weights_[i];
  }
  double left = u * total;
  size_t chosen = 0;
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (weights_[i] > 0) chosen = i;
    if (left < weights_[i]) break;
    left -= weights_[i];
  }
  double w[kSumBlock];
  const size_t n = block(chosen).size();
  exp_weights(block(chosen), best_logit, inverse_temperature_, std::span(w, n));
  Draw out{0, 0, total};
  for (size_t i = 0; i < n && left >= 0; ++i) {
    left -= w[i];
    if (w[i] > 0) out = {static_cast<int32_t>(chosen * kSumBlock + i), w[i], total};
  }
  return out;
}

}  // namespace skua
