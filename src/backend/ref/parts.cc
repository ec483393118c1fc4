// Formulas shared by ops and their fused forms.
#include "backend/ref/parts.h"

#include <cmath>
#include <numbers>

namespace skua::ref {

double dot(const double* a, const double* b, int64_t n) {
  constexpr int64_t kLanes = 8;
  double lanes[kLanes] = {};
  const int64_t whole = n / kLanes * kLanes;
  for (int64_t k = 0; k < whole; k += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += a[k + lane] * b[k + lane];
  }
  for (int64_t k = whole; k < n; ++k) lanes[k - whole] += a[k] * b[k];
  double sum = 0.0;
  for (double lane : lanes) sum += lane;
  return sum;
}

double activate(Act act, double x) {
  switch (act) {
    case Act::kSilu:
      return x / (1.0 + std::exp(-x));
    case Act::kGeluTanh: {
      const double inner = std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x);
      return 0.5 * x * (1.0 + std::tanh(inner));
    }
    case Act::kGeluErf:
      return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case Act::kRelu:
      return x > 0.0 || std::isnan(x) ? x : 0.0;
    case Act::kRelu2:
      return x > 0.0 || std::isnan(x) ? x * x : 0.0;
    case Act::kSigmoid:
      return 1.0 / (1.0 + std::exp(-x));
  }
  return x;
}

void norm_row(const RmsNorm& norm, const double* x, const std::vector<double>& weight, const Rows& y,
              int64_t row) {
  const int64_t size = y.width / norm.n_groups;
  const auto weights = static_cast<int64_t>(weight.size());  // of a slice, or of the row
  for (int64_t group = 0; group < norm.n_groups; ++group) {
    const double* slice = x + group * size;
    double square_sum = 0.0;
    for (int64_t i = 0; i < size; ++i) square_sum += slice[i] * slice[i];
    const double root = std::sqrt(square_sum / static_cast<double>(size) + double{norm.eps});
    for (int64_t i = 0; i < size; ++i) {
      y.store(row, group * size + i,
              slice[i] / root *
                  (weight[static_cast<size_t>((group * size + i) % weights)] + double{norm.weight_offset}));
    }
  }
}

LinearWeights take_linear(const Call& call, const Linear& linear, size_t& next) {
  LinearWeights weights{call.weight(next++), {}};
  if (linear.bias) weights.bias = call.weight_row(next++, 0);
  return weights;
}

void linear_rows(ThreadPool& pool, const Rows& x, const LinearWeights& weights, const Rows& y) {
  pool.for_ranges(y.width, 1, [&](int64_t begin, int64_t end) {
    std::vector<float> stored(static_cast<size_t>(x.width));
    for (int64_t n = begin; n < end; ++n) {
      decode_row(weights.weight, n, 0, x.width, stored.data());
      const std::vector<double> w(stored.begin(), stored.end());
      for (int64_t t = 0; t < x.n; ++t) y.store(t, n, dot(x.row(t), w.data(), x.width) + weights.bias_of(n));
    }
  });
}

void rotate_head(const Rope& rope, const double* angles, int64_t half, const double* x, DType storage,
                 double* y) {
  for (int64_t i = 0; i < half; ++i) {
    const double cos = angles[i];
    const double sin = angles[half + i];
    const int64_t first = rope.style == RopeStyle::kHalf ? i : 2 * i;
    const int64_t second = rope.style == RopeStyle::kHalf ? i + half : 2 * i + 1;
    const double a = x[first];
    const double b = x[second];
    y[first] = round_to(storage, a * cos - b * sin);
    y[second] = round_to(storage, b * cos + a * sin);
  }
  for (int64_t i = 2 * half; i < rope.head_dim; ++i) y[i] = round_to(storage, x[i]);
}

double cached(DType storage, double x) {
  const double y = round_to(storage, x);
  if (!std::isinf(y) || std::isinf(x)) return y;
  return std::copysign(storage == DType::kF16 ? 65504.0 : storage == DType::kBF16 ? 0x1.FEp127 : y, x);
}

CacheRow CacheView::at(int64_t position) const {
  const int64_t index = position / kPageTokens;
  if (position < 0 || index >= max_pages_ || pages_[index] < 0) return {};
  const int64_t k_width = int64_t{slot_.n_kv_heads} * slot_.k_dim;
  const int64_t v_width = int64_t{slot_.n_kv_heads} * slot_.v_dim;
  double* page = slab_ + int64_t{pages_[index]} * kPageTokens * (k_width + v_width);
  const int64_t row = position % kPageTokens;
  return {page + row * k_width, page + kPageTokens * k_width + row * v_width};
}

int64_t cache_position(const StepSeq& seq, int64_t token) {
  return int64_t{seq.kv_len} - seq.q_len + (token - seq.q_begin);
}

}  // namespace skua::ref
