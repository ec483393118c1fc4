// Meaning of ggml's blocks of 256 columns ("k-quants") and of IQ4: sub-blocks with scales (and minima) of few
// bits under one f16 scale d (and one m). d has 11 digits, a sub-scale at most 7, a code at most 7: each
// product is exact in f32, and only the sum of the formats with a minimum rounds, once. Source for the
// layouts: the block structs of ggml and gguf-py's quants.py (facts).
#include "tensor/decode_k_quants.h"

namespace skua::decode {
namespace {

float load_f16(const std::byte* bytes) { return f16_to_f32(load<uint16_t>(bytes)); }

int byte_at(const std::byte* bytes, int i) { return std::to_integer<int>(bytes[i]); }

/// Value of a code whose sub-block has scale s and minimum m: d s q - d_min m.
float with_minimum(float d, int s, int q, float d_min, int m) {
  const float product = d * static_cast<float>(s) * static_cast<float>(q);
  return product - d_min * static_cast<float>(m);
}

/// The 2-bit code of column j: in each half of 128 columns, 32 bytes hold four quarters above each other.
int crumb(const std::byte* codes, int j) {
  return byte_at(codes, j / 128 * 32 + j % 32) >> (j % 128 / 32 * 2) & 3;
}

constexpr int kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

}  // namespace

SubScale k4_sub_scale(const std::byte* scales, int j) {
  if (j < 4) return {byte_at(scales, j) & 63, byte_at(scales, j + 4) & 63};
  const int low = byte_at(scales, j + 4);
  return {(low & 15) | (byte_at(scales, j - 4) >> 6) << 4, low >> 4 | (byte_at(scales, j) >> 6) << 4};
}

int q3_sub_scale(const std::byte* scales, int j) {
  const int low = j < 8 ? byte_at(scales, j) & 15 : byte_at(scales, j - 8) >> 4;
  return (low | (byte_at(scales, 8 + j % 4) >> (j / 4 * 2) & 3) << 4) - 32;
}

int iq4_sub_scale(const std::byte* block, int j) {
  const int high = load<uint16_t>(block + 2) >> (2 * j) & 3;
  return ((byte_at(block, 4 + j / 2) >> (j % 2 * 4) & 15) | high << 4) - 32;
}

int iq4_value(int code) { return kIq4Values[code]; }

void decode_q2_k(const std::byte* block, float* out) {
  const float d = load_f16(block + 80), m = load_f16(block + 82);
  for (int j = 0; j < 256; ++j) {
    const int scale = byte_at(block, j / 16);
    out[j] = with_minimum(d, scale & 15, crumb(block + 16, j), m, scale >> 4);
  }
}

void decode_q3_k(const std::byte* block, float* out) {
  const float d = load_f16(block + 108);
  for (int j = 0; j < 256; ++j) {
    const int high = byte_at(block, j % 32) >> (j / 32) & 1;
    const float scale = d * static_cast<float>(q3_sub_scale(block + 96, j / 16));
    out[j] = scale * static_cast<float>(crumb(block + 32, j) + 4 * high - 4);
  }
}

void decode_q4_k(const std::byte* block, float* out) {
  const float d = load_f16(block), m = load_f16(block + 2);
  for (int j = 0; j < 256; ++j) {
    const SubScale sub = k4_sub_scale(block + 4, j / 32);
    const int code = byte_at(block + 16, j / 64 * 32 + j % 32) >> (j / 32 % 2 * 4) & 15;
    out[j] = with_minimum(d, sub.scale, code, m, sub.minimum);
  }
}

void decode_q5_k(const std::byte* block, float* out) {
  const float d = load_f16(block), m = load_f16(block + 2);
  for (int j = 0; j < 256; ++j) {
    const SubScale sub = k4_sub_scale(block + 4, j / 32);
    const int low = byte_at(block + 48, j / 64 * 32 + j % 32) >> (j / 32 % 2 * 4) & 15;
    const int high = byte_at(block + 16, j % 32) >> (j / 32) & 1;
    out[j] = with_minimum(d, sub.scale, low | high << 4, m, sub.minimum);
  }
}

void decode_iq4_xs(const std::byte* block, float* out) {
  const float d = load_f16(block);
  for (int j = 0; j < 256; ++j) {
    const int code = byte_at(block + 8, j / 32 * 16 + j % 16) >> (j % 32 / 16 * 4) & 15;
    out[j] = d * static_cast<float>(iq4_sub_scale(block, j / 32)) * static_cast<float>(kIq4Values[code]);
  }
}

}  // namespace skua::decode
