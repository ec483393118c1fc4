// The list of backends under test.
#include "backend/backends.h"

#include "backend/ref/ref_backend.h"

namespace skua::test {

std::vector<BackendUnderTest> backends_under_test() {
  std::vector<BackendUnderTest> out;
  out.push_back({"ref_rounded", [](int n_threads) {
                   return make_ref_backend({RefRounding::kRounded, Numerics{}, n_threads});
                 }});
  return out;
}

}  // namespace skua::test
