// Golden cases carry no weight file: their weights are regenerated from a rule and a list of tensors.
#pragma once

#include <filesystem>
#include <memory>

#include "checkpoint/memory_checkpoint.h"

namespace skua {

/// Opens a golden folder (config.json, manifest.json): every tensor of the manifest, in bf16, made by the
/// rule in golden_weights.cc. Errors: kNotFound (no such file), kInvalidArgument (the manifest is not of the
/// expected form).
Result<std::unique_ptr<MemoryCheckpoint>> open_golden(const std::filesystem::path& folder);

}  // namespace skua
