// Checkpoints of random weights.
#pragma once

#include <memory>
#include <string>

#include "base/options.h"
#include "base/status.h"
#include "checkpoint/checkpoint.h"

namespace skua {

/// What is wrong usage of the options that make weights, whatever the config holds: no source, or a seed that
/// is another one each time.
Status check_synth_usage(const OptionValues& options, const std::string& source);

/// A checkpoint of random weights in memory, for the config that `source` names (a file, a folder with
/// config.json, or a known name), in the format of --quant and --group. Equal seeds give equal bytes. Errors:
/// kNotFound (no such config), those of the family, kUnsupported (rows that the group does not divide).
Result<std::unique_ptr<Checkpoint>> synthetic_checkpoint(const OptionValues& options,
                                                         const std::string& source);

}  // namespace skua
