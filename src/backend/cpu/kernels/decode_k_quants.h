// Decoders of GGUF's blocks with scales of scales, of the formats whose codes are names in a table, and of
// MXFP4.
#pragma once

#include "backend/cpu/kernels/decode.h"

namespace skua::cpu::SKUA_ISA {

/// The decoder of a kind that decode.cc has none for.
DecodeFn k_quant_decoder(FormatKind kind);

}  // namespace skua::cpu::SKUA_ISA
