// The `ref` backend: the meaning of every op in float64. Other backends are judged against it. Every float
// edge and every cache row lies in memory as float64, whatever its declared storage type.
#pragma once

#include <memory>

#include "backend/backend.h"

namespace skua {

enum class RefRounding : uint8_t {
  kPure,     // nothing is rounded: the mathematical value, up to float64
  kRounded,  // each op rounds its outputs to their edges' storage types, cache rows to the slot's
};

struct RefOptions {
  RefRounding rounding = RefRounding::kPure;
  Numerics numerics{};    // storage types of the edges; the kind of rounding in kRounded, labels in kPure
  int32_t n_threads = 0;  // 0 = one per available CPU; results do not depend on it
};

/// Makes a `ref` backend. Supports every op, fused ops included, and every weight format that decode_row
/// knows.
std::unique_ptr<Backend> make_ref_backend(const RefOptions& options);

}  // namespace skua
