// Integer products of panels, instantiated per code width, centre, offset and scale type.
#include "backend/cpu/kernels/panel_dot.h"

namespace skua::cpu::SKUA_ISA {
namespace {

constexpr int kTokens = kWide ? 8 : 4;  // activation rows that share one unpacked block
constexpr int kParts = static_cast<int>(kPanelRows) / Lanes::kCount;

template <DType kScale>
Lanes::F load_numbers(const std::byte* p) {
  if constexpr (kScale == DType::kF16) return Lanes::load_f16(p);
  if constexpr (kScale == DType::kBF16) return Lanes::load_bf16(p);
  return Lanes::load_f32(p);
}

template <int kBits, int kCentre, bool kOffset, DType kScale, int kT>
inline void panel_tokens(const Panel& panel, const QuantizedRow* x, float* out) {
  constexpr int64_t kNumber = kScale == DType::kF32 ? 4 : 2;
  constexpr int64_t kBlock = panel_block_bytes(kBits);
  for (int part = 0; part < kParts; ++part) {
    Lanes::F y[kT];
    for (int t = 0; t < kT; ++t) y[t] = Lanes::zero();
    const std::byte* codes_at = panel.codes + part * 4 * Lanes::kCount;
    const int64_t numbers_at = part * Lanes::kCount * kNumber;
    int64_t group = 0, left = panel.group_blocks;
    for (int64_t b = 0; b < panel.n_blocks; ++b) {
      Lanes::I codes[8];
      unpack_block<kBits>(codes_at + b * kBlock, codes);
      const int64_t at = numbers_at + group * kPanelRows * kNumber;
      const Lanes::F scale = load_numbers<kScale>(panel.scales + at);
      Lanes::F offset = Lanes::zero();
      if constexpr (kOffset) offset = load_numbers<kScale>(panel.offsets + at);
      for (int t = 0; t < kT; ++t) {
        const BlockMeta& meta = x[t].metas[b];
        const Lanes::I dot = dot_block<kBits, kCentre>(codes, x[t].codes + b * kPanelCols, meta);
        if constexpr (kOffset) y[t] = Lanes::fma(offset, Lanes::splat(meta.sum), y[t]);
        y[t] = Lanes::fma(Lanes::to_float(dot), Lanes::mul(scale, Lanes::splat(meta.scale)), y[t]);
      }
      if (--left == 0) {
        ++group;
        left = panel.group_blocks;
      }
    }
    for (int t = 0; t < kT; ++t) Lanes::store(out + t * kPanelRows + part * Lanes::kCount, y[t]);
  }
}

template <int kBits, int kCentre, bool kOffset, DType kScale>
void panel_rows(const Panel& panel, const QuantizedRow* x, int64_t n, float* out) {
  int64_t t = 0;
  for (; t + kTokens <= n; t += kTokens) {
    panel_tokens<kBits, kCentre, kOffset, kScale, kTokens>(panel, x + t, out + t * kPanelRows);
  }
  if constexpr (kTokens > 4) {
    if (t + 4 <= n) {
      panel_tokens<kBits, kCentre, kOffset, kScale, 4>(panel, x + t, out + t * kPanelRows);
      t += 4;
    }
  }
  if (t + 2 <= n) {
    panel_tokens<kBits, kCentre, kOffset, kScale, 2>(panel, x + t, out + t * kPanelRows);
    t += 2;
  }
  if (t < n) panel_tokens<kBits, kCentre, kOffset, kScale, 1>(panel, x + t, out + t * kPanelRows);
}

template <int kBits>
PanelFn affine_kernel(DType scale_type) {
  switch (scale_type) {
    case DType::kF16:
      return panel_rows<kBits, 0, true, DType::kF16>;
    case DType::kBF16:
      return panel_rows<kBits, 0, true, DType::kBF16>;
    default:
      return panel_rows<kBits, 0, true, DType::kF32>;
  }
}

}  // namespace

PanelFn panel_kernel(const PanelFormat& format) {
  if (format.has_offset)
    return format.bits == 4 ? affine_kernel<4>(format.scale_type) : affine_kernel<8>(format.scale_type);
  if (format.bits == 4) return panel_rows<4, 8, false, DType::kF16>;
  return panel_rows<8, 128, false, DType::kF16>;
}

}  // namespace skua::cpu::SKUA_ISA
