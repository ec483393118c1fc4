// What is common to all checkpoints: looking up an entry, and choosing the reader for a path.
#include "checkpoint/checkpoint.h"

#include <algorithm>

#include "checkpoint/safetensors_checkpoint.h"

namespace skua {

const TensorEntry* Checkpoint::find(std::string_view name) const {
  const auto entries = tensors();
  const auto at =
      std::lower_bound(entries.begin(), entries.end(), name,
                       [](const TensorEntry& entry, std::string_view key) { return entry.name < key; });
  return at == entries.end() || at->name != name ? nullptr : &*at;
}

Result<std::unique_ptr<Checkpoint>> open_checkpoint(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return not_found("[checkpoint] " + path.string() +
                     " does not exist; give a folder with config.json and " +
                     "safetensors, a .safetensors file or a .gguf file");
  }
  if (error) return io_error("[checkpoint] " + path.string() + ": " + error.message());
  if (std::filesystem::is_directory(status) || path.extension() == ".safetensors")
    return open_safetensors(path);
  return invalid_argument("[checkpoint] " + path.string() +
                          " is neither a folder nor a .safetensors or .gguf file");
}

}  // namespace skua
