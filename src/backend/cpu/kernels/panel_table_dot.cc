// Products of panels whose 4-bit codes name numbers of a table: IQ4_NL, IQ4_XS, MXFP4. A byte shuffle turns
// codes into those numbers, made unsigned by an offset, which the products' start takes off again (start_of
// in simd_dot.h).
#include "backend/cpu/kernels/panel_walk.h"

namespace skua::cpu::SKUA_ISA {
namespace {

/// IQ4: numbers in [-127, 113], met as 8-bit codes with centre 128.
struct Iq4Codes {
  static constexpr int kBits = 8, kCentre = 128;
  static constexpr const int8_t* kTable = kIq4Table;
};

/// Twice E2M1: numbers in [-12, 12], met as 5-bit codes with centre 16.
struct E2m1Codes {
  static constexpr int kBits = 5, kCentre = 16;
  static constexpr const int8_t* kTable = kTwiceE2m1Table;
};

/// The table as dot_block<kBits, kCentre> wants its codes; those of 8 bits stay signed on AVX2.
template <typename Codes>
Lanes::I unsigned_table() {
  uint8_t table[16];
  for (int i = 0; i < 16; ++i) table[i] = static_cast<uint8_t>(Codes::kTable[i] + Codes::kCentre);
  const Lanes::I bytes = Lanes::repeat_16_bytes(table);
  if constexpr (Codes::kBits == 8) return Lanes::signed_codes(bytes);
  return bytes;
}

/// IQ4_NL: an f16 scale per block.
struct PlainScale {
  const std::byte *begin, *at;

  PlainScale(const Panel& panel, int part) : begin(panel.scales + part * Lanes::kCount * 2), at(begin) {}
  [[gnu::always_inline]] void seek(int64_t block) { at = begin + block * kPanelRows * 2; }
  [[gnu::always_inline]] Lanes::F next() {
    const Lanes::F scale = Lanes::load_f16(at);
    at += kPanelRows * 2;
    return scale;
  }
};

/// IQ4_XS: the f16 d of 256 columns times a whole number per block.
struct SubScale {
  const std::byte *begin, *supers;
  int64_t block = 0;
  Lanes::F d = Lanes::zero();

  SubScale(const Panel& panel, int part)
      : begin(panel.scales + part * Lanes::kCount), supers(panel.offsets + part * Lanes::kCount * 2) {}
  [[gnu::always_inline]] void load_super() {
    d = Lanes::load_f16(supers + block / (kSuperCols / kPanelCols) * kPanelRows * 2);
  }
  [[gnu::always_inline]] void seek(int64_t to) {
    block = to;
    load_super();
  }
  [[gnu::always_inline]] Lanes::F next() {
    if (block % (kSuperCols / kPanelCols) == 0) load_super();
    return Lanes::mul(d, Lanes::load_s8(begin + block++ * kPanelRows));
  }
};

/// MXFP4: 2^(e - 128), half of the format's scale, since codes are met as twice what they stand for.
struct PowerScale {
  const std::byte *begin, *at;

  PowerScale(const Panel& panel, int part) : begin(panel.scales + part * Lanes::kCount), at(begin) {}
  [[gnu::always_inline]] void seek(int64_t block) { at = begin + block * kPanelRows; }
  [[gnu::always_inline]] Lanes::F next() {
    const Lanes::F scale = Lanes::mul(Lanes::splat(0.5f), Lanes::load_power(at));
    at += kPanelRows;
    return scale;
  }
};

template <typename Codes, typename Scale>
struct TableCursor {
  CodeCursor<4> code_cursor;
  Scale scale_cursor;
  Lanes::I table = unsigned_table<Codes>();
  Lanes::I codes[8];
  Lanes::F scale;

  TableCursor(const Panel& panel, int part) : code_cursor(panel, part), scale_cursor(panel, part) {}

  [[gnu::always_inline]] void seek(int64_t block) {
    scale_cursor.seek(block);
    code_cursor.seek(block);
  }

  template <bool kAhead>
  [[gnu::always_inline]] void next() {
    scale = scale_cursor.next();
    code_cursor.template next<kAhead>(codes);
#pragma GCC unroll 8
    for (Lanes::I& code : codes) code = Lanes::look_up(table, code);
  }

  template <int kT>
  [[gnu::always_inline]] Lanes::F add(Lanes::F y, const QuantizedBlock<kT>& x, int t) const {
    const Lanes::I dot = dot_block<Codes::kBits, Codes::kCentre>(codes, x, t);
    return Lanes::fma(Lanes::to_float(dot), Lanes::mul(scale, Lanes::splat(x.scale[t])), y);
  }
};

}  // namespace

const PanelKernels& table_kernels(const PanelFormat& format) {
  if (format.codes == PanelCodes::kTwiceE2m1) return walking_kernels<TableCursor<E2m1Codes, PowerScale>>();
  if (format.numbers == PanelNumbers::kSigned) return walking_kernels<TableCursor<Iq4Codes, SubScale>>();
  return walking_kernels<TableCursor<Iq4Codes, PlainScale>>();
}

}  // namespace skua::cpu::SKUA_ISA
