// Integer products of panels with a scale per group, instantiated per code width, centre, offset, scale type
// and tile; those of other formats are in panel_k_dot.cc and panel_table_dot.cc.
#include "backend/cpu/kernels/panel_walk.h"

namespace skua::cpu::SKUA_ISA {
namespace {

template <DType kScale>
Lanes::F load_scale(const std::byte* p) {
  if constexpr (kScale == DType::kF16) return Lanes::load_f16(p);
  if constexpr (kScale == DType::kBF16) return Lanes::load_bf16(p);
  return Lanes::load_f32(p);
}

template <int kBits, int kCentre, bool kOffset, DType kScale>
struct GroupCursor {
  static constexpr int64_t kBytes = kPanelRows * (kScale == DType::kF32 ? 4 : 2);  // of a group's scales

  CodeCursor<kBits> code_cursor;
  const std::byte *scales, *offsets;
  const std::byte *scale_at, *offset_at;
  int group_shift;
  int64_t group_blocks, left = 0;  // blocks that still have the scale at hand
  Lanes::I codes[8];
  Lanes::F scale = Lanes::zero(), offset = Lanes::zero();

  GroupCursor(const Panel& panel, int part)
      : code_cursor(panel, part),
        scales(panel.scales + part * kBytes / kParts),
        offsets(kOffset ? panel.offsets + part * kBytes / kParts : nullptr),
        scale_at(scales),
        offset_at(offsets),
        group_shift(__builtin_ctzll(static_cast<uint64_t>(panel.group_blocks))),
        group_blocks(panel.group_blocks) {}

  [[gnu::always_inline]] void load_numbers() {
    scale = load_scale<kScale>(scale_at);
    scale_at += kBytes;
    if constexpr (kOffset) {
      offset = load_scale<kScale>(offset_at);
      offset_at += kBytes;
    }
  }

  [[gnu::always_inline]] void seek(int64_t block) {
    code_cursor.seek(block);
    scale_at = scales + (block >> group_shift) * kBytes;
    if constexpr (kOffset) offset_at = offsets + (block >> group_shift) * kBytes;
    left = 0;
  }

  template <bool kAhead>
  [[gnu::always_inline]] void next() {
    if (left == 0) {
      load_numbers();
      left = group_blocks;
    }
    --left;
    code_cursor.template next<kAhead>(codes);
  }

  template <int kT>
  [[gnu::always_inline]] Lanes::F add(Lanes::F y, const QuantizedBlock<kT>& x, int t) const {
    const Lanes::I dot = dot_block<kBits, kCentre>(codes, x, t);
    if constexpr (kOffset) y = Lanes::fma(offset, Lanes::splat(x.sum[t]), y);
    return Lanes::fma(Lanes::to_float(dot), Lanes::mul(scale, Lanes::splat(x.scale[t])), y);
  }
};

template <int kBits, int kCentre, bool kOffset, DType kScale>
const PanelKernels& kernels() {
  return walking_kernels<GroupCursor<kBits, kCentre, kOffset, kScale>>();
}

template <int kBits>
const PanelKernels& offset_kernels(DType scale_type) {
  switch (scale_type) {
    case DType::kF16:
      return kernels<kBits, 0, true, DType::kF16>();
    case DType::kBF16:
      return kernels<kBits, 0, true, DType::kBF16>();
    default:
      return kernels<kBits, 0, true, DType::kF32>();
  }
}

}  // namespace

const PanelKernels& panel_kernels(const PanelFormat& format) {
  if (format.codes != PanelCodes::kNumbers) return table_kernels(format);
  if (format.numbers != PanelNumbers::kGroups) return k_quant_kernels(format);
  if (!format.has_offset) {
    if (format.bits == 4) return kernels<4, 8, false, DType::kF16>();
    if (format.bits == 5) return kernels<5, 16, false, DType::kF16>();
    return kernels<8, 128, false, DType::kF16>();
  }
  switch (format.bits) {
    case 2:
      return offset_kernels<2>(format.scale_type);
    case 3:
      return offset_kernels<3>(format.scale_type);
    case 4:
      return offset_kernels<4>(format.scale_type);
    case 5:
      return offset_kernels<5>(format.scale_type);
    case 6:
      return offset_kernels<6>(format.scale_type);
    default:
      return offset_kernels<8>(format.scale_type);
  }
}

}  // namespace skua::cpu::SKUA_ISA
