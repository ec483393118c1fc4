// Decoders of every weight format. A code becomes a float by one exact conversion, then one multiplication or
// one fused multiply-add, as tensor/format.h states. Block layouts: see tensor/decode_gguf.cc.
#include "backend/cpu/kernels/decode.h"

#include "backend/cpu/kernels/decode_k_quants.h"

namespace skua::cpu::SKUA_ISA {
namespace {

alignas(64) constexpr int32_t kLane[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

void decode_f32(const StoredRow& row, int64_t cols, float* out) {
  __builtin_memcpy(out, row.codes, static_cast<size_t>(cols) * sizeof(float));
}

void decode_f16(const StoredRow& row, int64_t cols, float* out) {
  int64_t k = 0;
  for (; k + 16 <= cols; k += 16) store(out + k, load_f16(row.codes + 2 * k));
  for (; k < cols; ++k) out[k] = f16_value(row.codes + 2 * k);
}

void decode_bf16(const StoredRow& row, int64_t cols, float* out) {
  int64_t k = 0;
  for (; k + 16 <= cols; k += 16) store(out + k, as_float(shift_left<16>(widen_u16(row.codes + 2 * k))));
  for (; k < cols; ++k) out[k] = bf16_value(row.codes + 2 * k);
}

/// Q4_0, Q4_1, Q5_0, Q5_1: f16 d (and m), for five bits a word of high bits, then 16 bytes of nibbles whose
/// low halves are columns 0..15 and high halves 16..31.
template <int kBits, bool kMinimum>
void decode_nibbles(const StoredRow& row, int64_t cols, float* out) {
  constexpr int64_t kHigh = kMinimum ? 4 : 2;
  constexpr int64_t kCodes = kBits == 5 ? kHigh + 4 : kHigh;
  const I16 low_bits = splat_int(15), one = splat_int(1);
  const I16 lane = load_int(kLane), upper_lane = lane | splat_int(16);
  const V16 centre = splat(kBits == 5 ? 16.0f : 8.0f);
  const std::byte* block = row.codes;
  for (int64_t k = 0; k < cols; k += 32, block += kCodes + 16) {
    const V16 d = splat(f16_value(block));
    const V16 m = splat(kMinimum ? f16_value(block + 2) : 0.0f);
    const I16 bytes = widen_u8(block + kCodes);
    I16 first = bytes & low_bits, second = shift_right<4>(bytes);
    if constexpr (kBits == 5) {
      const I16 high = splat_int(load_as<int32_t>(block + kHigh));
      first = first | shift_left<4>(shift_right(high, lane) & one);
      second = second | shift_left<4>(shift_right(high, upper_lane) & one);
    }
    if constexpr (kMinimum) {
      store(out + k, fma(d, to_float(first), m));
      store(out + k + 16, fma(d, to_float(second), m));
    } else {
      store(out + k, d * (to_float(first) - centre));
      store(out + k + 16, d * (to_float(second) - centre));
    }
  }
}

void decode_q8_0(const StoredRow& row, int64_t cols, float* out) {
  const std::byte* block = row.codes;
  for (int64_t k = 0; k < cols; k += 32, block += 34) {
    const V16 d = splat(f16_value(block));
    store(out + k, d * to_float(widen_s8(block + 2)));
    store(out + k + 16, d * to_float(widen_s8(block + 18)));
  }
}

void decode_q6_k(const StoredRow& row, int64_t cols, float* out) {
  const I16 low_bits = splat_int(15), two_bits = splat_int(0x30);
  const V16 centre = splat(32.0f);
  const std::byte* block = row.codes;
  for (int64_t k = 0; k < cols; k += 256, block += 210) {
    const float d = f16_value(block + 208);
    for (int64_t half = 0; half < 2; ++half) {
      for (int64_t i = 0; i < 32; i += 16) {  // 16 columns of each of the four quarters
        float* to = out + k + 128 * half + i;
        const auto put = [&](int64_t quarter, I16 code) {
          const float scale =
              d * static_cast<float>(load_as<int8_t>(block + 192 + half * 8 + quarter * 2 + i / 16));
          store(to + 32 * quarter, splat(scale) * (to_float(code) - centre));
        };
        const I16 high = widen_u8(block + 128 + 32 * half + i);
        const I16 even = widen_u8(block + 64 * half + i), odd = widen_u8(block + 64 * half + 32 + i);
        put(0, (even & low_bits) | (shift_left<4>(high) & two_bits));
        put(1, (odd & low_bits) | (shift_left<2>(high) & two_bits));
        put(2, shift_right<4>(even) | (high & two_bits));
        put(3, shift_right<4>(odd) | (shift_right<2>(high) & two_bits));
      }
    }
  }
}

/// Byte pair and shift of each of 16 codes in a little-endian stream of kBits-bit codes.
template <int kBits>
struct StreamPattern {
  alignas(64) uint8_t pick[64];
  alignas(64) int32_t shift[16];
  constexpr StreamPattern() : pick(), shift() {
    for (int i = 0; i < 16; ++i) {
      const int byte = i * kBits / 8;
      shift[i] = i * kBits % 8;
      pick[4 * i] = static_cast<uint8_t>(byte);
      pick[4 * i + 1] = shift[i] + kBits > 8 ? static_cast<uint8_t>(byte + 1) : uint8_t{0x80};
      pick[4 * i + 2] = pick[4 * i + 3] = 0x80;
    }
  }
};

float plain_value(DType type, const std::byte* at, int64_t i) {
  switch (type) {
    case DType::kF16:
      return f16_value(at + 2 * i);
    case DType::kBF16:
      return bf16_value(at + 2 * i);
    default:
      return load_as<float>(at + 4 * i);
  }
}

template <int kBits, DType kScale>
void decode_affine(const StoredRow& row, int64_t cols, float* out) {
  static constexpr StreamPattern<kBits> kPattern;
  const I16 shift = load_int(kPattern.shift), mask = splat_int((1 << kBits) - 1);
  for (int64_t k = 0, g = 0; k < cols; ++g) {
    const V16 s = splat(plain_value(kScale, row.scales, g)), b = splat(plain_value(kScale, row.biases, g));
    for (const int64_t end = k + row.group; k < end; k += 16) {
      const std::byte* at = row.codes + k * kBits / 8;
      const I16 code = kBits == 8 ? widen_u8(at) : shift_right(pick_bytes(at, kPattern.pick), shift) & mask;
      store(out + k, fma(s, to_float(code), b));
    }
  }
}

template <int kBits>
DecodeFn affine_decoder(DType scale_type) {
  switch (scale_type) {
    case DType::kF16:
      return decode_affine<kBits, DType::kF16>;
    case DType::kBF16:
      return decode_affine<kBits, DType::kBF16>;
    default:
      return decode_affine<kBits, DType::kF32>;
  }
}

DecodeFn affine_decoder(const Format& format) {
  switch (format.bits) {
    case 2:
      return affine_decoder<2>(format.scale_type);
    case 3:
      return affine_decoder<3>(format.scale_type);
    case 4:
      return affine_decoder<4>(format.scale_type);
    case 5:
      return affine_decoder<5>(format.scale_type);
    case 6:
      return affine_decoder<6>(format.scale_type);
    default:
      return affine_decoder<8>(format.scale_type);
  }
}

}  // namespace

DecodeFn decoder(const Format& format) {
  switch (format.kind) {
    case FormatKind::kF32:
      return decode_f32;
    case FormatKind::kF16:
      return decode_f16;
    case FormatKind::kBF16:
      return decode_bf16;
    case FormatKind::kQ4_0:
      return decode_nibbles<4, false>;
    case FormatKind::kQ4_1:
      return decode_nibbles<4, true>;
    case FormatKind::kQ5_0:
      return decode_nibbles<5, false>;
    case FormatKind::kQ5_1:
      return decode_nibbles<5, true>;
    case FormatKind::kQ8_0:
      return decode_q8_0;
    case FormatKind::kQ6_K:
      return decode_q6_k;
    case FormatKind::kAffine:
      return affine_decoder(format);
    default:
      return k_quant_decoder(format.kind);
  }
}

}  // namespace skua::cpu::SKUA_ISA
