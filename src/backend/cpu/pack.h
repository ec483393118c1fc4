// Weights from file order to this backend's order.
#pragma once

#include <string_view>

#include "backend/backend.h"
#include "backend/cpu/args.h"
#include "backend/cpu/isa.h"
#include "backend/cpu/memory.h"
#include "base/threads.h"

namespace skua::cpu {

/// The order that pack_weight gives a weight.
WeightOrder weight_order(CpuCompute compute, const Format& format, int64_t rows);

/// Copies a weight plane by plane in its stored format, logical rows in order, or into panels; a vector (rows
/// = 1) is decoded to f32. Errors: kResourceExhausted; kDataLoss for a NaN or infinity, naming `name` and the
/// first place.
Result<PackedWeight> pack_weight(const EncodedMatrix& source, std::string_view name, CpuCompute compute,
                                 WeightHeap& heap, ThreadPool& pool);

/// Column of the first value of row `row` that does not decode to a finite number, or -1.
int64_t first_bad_column(const EncodedMatrix& source, int64_t row);

}  // namespace skua::cpu
