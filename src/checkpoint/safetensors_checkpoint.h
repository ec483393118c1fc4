// A model folder, or one file, in safetensors form.
#pragma once

#include <filesystem>
#include <memory>

#include "checkpoint/checkpoint.h"

namespace skua {

/// Opens a folder with config.json and safetensors (see shard_set.h for the choice of files), or one
/// .safetensors file with config.json beside it. Errors: see open_checkpoint.
Result<std::unique_ptr<Checkpoint>> open_safetensors(const std::filesystem::path& path);

}  // namespace skua
