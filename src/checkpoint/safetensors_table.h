// From the tensors of safetensors files to the tensors of a model: plain ones, and MLX's groups of three.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/tensor_table.h"

namespace skua {

/// MLX stores a quantized weight as X.weight (u32 words), X.scales and X.biases; they become one tensor
/// X.weight of the logical shape, whose bits and group come from `config` and are checked against all three
/// shapes. Whatever contradicts is an error that names both sides; nothing is guessed. Notes for the user are
/// appended to `notes`. Errors: kDataLoss, kInvalidArgument, kUnsupported (block floats, GPTQ, AWQ, other
/// quantizers).
Result<TensorTable> make_safetensors_table(std::span<const SafetensorsTensor> tensors, const Json& config,
                                           std::vector<std::string>& notes);

}  // namespace skua
