// The tokens that may still be chosen: a window of the vocabulary in descending order of the logits. All
// stages only move the window's ends or scale its logits, so it is sorted no further than somebody looks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "sample/row_math.h"

namespace skua {

/// Order: higher logits first, lower ids first among equals. -inf is no candidate. Keeps its memory from row
/// to row.
class Candidates {
 public:
  /// Starts over with a row [n_vocab], which must live as long as it is in use here. Errors: kInternal if a
  /// logit is NaN or +inf.
  Status assign(std::span<const float> logits);

  // Changes of single logits. They make a copy of the row.
  /// Before them: makes the window's ends and the temperature so far part of the row.
  void settle();
  float logit(int32_t id) const { return row_[static_cast<size_t>(id)]; }
  void set(int32_t id, float logit);
  void ban(int32_t id);
  /// Bans all others. An id may come twice.
  void allow_only(std::span<const int32_t> ids);
  /// Bans ids whose bit is 0: bit id % 32 of word id / 32. `bits` covers the row.
  void apply_mask(std::span<const uint32_t> bits);

  size_t n_vocab() const { return row_.size(); }
  size_t size() const { return size_; }
  /// The best token and its logit; size() > 0.
  int32_t best() const;
  float top() const;

  /// Puts the first min(n, size()) in order. Returns how many are in order now.
  size_t sort(size_t n);
  std::span<const float> sorted_logits() const { return {sorted_logits_.data(), n_sorted()}; }
  std::span<const int32_t> sorted_ids() const { return {sorted_ids_.data(), n_sorted()}; }

  /// Keeps the best `n`, at least one.
  void keep(size_t n);
  /// Keeps those with a logit of at least `bound`, at least one.
  void keep_above(double bound);
  /// Drops the best `n`; n < size(), and they must be in order.
  void drop(size_t n);

  // The temperature. z = (logit - top) / temperature.
  double inverse_temperature() const { return inverse_temperature_; }
  void scale(double inverse_temperature) { inverse_temperature_ *= inverse_temperature; }
  /// Over the whole window, with z as above.
  ExpSums sums() const;
  /// e^z of sorted [begin, end); valid until the next call.
  std::span<const double> weights(size_t begin, size_t end);
  /// Standard deviation of the window's logits.
  double spread() const;
  /// The token at `u` in [0, 1) of the window's probability. Its e^z goes to `weight`, the sum to `total`.
  struct Draw {
    int32_t id = 0;
    double weight = 0, total = 0;
  };
  Draw draw(double u);

 private:
  struct Entry {
    float logit;
    int32_t id;
  };
  static bool before(const Entry& a, const Entry& b);
  void own();
  void rescan(size_t id);
  bool scan_row();
  void forget_order();
  bool whole() const { return size_ == n_allowed_; }  // not cut: the row itself is the window
  size_t n_sorted() const { return sorted_ids_.size() < size_ ? sorted_ids_.size() : size_; }
  void collect(float threshold);
  void ban_below(double bound);
  void take_sorted(size_t most);
  Draw draw_sorted(double u);
  Draw draw_whole(double u);

  std::span<const float> row_;
  std::vector<float> copy_;
  std::vector<float> block_max_;
  size_t n_allowed_ = 0;
  size_t size_ = 0;
  double inverse_temperature_ = 1;
  std::vector<float> sorted_logits_;  // a true prefix of the order, maybe longer than the window
  std::vector<int32_t> sorted_ids_;
  std::vector<Entry> entries_;  // scratch of these
  std::vector<float> maxima_;
  std::vector<double> weights_;
};

}  // namespace skua
