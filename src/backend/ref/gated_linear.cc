// GatedLinear: act(x gate^T) * (x up^T); both products are rounded to product_storage first.
#include "backend/ref/parts.h"

namespace skua::ref {

void gated_linear(const Call& call) {
  const auto& op = call.op<GatedLinear>();
  size_t next = 0;
  const LinearWeights gate = take_linear(call, op.gate, next);
  const LinearWeights up = take_linear(call, op.up, next);
  const Rows x = call.input(0);
  const Rows y = call.output(0);
  const DType product_storage = call.args.inner_storage;
  call.pool.for_ranges(y.width, 1, [&](int64_t begin, int64_t end) {
    std::vector<float> stored(static_cast<size_t>(x.width));
    for (int64_t n = begin; n < end; ++n) {
      decode_row(gate.weight, n, 0, x.width, stored.data());
      const std::vector<double> gate_row(stored.begin(), stored.end());
      decode_row(up.weight, n, 0, x.width, stored.data());
      const std::vector<double> up_row(stored.begin(), stored.end());
      for (int64_t t = 0; t < x.n; ++t) {
        const double g = dot(x.row(t), gate_row.data(), x.width) + gate.bias_of(n);
        const double u = dot(x.row(t), up_row.data(), x.width) + up.bias_of(n);
        y.store(t, n, activate(op.act, round_to(product_storage, g)) * round_to(product_storage, u));
      }
    }
  });
}

}  // namespace skua::ref
