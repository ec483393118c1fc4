// Ops of models that carry several streams: WeightedSum, Cutoff, MatchMagnitude (formulas: ir/op.h).
#include <algorithm>
#include <cmath>

#include "backend/ref/call.h"

namespace skua::ref {
namespace {

double mean(const double* x, int64_t n, double (*term)(double, double), double centre) {
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) sum += term(x[i], centre);
  return sum / static_cast<double>(n);
}

double value(double x, double) { return x; }
double square(double x, double centre) { return (x - centre) * (x - centre); }

}  // namespace

void weighted_sum(const Call& call) {
  const auto& op = call.op<WeightedSum>();
  const Rows c = call.input(0);
  const Rows y = call.output(0);
  for_each(call.pool, y.n, [&](int64_t t) {
    for (int64_t i = 0; i < y.width; ++i) {
      double sum = 0.0;
      for (size_t s = 1; s < call.args.inputs.size(); ++s) {
        sum +=
            (c.row(t)[op.begin + static_cast<int64_t>(s) - 1] + double{op.offset}) * call.input(s).row(t)[i];
      }
      y.store(t, i, sum);
    }
  });
}

void cutoff(const Call& call) {
  const Rows x = call.input(0);
  const Rows y = call.output(0);
  for_each(call.pool, y.n, [&](int64_t t) {
    const double centre = mean(x.row(t), x.width, value, 0.0);
    const double spread = std::sqrt(mean(x.row(t), x.width, square, centre));
    const double least = centre + double{call.op<Cutoff>().multiplier} * spread;
    for (int64_t i = 0; i < y.width; ++i) y.store(t, i, std::max(x.row(t)[i] - least, 0.0));
  });
}

void match_magnitude(const Call& call) {
  const Rows x = call.input(0);
  const Rows like = call.input(1);
  const Rows y = call.output(0);
  for_each(call.pool, y.n, [&](int64_t t) {
    const double target = std::sqrt(mean(like.row(t), like.width, square, 0.0));
    const double least = double{call.op<MatchMagnitude>().min_square};
    const double own = std::sqrt(std::max(mean(x.row(t), x.width, square, 0.0), least));
    for (int64_t i = 0; i < y.width; ++i) y.store(t, i, x.row(t)[i] * target / own);
  });
}

}  // namespace skua::ref
