// A model in one GGUF file, or split over several.
#pragma once

#include <filesystem>
#include <memory>

#include "checkpoint/checkpoint.h"
#include "checkpoint/gguf.h"

namespace skua {

/// Opens a .gguf file; of a split model its first part (NAME-00001-of-0000N.gguf), the others are found
/// beside it. Errors: see open_checkpoint.
Result<std::unique_ptr<Checkpoint>> open_gguf(const std::filesystem::path& path);

/// The header of a GGUF checkpoint's first file (metadata, arrays, vocabulary), or nullptr for other kinds.
/// Its tensors are listed in the checkpoint, not here. Valid as long as the checkpoint.
const GgufHeader* gguf_header(const Checkpoint& checkpoint);

}  // namespace skua
