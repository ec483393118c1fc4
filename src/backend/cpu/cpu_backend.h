// The CPU backend: vectorised, threaded kernels over weights kept in their stored format. One source of
// kernels is compiled for AVX2 and for AVX-512 and chosen at run time; both give the same bytes, with any
// number of threads.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "backend/cpu/isa.h"

namespace skua {

struct CpuOptions {
  int n_threads = 0;  // 0 = available_cpus()
  CpuIsa isa = CpuIsa::kAuto;
  CpuCompute compute = CpuCompute::kF32;
  MlaPrefill mla_prefill = MlaPrefill::kExact;
  DType cache = DType::kF32;  // of keys and values of heads: kF32, kF16, kBF16
  bool split_latents = true;  // benchmarks: false keeps the rows of a decoded token on one thread
};

/// Errors: kUnsupported (the processor lacks AVX2, or the asked-for set), kInvalidArgument (n_threads < 0 or
/// above 1024; another type of cache).
Result<std::unique_ptr<Backend>> make_cpu_backend(const CpuOptions& options);

}  // namespace skua
