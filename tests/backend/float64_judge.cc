// The comparator.
#include "backend/float64_judge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <vector>

#include "base/check.h"

namespace skua::test {

double unit_roundoff(DType type) {
  switch (type) {
    case DType::kF64:
      return std::ldexp(1.0, -53);
    case DType::kF32:
      return std::ldexp(1.0, -24);
    case DType::kF16:
      return std::ldexp(1.0, -11);
    case DType::kBF16:
      return std::ldexp(1.0, -8);
    case DType::kF8E4M3:
      return std::ldexp(1.0, -4);
    default:
      SKUA_CHECK(false && "no float type");
      return 0;
  }
}

double underflow(DType type) {
  switch (type) {
    case DType::kF64:
      return std::numeric_limits<double>::denorm_min();
    case DType::kF32:
      return std::ldexp(1.0, -150);
    case DType::kF16:
      return std::ldexp(1.0, -25);
    case DType::kBF16:
      return std::ldexp(1.0, -134);
    case DType::kF8E4M3:
      return std::ldexp(1.0, -10);
    default:
      SKUA_CHECK(false && "no float type");
      return 0;
  }
}

std::string Verdict::text() const {
  std::ostringstream out;
  out << n << " elements, " << n_over << " over, error/bound max " << max_ratio << " p99 " << p99_ratio
      << ", max error " << max_error << ", worst at " << worst << ": got " << worst_got << " exact "
      << worst_exact << " bound " << worst_bound;
  return out.str();
}

Verdict judge(std::span<const double> got, std::span<const double> exact, std::span<const double> slack,
              DType storage) {
  SKUA_CHECK_EQ(got.size(), exact.size());
  SKUA_CHECK_EQ(slack.size(), exact.size());
  const double u_out = unit_roundoff(storage);
  Verdict verdict;
  verdict.n = got.size();
  std::vector<double> ratios(got.size());
  for (size_t i = 0; i < got.size(); ++i) {
    SKUA_CHECK(!std::isnan(slack[i]));
    double bound = u_out * std::abs(exact[i]) + slack[i] + underflow(storage);
    const double stored = round_to(storage, exact[i]);  // infinite beyond the type's range
    const bool both_finite = std::isfinite(got[i]) && std::isfinite(stored);
    if (both_finite) {
      const double error = std::abs(got[i] - exact[i]);
      verdict.max_error = std::max(verdict.max_error, error);
      ratios[i] = error / bound;
    } else {
      const bool same = (std::isnan(got[i]) && std::isnan(stored)) || got[i] == stored;
      ratios[i] = same ? 0.0 : std::numeric_limits<double>::infinity();
      bound = 0.0;
    }
    if (ratios[i] > 1.0) ++verdict.n_over;
    if (i == 0 || ratios[i] > verdict.max_ratio) {
      verdict.max_ratio = ratios[i];
      verdict.worst = i;
      verdict.worst_got = got[i];
      verdict.worst_exact = exact[i];
      verdict.worst_bound = bound;
    }
  }
  if (!ratios.empty()) {
    const auto p99 = ratios.begin() + static_cast<std::ptrdiff_t>((ratios.size() - 1) * 99 / 100);
    std::nth_element(ratios.begin(), p99, ratios.end());
    verdict.p99_ratio = *p99;
  }
  return verdict;
}

}  // namespace skua::test
