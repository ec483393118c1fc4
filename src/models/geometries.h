// Configs of a few well-known models, for checkpoints of random weights.
#pragma once

#include <string>
#include <string_view>

namespace skua {

/// config.json of the model called `name` ("llama-3.2-1b"); empty if it is not known.
std::string_view known_config(std::string_view name);

/// "llama-3.2-1b, qwen2.5-0.5b, ...".
std::string known_config_names();

}  // namespace skua
