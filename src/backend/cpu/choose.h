// Kernel choice of the CPU backend.
#pragma once

#include "backend/backend.h"
#include "backend/cpu/isa.h"
#include "backend/cpu/kernel_table.h"
#include "backend/cpu/pack.h"

namespace skua::cpu {

/// What choose() depends on besides the node and its context.
struct Target {
  const KernelTable* table = nullptr;
  CpuIsa isa = CpuIsa::kAvx2;
  CpuCompute compute = CpuCompute::kF32;
  int n_threads = 1;
  bool split_latents = true;  // CpuOptions
};

/// See Backend::choose. Pure.
Result<KernelChoice> choose_kernel(const Target& target, const ChooseContext& context, const Node& node);

}  // namespace skua::cpu
