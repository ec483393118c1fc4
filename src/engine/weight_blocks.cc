// Joins the blocks of a weight without copying where rows stay rows; copies what is transposed, cut or
// decoded.
#include "engine/weight_blocks.h"

#include <algorithm>
#include <cstring>

namespace skua {
namespace {

const BlockSource* find_source(const Checkpoint& checkpoint, const WeightDecl& decl) {
  for (const BlockSource& source : decl.blocks) {
    bool whole = true;
    for (const std::string& name : source.tensors) whole = whole && checkpoint.find(name) != nullptr;
    if (whole) return &source;
  }
  return decl.blocks.empty() ? nullptr : decl.blocks.data();
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

/// True if a tensor holds `n` blocks one after another.
bool holds_blocks(const std::vector<int64_t>& shape, int64_t n, const BlockSource& source) {
  if (shape.empty()) return false;
  if (shape.size() == 3 && n == 1 && (shape[1] == 1 || shape[2] == 1)) {  // a depthwise convolution
    return shape[0] == source.block_rows && shape[1] * shape[2] == source.block_cols;
  }
  if (source.block_rows == 1 && shape.size() == 1) return shape[0] == n * source.block_cols;
  if (shape.back() != source.block_cols) return false;
  if (shape.size() == 3 && n == 1 && shape[0] * shape[1] == source.block_rows)
    return true;  // dimensions folded
  if (shape.size() == 3) return shape[0] == n && shape[1] == source.block_rows;
  return shape.size() == 2 && shape[0] == n * source.block_rows;
}

/// All blocks as one matrix of stored rows.
Result<EncodedMatrix> stored_blocks(const Checkpoint& checkpoint, const BlockSource& source) {
  SKUA_ASSIGN_OR_RETURN(EncodedMatrix all, checkpoint.matrix(source.tensors[0]));
  if (source.tensors.size() == 1) {
    // A vector of several blocks, or a matrix whose rows are stored with a dimension of 1 behind them.
    const bool vector = all.rows == 1 && source.n_blocks > 1;
    const bool columns = all.cols == 1 && source.block_cols > 1;
    if ((vector || columns) && all.format.is_plain()) {
      all.rows = source.n_blocks * source.block_rows;
      all.cols = source.block_cols;
      all.row_stride_bytes[0] = plane_row_bytes(all.format, 0, all.cols);
    }
    return all;
  }
  for (const std::string& name : source.tensors) {
    SKUA_ASSIGN_OR_RETURN(const EncodedMatrix one, checkpoint.matrix(name));
    if (one.format != all.format || one.row_stride_bytes != all.row_stride_bytes || !one.row_map.empty()) {
      return unsupported("[load] " + name + " is stored as " + format_name(one.format) + ", " +
                         source.tensors[0] + " as " + format_name(all.format) +
                         ": the parts of one weight must be stored alike");
    }
    all.places.push_back(one.planes);
  }
  all.place_rows = source.block_rows;
  all.rows = source.block_rows * source.n_blocks;
  return all;
}

/// Decodes a quantized matrix to `type`, row by row.
EncodedMatrix decoded(const EncodedMatrix& m, DType type, std::vector<std::byte>& copy) {
  const size_t size = dtype_bytes(type);
  copy.resize(static_cast<size_t>(m.rows * m.cols) * size);
  std::vector<float> row(static_cast<size_t>(m.cols));
  std::byte* to = copy.data();
  for (int64_t r = 0; r < m.rows; ++r) {
    decode_row(m, r, 0, m.cols, row.data());
    for (const float value : row) {
      if (type == DType::kF32) {
        std::memcpy(to, &value, size);
      } else {
        const uint16_t bits = type == DType::kBF16 ? f32_to_bf16(value) : f32_to_f16(value);
        std::memcpy(to, &bits, size);
      }
      to += size;
    }
  }
  return {
      plain_format(type), m.rows, m.cols, {copy.data()}, {static_cast<uint64_t>(m.cols) * size}, {}, {}, 0};
}

/// Copies single elements: block columns become rows.
EncodedMatrix transposed_blocks(const EncodedMatrix& all, const BlockSource& source, int64_t rows,
                                int64_t cols, std::vector<std::byte>& copy) {
  const uint64_t size = plane_row_bytes(all.format, 0, 1);
  const int64_t taken = rows / source.n_blocks;
  copy.resize(static_cast<size_t>(rows * cols) * size);
  for (int64_t b = 0; b < source.n_blocks; ++b) {
    for (int64_t c = 0; c < cols; ++c) {
      const std::byte* from = all.row_plane(0, b * source.block_rows + source.skip + c);
      for (int64_t i = 0; i < taken; ++i) {
        std::memcpy(&copy[static_cast<size_t>((b * taken + i) * cols + c) * size],
                    from + static_cast<uint64_t>(source.first + i * source.step) * size, size);
      }
    }
  }
  return {all.format, rows, cols, {copy.data()}, {static_cast<uint64_t>(cols) * size}, {}, {}, 0};
}

/// The same matrix with `row` read from zeros in `copy`: zero bytes are zero in every format.
EncodedMatrix with_zero_row(EncodedMatrix m, int64_t row, std::vector<std::byte>& copy) {
  uint64_t most = 0;
  for (int plane = 0; plane < 3; ++plane) most = std::max(most, plane_row_bytes(m.format, plane, m.cols));
  copy.assign(most, std::byte{0});
  std::vector<std::array<const std::byte*, 3>> places(static_cast<size_t>(m.rows));
  for (int64_t r = 0; r < m.rows; ++r) {
    for (int plane = 0; plane < 3; ++plane) {
      if (plane_row_bytes(m.format, plane, m.cols) == 0) continue;
      places[static_cast<size_t>(r)][static_cast<size_t>(plane)] =
          r == row ? copy.data() : m.row_plane(plane, r);
    }
  }
  m.places = std::move(places);
  m.place_rows = 1;
  m.row_map.clear();
  return m;
}

}  // namespace

bool drops_values(const Checkpoint& checkpoint, const WeightDecl& decl) {
  if (!decl.zero_row) return false;
  const auto whole = checkpoint.matrix(decl.name);
  if (!whole.ok() || *decl.zero_row >= whole->rows) return false;
  std::vector<float> row(static_cast<size_t>(whole->cols));
  decode_row(*whole, *decl.zero_row, 0, whole->cols, row.data());
  return std::any_of(row.begin(), row.end(), [](float v) { return v != 0.0f; });
}

std::vector<std::string> tensors_of(const Checkpoint& checkpoint, const WeightDecl& decl) {
  const BlockSource* source = find_source(checkpoint, decl);
  return source == nullptr ? std::vector<std::string>{decl.name} : source->tensors;
}

Status check_stored_shapes(const Checkpoint& checkpoint, const WeightDecl& decl) {
  const BlockSource* source = find_source(checkpoint, decl);
  if (source == nullptr) {
    const std::vector<int64_t>& shape = checkpoint.find(decl.name)->shape;
    if (shape.empty() && decl.rows == 1 && decl.cols == 1) return ok_status();
    const bool fits = shape.size() == 2 ? shape[0] == decl.rows && shape[1] == decl.cols
                                        : shape.size() == 1 && decl.rows == 1 && shape[0] == decl.cols;
    return fits ? ok_status() : data_loss(print(decl) + " is stored as " + shape_text(shape));
  }
  const auto n_tensors = static_cast<int64_t>(source->tensors.size());
  const int64_t per_tensor = n_tensors == 1 ? source->n_blocks : 1;
  for (const std::string& name : source->tensors) {
    const std::vector<int64_t>& shape = checkpoint.find(name)->shape;
    if (holds_blocks(shape, per_tensor, *source)) continue;
    return data_loss(name + " must hold " + std::to_string(per_tensor) + " blocks of [" +
                     std::to_string(source->block_rows) + ", " + std::to_string(source->block_cols) +
                     "] and is stored as " + shape_text(shape));
  }
  return ok_status();
}

Result<EncodedMatrix> read_weight(const Checkpoint& checkpoint, const WeightDecl& decl,
                                  std::vector<std::byte>& copy) {
  const BlockSource* source = find_source(checkpoint, decl);
  if (source == nullptr) {
    SKUA_ASSIGN_OR_RETURN(EncodedMatrix whole, checkpoint.matrix(decl.name));
    if (decl.zero_row) return with_zero_row(std::move(whole), *decl.zero_row, copy);
    if (!decl.plain || whole.format.is_plain()) return whole;
    return decoded(whole, *decl.plain, copy);
  }
  SKUA_ASSIGN_OR_RETURN(EncodedMatrix all, stored_blocks(checkpoint, *source));
  std::vector<std::byte> decoded_copy;
  if (decl.plain && !all.format.is_plain()) all = decoded(all, *decl.plain, decoded_copy);
  // One row of a matrix is no vector: only those are declared as blocks of one row, cut along their columns.
  const bool vector = decl.rows == 1 && source->take == Take::kColumns && source->block_rows == 1;
  const int64_t rows = vector ? decl.cols : decl.rows, cols = vector ? 1 : decl.cols;
  if (source->take == Take::kColumns) {
    if (!all.format.is_plain()) {
      return unsupported("[load] " + source->tensors[0] + " is stored as " + format_name(all.format) +
                         " and would have to be transposed; only f32, f16 and bf16 can be");
    }
    EncodedMatrix out = transposed_blocks(all, *source, rows, cols, copy);
    if (vector) {
      out.row_stride_bytes[0] *= static_cast<uint64_t>(rows);
      std::swap(out.rows, out.cols);
    }
    return out;
  }
  const int64_t taken = rows / source->n_blocks;
  std::vector<uint32_t> map;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t stored = row / taken * source->block_rows + source->first + row % taken * source->step;
    map.push_back(all.row_map.empty() ? static_cast<uint32_t>(stored)
                                      : all.row_map[static_cast<size_t>(stored)]);
  }
  all.row_map = std::move(map);
  all.rows = rows;
  if (!decoded_copy.empty()) copy = std::move(decoded_copy);
  return all;
}

}  // namespace skua
