// The backends of this build, by name. The only place outside their folders that knows them.
#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"

namespace skua {

struct BackendRequest {
  std::string name = "cpu";      // "cpu" or "ref"
  std::string compute = "auto";  // "auto", "f32", "native" (cpu), "f64" (ref: not rounded), "rounded" (ref)
  std::string isa = "auto";      // cpu: "auto", "avx2", "avx512"
  std::string mla_prefill = "exact";  // "exact", "fast"
  std::string cache_type = "f32";     // of keys and values of heads: "f32", "f16", "bf16" (cpu)
  int32_t n_threads = 1;
};

/// Errors: kInvalidArgument naming the value and what is allowed; kUnsupported (the machine lacks the
/// instructions).
Result<std::unique_ptr<Backend>> make_backend(const BackendRequest& request);

}  // namespace skua
