// Random numbers and float64 sums. Knows no kernel.
#include "skua/bench_mla_data.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/dtype.h"

namespace skua {
namespace {

uint64_t mixed(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// n numbers in [-size, size].
std::vector<float> numbers(uint64_t seed, int64_t n, double size) {
  std::vector<float> out(static_cast<size_t>(n));
  for (size_t i = 0; i < out.size(); ++i) {
    const double unit = static_cast<double>(mixed((seed << 40) + i) >> 11) * 0x1p-53;
    out[i] = static_cast<float>(size * (2 * unit - 1));
  }
  return out;
}

double norm_of(const float* x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += double{x[i]} * double{x[i]};
  return std::sqrt(sum);
}

void round_to_bf16(std::vector<float>& values) {
  for (float& value : values) value = bf16_to_f32(f32_to_bf16(value));
}

}  // namespace

float MlaGeometry::scale() const {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(nope + rope)));
}

double MlaBenchData::sign_of(int64_t row) const {
  const int64_t copy = row / kMlaLatents;
  return (copy % 2 == 0 ? 1.0 : -1.0) * std::exp2(-static_cast<double>(copy / 2 % 3));
}

MlaBenchData::MlaBenchData(const MlaGeometry& geometry, int64_t n_queries)
    : geometry_(geometry), n_queries_(n_queries) {
  const MlaGeometry& g = geometry_;
  up_keys = numbers(1, g.n_heads * g.rank * g.nope, 0.3);
  up_values = numbers(2, g.n_heads * g.v * g.rank, 0.3);
  round_to_bf16(up_keys);
  round_to_bf16(up_values);
  const std::vector<float> latents = numbers(3, kMlaLatents * g.rank, 1.0);
  for (int64_t row = 0; row < kMlaTableRows; ++row) {
    const float* from = &latents[static_cast<size_t>(row % kMlaLatents * g.rank)];
    for (int64_t r = 0; r < g.rank; ++r) ckv.push_back(from[r] * static_cast<float>(sign_of(row)));
  }
  kpe = numbers(4, kMlaTableRows * g.rope, 1.0);
  q_nope = numbers(5, n_queries * g.n_heads * g.nope, 1.0);
  q_pe = numbers(6, n_queries * g.n_heads * g.rope, 1.0);
  for (int64_t row = 0; row < kMlaLatents; ++row)
    ckv_norm_ = std::max(ckv_norm_, norm_of(&latents[static_cast<size_t>(row * g.rank)], g.rank));
  for (int64_t row = 0; row < kMlaTableRows; ++row)
    kpe_norm_ = std::max(kpe_norm_, norm_of(&kpe[static_cast<size_t>(row * g.rope)], g.rope));
  decompress(latents);
}

/// Keys and values of the latents.
void MlaBenchData::decompress(const std::vector<float>& latents) {
  const MlaGeometry& g = geometry_;
  keys_.assign(static_cast<size_t>(kMlaLatents * g.n_heads * g.nope), 0.0);
  values_.assign(static_cast<size_t>(kMlaLatents * g.n_heads * g.v), 0.0);
  for (int64_t i = 0; i < kMlaLatents; ++i) {
    const float* c = &latents[static_cast<size_t>(i * g.rank)];
    for (int64_t h = 0; h < g.n_heads; ++h) {
      double* key = &keys_[static_cast<size_t>((i * g.n_heads + h) * g.nope)];
      for (int64_t r = 0; r < g.rank; ++r) {
        const float* w = &up_keys[static_cast<size_t>((h * g.rank + r) * g.nope)];
        for (int64_t d = 0; d < g.nope; ++d) key[d] += double{c[r]} * double{w[d]};
      }
      for (int64_t d = 0; d < g.v; ++d) {
        const float* w = &up_values[static_cast<size_t>((h * g.v + d) * g.rank)];
        double sum[4] = {};
        for (int64_t r = 0; r < g.rank; ++r) sum[r % 4] += double{c[r]} * double{w[r]};
        values_[static_cast<size_t>((i * g.n_heads + h) * g.v + d)] = sum[0] + sum[1] + sum[2] + sum[3];
      }
    }
  }
}

std::vector<float> MlaBenchData::table_keys() const {
  const MlaGeometry& g = geometry_;
  std::vector<float> out;
  for (int64_t row = 0; row < kMlaTableRows; ++row) {
    for (int64_t h = 0; h < g.n_heads; ++h) {
      const double* key = &keys_[static_cast<size_t>((row % kMlaLatents * g.n_heads + h) * g.nope)];
      for (int64_t d = 0; d < g.nope; ++d) out.push_back(static_cast<float>(sign_of(row) * key[d]));
      const float* pe = &kpe[static_cast<size_t>(row * g.rope)];
      out.insert(out.end(), pe, pe + g.rope);
    }
  }
  return out;
}

std::vector<float> MlaBenchData::table_values() const {
  const int64_t width = geometry_.n_heads * geometry_.v;
  std::vector<float> out;
  for (int64_t row = 0; row < kMlaTableRows; ++row) {
    const double* value = &values_[static_cast<size_t>(row % kMlaLatents * width)];
    for (int64_t d = 0; d < width; ++d) out.push_back(static_cast<float>(sign_of(row) * value[d]));
  }
  return out;
}

int32_t MlaBenchData::row_of(int64_t seq, int64_t pos) {
  return static_cast<int32_t>(mixed(static_cast<uint64_t>((seq << 32) + pos)) % kMlaTableRows);
}

void MlaBenchData::add_head(Truth& out, int64_t query, int64_t h, int64_t context,
                            const std::vector<double>& mixed_latents, double total) const {
  constexpr double kU = 0x1p-24;
  const MlaGeometry& g = geometry_;
  const float* q = &q_nope[static_cast<size_t>((query * g.n_heads + h) * g.nope)];
  double q_square = 0;
  for (int64_t r = 0; r < g.rank; ++r) {
    const float* w = &up_keys[static_cast<size_t>((h * g.rank + r) * g.nope)];
    double sum = 0;
    for (int64_t d = 0; d < g.nope; ++d) sum += double{q[d]} * double{w[d]};
    q_square += sum * sum;
  }
  const double pe = norm_of(&q_pe[static_cast<size_t>((query * g.n_heads + h) * g.rope)], g.rope);
  const double depth = 8 + static_cast<double>(g.rank + g.rope) / 16;
  const double score = depth * (std::sqrt(q_square) * ckv_norm_ + pe * kpe_norm_);
  const double relative = 2 * double{g.scale()} * score + 256 / 4.0 + 32 + static_cast<double>(context) / 256;
  for (int64_t d = 0; d < g.v; ++d) {
    double sum = 0, size = 0;
    for (int64_t i = 0; i < kMlaLatents; ++i) {
      const double value = values_[static_cast<size_t>((i * g.n_heads + h) * g.v + d)];
      sum += mixed_latents[static_cast<size_t>(i)] * value;
      size = std::max(size, std::abs(value));
    }
    const double w = norm_of(&up_values[static_cast<size_t>((h * g.v + d) * g.rank)], g.rank);
    out.value.push_back(sum / total);
    out.bound.push_back(kU * (relative * size + depth * w * ckv_norm_ + std::abs(sum / total)));
  }
}

MlaBenchData::Truth MlaBenchData::truth(int64_t query, int64_t seq, int64_t context, MlaSeen seen) const {
  const MlaGeometry& g = geometry_;
  std::vector<double> count(kMlaTableRows, 0.0);
  const int64_t n_seen = seen == MlaSeen::kAll ? context : kMlaChosen;
  for (int64_t i = 0; i < n_seen; ++i) {
    const int64_t pos = seen == MlaSeen::kAll ? i : chosen_position(i, context);
    count[static_cast<size_t>(row_of(seq, pos))] += 1;
  }
  Truth out;
  for (int64_t h = 0; h < g.n_heads; ++h) {
    const float* q = &q_nope[static_cast<size_t>((query * g.n_heads + h) * g.nope)];
    const float* pe = &q_pe[static_cast<size_t>((query * g.n_heads + h) * g.rope)];
    std::vector<double> products(kMlaLatents, 0.0), score(kMlaTableRows, 0.0),
        mixed_latents(kMlaLatents, 0.0);
    for (int64_t i = 0; i < kMlaLatents; ++i) {
      const double* key = &keys_[static_cast<size_t>((i * g.n_heads + h) * g.nope)];
      for (int64_t d = 0; d < g.nope; ++d) products[static_cast<size_t>(i)] += double{q[d]} * key[d];
    }
    double top = -std::numeric_limits<double>::infinity(), total = 0;
    for (int64_t row = 0; row < kMlaTableRows; ++row) {
      double& s = score[static_cast<size_t>(row)];
      s = sign_of(row) * products[static_cast<size_t>(row % kMlaLatents)];
      for (int64_t d = 0; d < g.rope; ++d)
        s += double{pe[d]} * double{kpe[static_cast<size_t>(row * g.rope + d)]};
      s *= double{g.scale()};
      if (count[static_cast<size_t>(row)] > 0) top = std::max(top, s);
    }
    for (int64_t row = 0; row < kMlaTableRows; ++row) {
      const double weight = count[static_cast<size_t>(row)] * std::exp(score[static_cast<size_t>(row)] - top);
      total += weight;
      mixed_latents[static_cast<size_t>(row % kMlaLatents)] += weight * sign_of(row);
    }
    add_head(out, query, h, context, mixed_latents, total);
  }
  return out;
}

double worst_ratio(const MlaBenchData::Truth& truth, const float* got) {
  double worst = 0;
  for (size_t i = 0; i < truth.value.size(); ++i) {
    const double ratio = std::abs(double{got[i]} - truth.value[i]) / truth.bound[i];
    worst = std::isnan(ratio) ? std::numeric_limits<double>::infinity() : std::max(worst, ratio);
  }
  return worst;
}

}  // namespace skua
