// Run-time choice among the instruction sets that kernels are compiled for.
#include "backend/cpu/isa.h"

#include <string>

namespace skua {
namespace {

bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni");
}

}  // namespace

std::string_view cpu_isa_name(CpuIsa isa) {
  switch (isa) {
    case CpuIsa::kAuto:
      return "auto";
    case CpuIsa::kAvx2:
      return "avx2";
    case CpuIsa::kAvx512:
      return "avx512";
  }
  return "?";
}

Result<CpuIsa> cpu_isa_from_name(std::string_view name) {
  for (const CpuIsa isa : {CpuIsa::kAuto, CpuIsa::kAvx2, CpuIsa::kAvx512}) {
    if (name == cpu_isa_name(isa)) return isa;
  }
  return invalid_argument("[cpu] instruction set: expected auto, avx2 or avx512, got " + std::string(name));
}

Result<CpuIsa> resolve_cpu_isa(CpuIsa wanted) {
  if (!has_avx2()) {
    return unsupported("[cpu] this processor lacks AVX2, FMA or F16C; use --backend ref");
  }
  if (wanted == CpuIsa::kAvx512 && !has_avx512()) {
    return unsupported(
        "[cpu] avx512 was asked for, but this processor lacks AVX-512 F, BW, DQ, VL or VNNI; use avx2");
  }
  if (wanted == CpuIsa::kAuto) return has_avx512() ? CpuIsa::kAvx512 : CpuIsa::kAvx2;
  return wanted;
}

}  // namespace skua
