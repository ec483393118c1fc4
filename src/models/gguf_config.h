// The config.json that a GGUF file's metadata stand for.
#pragma once

#include <span>
#include <string_view>

#include "checkpoint/checkpoint.h"
#include "models/families.h"

namespace skua {

/// The config of `file` as `family` reads it. Errors: those of import_gguf that concern keys.
Result<Json> gguf_config(const Checkpoint& file, const Family& family, ConfigPolicy policy);

/// What the table says of a name; empty = nothing.
std::string_view find_name(std::span<const GgufName> table, std::string_view name);

/// Layers of the config, without those that only guess ahead.
int64_t gguf_layer_count(const Json& config);

}  // namespace skua
