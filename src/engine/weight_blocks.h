// Weights that are made of stored blocks: which tensors they are read from, and what becomes of them.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "ir/graph.h"

namespace skua {

/// The tensors that a declared weight is read from: its own name, or those of the first of its block sources
/// that the checkpoint has whole (the first of all if it has none).
std::vector<std::string> tensors_of(const Checkpoint& checkpoint, const WeightDecl& decl);

/// Checks the stored shapes of a weight whose tensors are all there. Error: kDataLoss naming tensor and
/// shapes.
Status check_stored_shapes(const Checkpoint& checkpoint, const WeightDecl& decl);

/// A weight as its backend will pack it. `copy` owns what had to be moved: transposed, cut or decoded values;
/// rows are used where they lie. Errors: kUnsupported (a quantized tensor that would have to be transposed or
/// cut along its columns, experts of different formats), those of Checkpoint::matrix.
Result<EncodedMatrix> read_weight(const Checkpoint& checkpoint, const WeightDecl& decl,
                                  std::vector<std::byte>& copy);

/// True if the checkpoint holds values in the row that the weight reads as zero.
bool drops_values(const Checkpoint& checkpoint, const WeightDecl& decl);

}  // namespace skua
