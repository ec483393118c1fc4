// Runs the graph of an OpCase on any backend, without plan/: chooses a kernel for each node, gives every
// value its own buffer between guard bands, fills everything unwritten with NaN, and reads the outputs back.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "backend/op_case.h"

namespace skua::test {

struct HarnessOptions {
  int32_t slack = 0;           // capacity beyond the real counts: padded tokens, sequences, rows and pages
  std::byte cache_fill{0xFF};  // what unwritten cache rows hold: 0xFF is NaN in every float type
  bool reverse_pages = false;  // numbers the pages from the end: results must not depend on where pages lie
  /// By WeightId, like the case's weights but for rows that no kernel may read: where packed bytes differ
  /// from the case's, 0xFF (NaN in every float type) lies during the run. Empty: nothing is overwritten.
  std::span<const HostWeight> decoys = {};
};

/// Values of one step by ValueId: real rows, as float64.
using StepValues = std::map<uint32_t, std::vector<double>>;

/// Runs all steps of the case. Errors: what the backend says; kInternal when a guard band was overwritten.
Result<std::vector<StepValues>> run_case(Backend& backend, const OpCase& op_case,
                                         const HarnessOptions& options = {});

/// One value over all steps, rows in step order.
std::vector<double> join(const std::vector<StepValues>& steps, ValueId id);

/// Index of the first element whose bits differ, or -1 (also compares sizes).
int64_t first_difference(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace skua::test
