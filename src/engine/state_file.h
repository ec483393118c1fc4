// Keys and values of a token sequence on disk: saved from the cached prefixes, restored into them. Exact: a
// reply after a restore has the bytes it would have had without.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "engine/step_runner.h"

namespace skua {

/// Saves the longest cached prefix of `ids`; returns how many tokens that is. Errors: kNotFound (nothing of
/// it is cached), kResourceExhausted (disk full), kIo. The file appears whole or not at all.
Result<int32_t> save_state(StepRunner& runner, std::span<const int32_t> ids,
                           const std::filesystem::path& path);

/// Reads a saved state back as a cached prefix; returns its ids. Errors: kNotFound, kDataLoss (truncated,
/// damaged), kUnsupported (another version), kInvalidArgument (other weights, layout or arithmetic),
/// kResourceExhausted (more tokens than the cache holds).
Result<std::vector<int32_t>> restore_state(StepRunner& runner, const std::filesystem::path& path);

}  // namespace skua
