// Inside src/tensor: blocks of 256 columns whose sub-blocks have scales of their own.
#pragma once

#include "tensor/decode.h"

namespace skua::decode {

/// Scale and minimum of a sub-block of 32 columns, six bits each.
struct SubScale {
  int scale = 0;
  int minimum = 0;
};

/// Of sub-block j (0..7) of Q4_K and Q5_K; `scales` are its 12 bytes.
SubScale k4_sub_scale(const std::byte* scales, int j);

/// Of sub-block j (0..15) of Q3_K; `scales` are its 12 bytes.
int q3_sub_scale(const std::byte* scales, int j);

/// Of sub-block j (0..7) of IQ4_XS.
int iq4_sub_scale(const std::byte* block, int j);

/// What a code of IQ4_NL and IQ4_XS stands for.
int iq4_value(int code);

/// Each decodes one block of 256 columns.
void decode_q2_k(const std::byte* block, float* out);
void decode_q3_k(const std::byte* block, float* out);
void decode_q4_k(const std::byte* block, float* out);
void decode_q5_k(const std::byte* block, float* out);
void decode_iq4_xs(const std::byte* block, float* out);

}  // namespace skua::decode
