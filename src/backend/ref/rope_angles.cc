// RopeAngles: cos and sin of positions[t] * inv_freq[i], times attention_factor; all cosines, then all sines.
#include <cmath>

#include "backend/ref/call.h"

namespace skua::ref {

void rope_angles(const Call& call) {
  const auto& op = call.op<RopeAngles>();
  const int32_t* positions = call.ints(StepInput::kPositions);
  const Rows y = call.output(0);
  const auto half = static_cast<int64_t>(op.inv_freq.size());
  for_each(call.pool, y.n, [&](int64_t t) {
    for (int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(positions[t]) * op.inv_freq[static_cast<size_t>(i)];
      y.store(t, i, std::cos(angle) * op.attention_factor);
      y.store(t, half + i, std::sin(angle) * op.attention_factor);
    }
  });
}

}  // namespace skua::ref
