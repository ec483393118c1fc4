// Reads float edges of any backend back to the host: logits for the sampler, values for tests.
#pragma once

#include <cstddef>
#include <vector>

#include "backend/backend.h"

namespace skua {

/// Downloads `n` elements of an edge with storage type `storage` from `from` (backend memory). The element's
/// size in memory is backend.element_bytes(storage): 8 bytes mean float64, whatever the storage type. Errors:
/// those of download(); kUnsupported for storage types that are no floats.
Result<std::vector<double>> read_floats(Backend& backend, const std::byte* from, DType storage, size_t n);

}  // namespace skua
