// The folder that a command makes a checkpoint in.
#pragma once

#include <filesystem>
#include <optional>

#include "base/options.h"
#include "base/status.h"
#include "tensor/format.h"

namespace skua {

/// Makes the folder that --out names. Errors: kInvalidArgument (--out is missing, or something is there
/// already: nothing is overwritten), kIo.
Result<std::filesystem::path> make_output_folder(const OptionValues& options);

/// What --quant and --group ask for; nothing for "none". Scales are bf16.
std::optional<Format> wanted_format(const OptionValues& options);

}  // namespace skua
