// Choices of the CPU backend: arithmetic and instruction set.
#pragma once

#include <string_view>

#include "base/status.h"

namespace skua {

enum class CpuCompute : uint8_t {
  kF32,     // activations and sums in f32, weights decoded exactly
  kAuto,    // kNative for formats that passed the quality gate (docs/checkpoints.md), kF32 for others
  kNative,  // quantized weights meet rounded activations (kernels/quantize.h); the rest as kF32
};

enum class CpuIsa : uint8_t { kAuto, kAvx2, kAvx512 };

/// "auto", "avx2", "avx512".
std::string_view cpu_isa_name(CpuIsa isa);

/// Inverse of cpu_isa_name. Error: kInvalidArgument, naming the known ones.
Result<CpuIsa> cpu_isa_from_name(std::string_view name);

/// The set to use: the best one for kAuto. Error: kUnsupported, naming what the machine lacks.
Result<CpuIsa> resolve_cpu_isa(CpuIsa wanted);

}  // namespace skua
