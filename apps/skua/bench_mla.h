// skua bench mla: decoding over latent rows, three ways.
#pragma once

#include "skua/command_line.h"

namespace skua {

/// Checks every arm at every size against float64, then times it. Fails, and times nothing there, if one is
/// off its bound or takes another path than its label says.
Exit bench_mla(const OptionValues& options);

}  // namespace skua
