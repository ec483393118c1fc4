// Products of panels in Q2_K to Q6_K: blocks of 256 columns under one f16 d (and d_min), whose groups of 16
// or 32 columns have scales (and minima) of few bits. d times a group's scale is exact in f32.
#include "backend/cpu/kernels/panel_walk.h"

namespace skua::cpu::SKUA_ISA {
namespace {

constexpr int64_t kSuperBlocks = kSuperCols / kPanelCols;

/// d, and -d_min where a format has minima, of the 256 columns that a block lies in.
template <bool kMin>
struct SuperCursor {
  const std::byte* begin;
  int64_t block = 0;
  Lanes::F d = Lanes::zero(), minus_d_min = Lanes::zero();

  SuperCursor(const Panel& panel, int part) : begin(panel.offsets + part * Lanes::kCount * 2) {}
  [[gnu::always_inline]] void load() {
    const std::byte* at = begin + block / kSuperBlocks * (kMin ? 4 : 2) * kPanelRows;
    d = Lanes::load_f16(at);
    if constexpr (kMin) minus_d_min = Lanes::mul(Lanes::splat(-1.0f), Lanes::load_f16(at + 2 * kPanelRows));
  }
  [[gnu::always_inline]] void seek(int64_t to) {
    block = to;
    load();
  }
  [[gnu::always_inline]] void next() {
    if (block % kSuperBlocks == 0) load();
    ++block;
  }
};

/// What these cursors share: codes, d, and two bytes of numbers per row and block.
template <int kBits, bool kMin>
struct SubScaleCursor {
  static constexpr int64_t kSubBytes = 2 * kPanelRows;  // of a block

  CodeCursor<kBits> code_cursor;
  SuperCursor<kMin> super;
  const std::byte *subs, *sub_at;  // sub_at: of the block at hand
  Lanes::I codes[8];

  SubScaleCursor(const Panel& panel, int part)
      : code_cursor(panel, part),
        super(panel, part),
        subs(panel.scales + part * Lanes::kCount),
        sub_at(subs - kSubBytes) {}

  [[gnu::always_inline]] void seek(int64_t block) {
    super.seek(block);
    code_cursor.seek(block);
    sub_at = subs + (block - 1) * kSubBytes;
  }

  template <bool kAhead>
  [[gnu::always_inline]] void load_block() {
    super.next();
    code_cursor.template next<kAhead>(codes);
    sub_at += kSubBytes;
  }
};

/// Q4_K, Q5_K: a scale and a minimum per block.
template <int kBits>
struct ScaleMinCursor {
  SubScaleCursor<kBits, true> at;
  Lanes::F scale, offset;

  ScaleMinCursor(const Panel& panel, int part) : at(panel, part) {}
  [[gnu::always_inline]] void seek(int64_t block) { at.seek(block); }

  template <bool kAhead>
  [[gnu::always_inline]] void next() {
    at.template load_block<kAhead>();
    scale = Lanes::mul(at.super.d, Lanes::load_u8(at.sub_at));
    offset = Lanes::mul(at.super.minus_d_min, Lanes::load_u8(at.sub_at + kPanelRows));
  }

  template <int kT>
  [[gnu::always_inline]] Lanes::F add(Lanes::F y, const QuantizedBlock<kT>& x, int t) const {
    const Lanes::I dot = dot_block<kBits, 0>(at.codes, x, t);
    y = Lanes::fma(offset, Lanes::splat(x.sum[t]), y);
    return Lanes::fma(Lanes::to_float(dot), Lanes::mul(scale, Lanes::splat(x.scale[t])), y);
  }
};

/// Q3_K, Q6_K: two products of 16 columns per block, each with its own scale.
template <int kBits, int kCentre>
struct HalvesCursor {
  SubScaleCursor<kBits, false> at;
  Lanes::F scales[2];

  HalvesCursor(const Panel& panel, int part) : at(panel, part) {}
  [[gnu::always_inline]] void seek(int64_t block) { at.seek(block); }

  template <bool kAhead>
  [[gnu::always_inline]] void next() {
    at.template load_block<kAhead>();
    scales[0] = Lanes::mul(at.super.d, Lanes::load_s8(at.sub_at));
    scales[1] = Lanes::mul(at.super.d, Lanes::load_s8(at.sub_at + kPanelRows));
  }

  template <int kT>
  [[gnu::always_inline]] Lanes::F add(Lanes::F y, const QuantizedBlock<kT>& x, int t) const {
    Lanes::I dots[2];
    dot_halves<kBits, kCentre>(at.codes, x, t, dots);
    const Lanes::F x_scale = Lanes::splat(x.scale[t]);
    y = Lanes::fma(Lanes::to_float(dots[0]), Lanes::mul(scales[0], x_scale), y);
    return Lanes::fma(Lanes::to_float(dots[1]), Lanes::mul(scales[1], x_scale), y);
  }
};

/// Q2_K: halves with minima. A group's minimum meets the sum of its 16 codes, which is exact in f32.
struct Q2Cursor {
  SubScaleCursor<2, true> at;
  Lanes::F scales[2], offsets[2];

  Q2Cursor(const Panel& panel, int part) : at(panel, part) {}
  [[gnu::always_inline]] void seek(int64_t block) { at.seek(block); }

  template <bool kAhead>
  [[gnu::always_inline]] void next() {
    at.load_block<kAhead>();
    for (int half = 0; half < 2; ++half) {
      const Lanes::I both = Lanes::widen_u8(at.sub_at + half * kPanelRows);
      scales[half] = Lanes::mul(at.super.d, Lanes::to_float(Lanes::bit_and(both, Lanes::whole(15))));
      offsets[half] = Lanes::mul(at.super.minus_d_min, Lanes::to_float(Lanes::shift_down<4>(both)));
    }
  }

  template <int kT>
  [[gnu::always_inline]] Lanes::F add(Lanes::F y, const QuantizedBlock<kT>& x, int t) const {
    Lanes::I dots[2];
    dot_halves<2, 0>(at.codes, x, t, dots);
    const Lanes::F x_scale = Lanes::splat(x.scale[t]);
    const float sums[2] = {-0.125f * static_cast<float>(x.first_8[t]),
                           -0.125f * static_cast<float>(x.minus_8[t] - x.first_8[t])};
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      y = Lanes::fma(offsets[half], Lanes::splat(sums[half] * x.scale[t]), y);
      y = Lanes::fma(Lanes::to_float(dots[half]), Lanes::mul(scales[half], x_scale), y);
    }
    return y;
  }
};

}  // namespace

const PanelKernels& k_quant_kernels(const PanelFormat& format) {
  switch (format.bits) {
    case 2:
      return walking_kernels<Q2Cursor>();
    case 3:
      return walking_kernels<HalvesCursor<3, 4>>();
    case 4:
      return walking_kernels<ScaleMinCursor<4>>();
    case 5:
      return walking_kernels<ScaleMinCursor<5>>();
    default:
      return walking_kernels<HalvesCursor<6, 32>>();
  }
}

}  // namespace skua::cpu::SKUA_ISA
