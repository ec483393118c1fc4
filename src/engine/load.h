// From a checkpoint to a model that can run: config, graph, weights in kernel order, and an account of every
// tensor.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "checkpoint/checkpoint.h"
#include "models/families.h"
#include "models/model.h"

namespace skua {

/// What was taken from a checkpoint and what was left, by name.
struct LoadReport {
  std::vector<std::string> used;
  std::vector<std::string> ignored;   // "name: reason"
  std::vector<std::string> warnings;  // whole sentences
};

struct LoadedModel {
  ModelInfo info;
  Graph graph;
  std::vector<PackedWeight> weights;  // by WeightId
  uint64_t weight_bytes = 0;          // packed
  LoadReport report;
};

/// Loads every weight of the graph. `checkpoint` speaks transformers names (see import_gguf). Errors: a
/// missing tensor, a wrong shape, or a tensor that nobody reads (all of them are listed, up to 8); those of
/// the family and of pack(). `context`: the longest context that will be served, 0 = the checkpoint's own;
/// some rotations are chosen by it.
Result<LoadedModel> load_model(const Checkpoint& checkpoint, Backend& backend, ConfigPolicy policy,
                               const Progress& progress, int32_t context = 0);

}  // namespace skua
