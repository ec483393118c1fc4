// Copying and checking weights. Each row is checked where its numbers live: plain elements one by one,
// quantized formats by their scales, since a finite scale and offset of moderate size give finite values.
#include "backend/cpu/pack.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <string>

#include "base/math.h"

namespace skua::cpu {
namespace {

constexpr uint64_t kPlaneAlign = 64;
constexpr uint64_t kTail = 64;  // kernels may read a few bytes past the last row

template <typename T>
T load_as(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

/// Whether any of n unsigned numbers, masked, equals the mask: an exponent of all ones.
template <typename T>
bool any_exponent_full(const std::byte* at, int64_t n, T mask) {
  T found = 0;
  for (int64_t i = 0; i < n; ++i)
    found = static_cast<T>(found | ((load_as<T>(at + i * sizeof(T)) & mask) == mask));
  return found != 0;
}

constexpr uint16_t kF16Exponent = 0x7c00;

/// Where the f16 scales (and minima) of a GGUF block lie: its columns and bytes, the first's place, how many.
struct BlockScales {
  FormatKind kind;
  int64_t cols, bytes, at, n;
};
constexpr BlockScales kBlockScales[] = {
    {FormatKind::kQ4_0, 32, 18, 0, 1},     {FormatKind::kQ4_1, 32, 20, 0, 2},
    {FormatKind::kQ5_0, 32, 22, 0, 1},     {FormatKind::kQ5_1, 32, 24, 0, 2},
    {FormatKind::kQ8_0, 32, 34, 0, 1},     {FormatKind::kQ2_K, 256, 84, 80, 2},
    {FormatKind::kQ3_K, 256, 110, 108, 1}, {FormatKind::kQ4_K, 256, 144, 0, 2},
    {FormatKind::kQ5_K, 256, 176, 0, 2},   {FormatKind::kQ6_K, 256, 210, 208, 1},
    {FormatKind::kIQ4_NL, 32, 18, 0, 1},   {FormatKind::kIQ4_XS, 256, 136, 0, 1},
};

/// Whether all scales of a row of blocks are finite; false for kinds that are not in the table.
bool block_scales_finite(const EncodedMatrix& source, const std::byte* codes) {
  for (const BlockScales& place : kBlockScales) {
    if (place.kind != source.format.kind) continue;
    for (int64_t b = 0; b < source.cols / place.cols; ++b) {
      if (any_exponent_full<uint16_t>(codes + b * place.bytes + place.at, place.n, kF16Exponent))
        return false;
    }
    return true;
  }
  return false;
}

constexpr uint8_t kMxfp4Largest = 252;  // 2^(252-127) times 6 is finite

/// Whether n bytes, `step` apart, are all at most `largest`.
bool scale_bytes_below(const std::byte* at, int64_t step, int64_t n, uint8_t largest) {
  for (int64_t i = 0; i < n; ++i)
    if (load_as<uint8_t>(at + i * step) > largest) return false;
  return true;
}

/// Whether a row is surely finite, by a quick look; false asks for the slow look.
bool quickly_finite(const EncodedMatrix& source, int64_t row) {
  const std::byte* codes = source.row_plane(0, row);
  constexpr uint16_t kBF16Exponent = 0x7f80;
  switch (source.format.kind) {
    case FormatKind::kF32:
      return !any_exponent_full<uint32_t>(codes, source.cols, 0x7f800000u);
    case FormatKind::kF16:
      return !any_exponent_full<uint16_t>(codes, source.cols, kF16Exponent);
    case FormatKind::kBF16:
      return !any_exponent_full<uint16_t>(codes, source.cols, kBF16Exponent);
    case FormatKind::kMxfp4Block:
      return scale_bytes_below(codes, 17, source.cols / 32, kMxfp4Largest);
    case FormatKind::kMxfp4:
      return scale_bytes_below(source.row_plane(1, row), 1, source.cols / 32, kMxfp4Largest);
    case FormatKind::kAffine:
      break;
    default:
      return block_scales_finite(source, codes);
  }
  // 2^112 times a code of 8 bits, plus an offset of that size, stays far below 2^128.
  const int64_t groups = source.cols / source.format.group;
  for (int plane = 1; plane < 3; ++plane) {
    const std::byte* at = source.row_plane(plane, row);
    for (int64_t g = 0; g < groups; ++g) {
      float value = 0.0f;
      switch (source.format.scale_type) {
        case DType::kF16:
          value = f16_to_f32(load_as<uint16_t>(at + 2 * g));
          break;
        case DType::kBF16:
          value = bf16_to_f32(load_as<uint16_t>(at + 2 * g));
          break;
        default:
          value = load_as<float>(at + 4 * g);
      }
      if (!(std::fabs(value) <= 0x1p112f)) return false;
    }
  }
  return true;
}

PackedWeight::Layout layout_of(const EncodedMatrix& source, uint64_t* bytes) {
  PackedWeight::Layout layout{.format = source.format, .rows = source.rows, .cols = source.cols};
  *bytes = 0;
  for (int plane = 0; plane < 3; ++plane) {
    layout.plane_offset[plane] = *bytes;
    layout.plane_row_bytes[plane] = plane_row_bytes(source.format, plane, source.cols);
    *bytes =
        round_up(*bytes + static_cast<uint64_t>(source.rows) * layout.plane_row_bytes[plane], kPlaneAlign);
  }
  *bytes += kTail;
  return layout;
}

}  // namespace

int64_t first_bad_column(const EncodedMatrix& source, int64_t row) {
  if (quickly_finite(source, row)) return -1;
  float values[256];
  for (int64_t col = 0; col < source.cols; col += 256) {
    const int64_t n = std::min<int64_t>(256, source.cols - col);
    decode_row(source, row, col, n, values);
    for (int64_t i = 0; i < n; ++i) {
      if (!std::isfinite(values[i])) return col + i;
    }
  }
  return -1;
}

/// Formats that `auto` runs in panels: those judged, with a loss in perplexity against kF32 below 0.5 %
/// (docs/checkpoints.md). A format that is added waits here until it was judged too.
static bool passed_the_gate(const Format& format) {
  switch (format.kind) {
    case FormatKind::kQ4_0:
    case FormatKind::kQ4_1:
    case FormatKind::kQ5_0:
    case FormatKind::kQ5_1:
    case FormatKind::kQ8_0:
    case FormatKind::kQ2_K:
    case FormatKind::kQ3_K:
    case FormatKind::kQ4_K:
    case FormatKind::kQ5_K:
    case FormatKind::kQ6_K:
    case FormatKind::kIQ4_NL:
    case FormatKind::kIQ4_XS:
    case FormatKind::kMxfp4Block:
    case FormatKind::kMxfp4:
    case FormatKind::kAffine:
      return true;
    default:
      return false;
  }
}

WeightOrder weight_order(CpuCompute compute, const Format& format, int64_t rows) {
  const bool wanted =
      compute == CpuCompute::kNative || (compute == CpuCompute::kAuto && passed_the_gate(format));
  const bool panels = wanted && rows > 1 && panel_format(format).has_value();
  return panels ? WeightOrder::kPanels : WeightOrder::kRows;
}

namespace {

/// One weight on its way: what to write for each row, or for each panel of rows.
class Packer {
 public:
  Packer(const EncodedMatrix& source, CpuCompute compute)
      : source_(source),
        vector_(source.rows == 1 && source.format.kind != FormatKind::kF32),
        order_(weight_order(compute, source.format, source.rows)) {
    if (order_ == WeightOrder::kPanels) {
      layout_ = panel_layout(source.format, source.rows, source.cols, &bytes_);
    } else if (vector_) {
      EncodedMatrix as_f32;
      as_f32.rows = 1;
      as_f32.cols = source.cols;
      layout_ = layout_of(as_f32, &bytes_);
    } else {
      layout_ = layout_of(source, &bytes_);
    }
  }

  const PackedWeight::Layout& layout() const { return layout_; }
  uint64_t bytes() const { return bytes_; }
  int64_t first_bad() const { return first_bad_.load(); }  // row * cols + column, or INT64_MAX

  void run(ThreadPool& pool, std::byte* base) {
    pool.for_ranges(source_.rows, kPanelRows, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        if (!check(row)) return;
        if (order_ == WeightOrder::kRows) put_row(row, base);
      }
      if (order_ == WeightOrder::kPanels) {
        for (int64_t row = begin; row < end; row += kPanelRows)
          pack_panel(source_, layout_, row / kPanelRows, base);
      }
    });
  }

 private:
  bool check(int64_t row) {
    const int64_t col = first_bad_column(source_, row);
    if (col < 0) return true;
    int64_t seen = first_bad_.load();
    const int64_t here = row * source_.cols + col;
    while (here < seen && !first_bad_.compare_exchange_weak(seen, here)) {
    }
    return false;
  }

  void put_row(int64_t row, std::byte* base) const {
    if (vector_) {
      decode_row(source_, row, 0, source_.cols, reinterpret_cast<float*>(base));
      return;
    }
    for (int plane = 0; plane < 3; ++plane) {
      const uint64_t n = layout_.plane_row_bytes[plane];
      if (n == 0) continue;
      std::memcpy(base + layout_.plane_offset[plane] + static_cast<uint64_t>(row) * n,
                  source_.row_plane(plane, row), n);
    }
  }

  const EncodedMatrix& source_;
  bool vector_;
  WeightOrder order_;
  PackedWeight::Layout layout_;
  uint64_t bytes_ = 0;
  std::atomic<int64_t> first_bad_{INT64_MAX};
};

}  // namespace

Result<PackedWeight> pack_weight(const EncodedMatrix& source, std::string_view name, CpuCompute compute,
                                 WeightHeap& heap, ThreadPool& pool) {
  Packer packer(source, compute);
  SKUA_ASSIGN_OR_RETURN(const std::shared_ptr<DeviceBuffer> buffer, heap.take(packer.bytes(), name));
  packer.run(pool, buffer->data());
  if (packer.first_bad() != INT64_MAX) {
    const int64_t row = packer.first_bad() / source.cols, col = packer.first_bad() % source.cols;
    return data_loss("[load] " + std::string(name) + " holds a NaN or infinity, first at row " +
                     std::to_string(row) + ", column " + std::to_string(col) + "; the file is damaged");
  }
  return PackedWeight{packer.layout(), buffer};
}

}  // namespace skua::cpu
