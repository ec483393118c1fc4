// Decoding of packed weights for the float64 kernels.
#include "backend/ref/call.h"

namespace skua::ref {

EncodedMatrix Call::weight(size_t i) const {
  const PackedWeight::Layout& layout = args.weights[i];
  const std::byte* base = operands_[args.step_inputs.size() + args.inputs.size() + i];
  EncodedMatrix matrix;
  matrix.format = layout.format;
  matrix.rows = layout.rows;
  matrix.cols = layout.cols;
  for (size_t plane = 0; plane < 3; ++plane) {
    matrix.planes[plane] = base + layout.plane_offset[plane];
    matrix.row_stride_bytes[plane] = layout.plane_row_bytes[plane];
  }
  return matrix;
}

std::vector<double> Call::weight_row(size_t i, int64_t row) const {
  const EncodedMatrix matrix = weight(i);
  std::vector<float> values(static_cast<size_t>(matrix.cols));
  decode_row(matrix, row, 0, matrix.cols, values.data());
  return {values.begin(), values.end()};
}

}  // namespace skua::ref
