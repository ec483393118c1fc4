// Names to backends.
#include "backend/all/make_backend.h"

#include "backend/cpu/cpu_backend.h"
#include "backend/ref/ref_backend.h"

namespace skua {
namespace {

Status wrong(const char* what, const std::string& allowed, const std::string& got) {
  return invalid_argument("[backend] " + std::string(what) + " must be " + allowed + ", got \"" + got + "\"");
}

Result<MlaPrefill> prefill_from_name(const std::string& name) {
  if (name == "exact") return MlaPrefill::kExact;
  if (name == "fast") return MlaPrefill::kFast;
  return wrong("mla-prefill", "exact or fast", name);
}

Result<DType> cache_from_name(const std::string& name) {
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
    if (name == dtype_name(type)) return type;
  }
  return wrong("cache-type", "f32, f16 or bf16", name);
}

Result<std::unique_ptr<Backend>> make_ref(const BackendRequest& request) {
  RefOptions options;
  options.n_threads = request.n_threads;
  SKUA_ASSIGN_OR_RETURN(options.numerics.mla_prefill, prefill_from_name(request.mla_prefill));
  if (request.cache_type != "f32") return wrong("cache-type on ref", "f32", request.cache_type);
  if (request.compute == "rounded")
    options.rounding = RefRounding::kRounded;
  else if (request.compute != "auto" && request.compute != "f64") {
    return wrong("compute on ref", "auto, f64 or rounded", request.compute);
  }
  return make_ref_backend(options);
}

Result<std::unique_ptr<Backend>> make_cpu(const BackendRequest& request) {
  CpuOptions options;
  options.n_threads = request.n_threads;
  SKUA_ASSIGN_OR_RETURN(options.isa, cpu_isa_from_name(request.isa));
  SKUA_ASSIGN_OR_RETURN(options.mla_prefill, prefill_from_name(request.mla_prefill));
  SKUA_ASSIGN_OR_RETURN(options.cache, cache_from_name(request.cache_type));
  if (request.compute == "native") {
    options.compute = CpuCompute::kNative;
  } else if (request.compute == "auto") {
    options.compute = CpuCompute::kAuto;
  } else if (request.compute != "f32") {
    return wrong("compute on cpu", "auto, f32 or native", request.compute);
  }
  return make_cpu_backend(options);
}

}  // namespace

Result<std::unique_ptr<Backend>> make_backend(const BackendRequest& request) {
  if (request.name == "ref") return make_ref(request);
  if (request.name == "cpu") return make_cpu(request);
  return wrong("backend", "cpu or ref", request.name);
}

}  // namespace skua
