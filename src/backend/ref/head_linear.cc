// HeadLinear: each head's slice of x meets that head's matrix.
#include "backend/ref/parts.h"

namespace skua::ref {

void head_linear(const Call& call) {
  const EncodedMatrix w = call.weight(0);
  const Rows x = call.input(0);
  const Rows y = call.output(0);
  const int64_t rows = w.rows / call.op<HeadLinear>().n_heads;  // of one head
  call.pool.for_ranges(w.rows, 1, [&](int64_t begin, int64_t end) {
    std::vector<float> stored(static_cast<size_t>(w.cols));
    for (int64_t n = begin; n < end; ++n) {
      decode_row(w, n, 0, w.cols, stored.data());
      const std::vector<double> row(stored.begin(), stored.end());
      for (int64_t t = 0; t < x.n; ++t) {
        y.store(t, n, dot(x.row(t) + n / rows * w.cols, row.data(), w.cols));
      }
    }
  });
}

}  // namespace skua::ref
