// Integer products of panels with a scale per group, instantiated per code width, centre, offset, scale type
// and tile; those of other formats are in panel_k_dot.cc and panel_table_dot.cc.
#include "backend/cpu/kernels/panel_walk.h"

namespace skua::cpu::SKUA_ISA {
namespace {

template <DType kScale>
Lanes::F load_numbers(const std::byte* p) {
  if constexpr (kScale == DType::kF16) return Lanes::load_f16(p);
  if constexpr (kScale == DType::kBF16) return Lanes::load_bf16(p);
  return Lanes::load_f32(p);
}

template <int kBits, int kCentre, bool kOffset, DType kScale, int kT>
void panel_tile(const Panel& panel, const std::byte* tile, float* out) {
  constexpr int64_t kNumber = kScale == DType::kF32 ? 4 : 2;
  for (int part = 0; part < kParts; ++part) {
    Lanes::F y[kT];
#pragma GCC unroll 8
    for (int t = 0; t < kT; ++t) y[t] = Lanes::zero();
    const auto* x = reinterpret_cast<const QuantizedBlock<kT>*>(tile);
    const auto* const end = x + panel.n_blocks;
    const std::byte* codes_at = panel.codes + part * 4 * Lanes::kCount;
    const std::byte* scale_at = panel.scales + part * Lanes::kCount * kNumber;
    const std::byte* offset_at = kOffset ? panel.offsets + part * Lanes::kCount * kNumber : nullptr;
    while (x != end) {
      const Lanes::F scale = load_numbers<kScale>(scale_at);
      const Lanes::F offset = kOffset ? load_numbers<kScale>(offset_at) : Lanes::zero();
      for (int64_t left = panel.group_blocks; left != 0; --left) {
        prefetch(codes_at + kPrefetchBytes, panel_block_bytes(kBits));
        Lanes::I codes[8];
        unpack_block<kBits>(codes_at, codes);
#pragma GCC unroll 8
        for (int t = 0; t < kT; ++t) {
          const Lanes::I dot = dot_block<kBits, kCentre>(codes, *x, t);
          if constexpr (kOffset) y[t] = Lanes::fma(offset, Lanes::splat(x->sum[t]), y[t]);
          y[t] = Lanes::fma(Lanes::to_float(dot), Lanes::mul(scale, Lanes::splat(x->scale[t])), y[t]);
        }
        ++x;
        codes_at += panel_block_bytes(kBits);
      }
      scale_at += kPanelRows * kNumber;
      if constexpr (kOffset) offset_at += kPanelRows * kNumber;
    }
#pragma GCC unroll 8
    for (int t = 0; t < kT; ++t) Lanes::store(out + t * kPanelRows + part * Lanes::kCount, y[t]);
  }
}

template <int kBits, int kCentre, bool kOffset, DType kScale>
const PanelKernels& kernels() {
  static constexpr PanelKernels kAll = [] {
    PanelKernels all;
    all.by_rows[1] = panel_tile<kBits, kCentre, kOffset, kScale, 1>;
    all.by_rows[2] = panel_tile<kBits, kCentre, kOffset, kScale, 2>;
    all.by_rows[4] = panel_tile<kBits, kCentre, kOffset, kScale, 4>;
    if constexpr (kTileRows == 8) all.by_rows[8] = panel_tile<kBits, kCentre, kOffset, kScale, 8>;
    return all;
  }();
  return kAll;
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
