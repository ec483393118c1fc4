// A GGUF file seen as a transformers checkpoint: names, config keys and row order translated, bytes left in
// place.
#pragma once

#include <memory>

#include "checkpoint/checkpoint.h"
#include "models/model.h"

namespace skua {

/// Wraps a GGUF checkpoint so that families read transformers names and config keys. Other kinds pass
/// unchanged. Errors: kUnsupported (unknown general.architecture, listing the known; metadata keys of the
/// architecture that are not understood, under kStrict; tensor names without a translation); kInvalidArgument
/// (missing keys).
Result<std::unique_ptr<Checkpoint>> import_gguf(std::unique_ptr<Checkpoint> file, ConfigPolicy policy);

}  // namespace skua
