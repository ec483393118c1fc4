// What latent attention did, in words: for --verbose and bench.
#pragma once

#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/json.h"

namespace skua {

/// One line per path that was taken: tokens served, rows and bytes fetched. None if nothing was counted.
std::vector<std::string> latent_lines(const LatentCounters& counters);

/// Every path, taken or not; null if nothing was counted.
Json latent_json(const LatentCounters& counters);

}  // namespace skua
