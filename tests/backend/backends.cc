// The list of backends under test.
#include "backend/backends.h"

#include <cstdio>

#include "backend/cpu/cpu_backend.h"
#include "backend/ref/ref_backend.h"

namespace skua::test {

std::vector<BackendUnderTest> backends_under_test() {
  std::vector<BackendUnderTest> out;
  out.push_back({"ref_rounded", [](int n_threads) {
                   return make_ref_backend({RefRounding::kRounded, Numerics{}, n_threads});
                 }});
  for (const CpuIsa isa : {CpuIsa::kAvx2, CpuIsa::kAvx512}) {
    if (!resolve_cpu_isa(isa).ok()) {
      std::printf("cpu_%s is not tested: this processor lacks it\n", std::string(cpu_isa_name(isa)).c_str());
      continue;
    }
    out.push_back({"cpu_" + std::string(cpu_isa_name(isa)), [isa](int n_threads) {
                     return std::move(make_cpu_backend({.n_threads = n_threads, .isa = isa})).value();
                   }});
  }
  return out;
}

}  // namespace skua::test
