// Backends that the op matrix runs on. A new backend adds one row.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "backend/backend.h"

namespace skua::test {

struct BackendUnderTest {
  std::string name;
  std::function<std::unique_ptr<Backend>(int n_threads)> make;  // f32 edges
};

inline void PrintTo(const BackendUnderTest& backend, std::ostream* out) { *out << backend.name; }

std::vector<BackendUnderTest> backends_under_test();

}  // namespace skua::test
