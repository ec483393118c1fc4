// What is common to all checkpoints: looking up an entry, and choosing the reader for a path.
#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <cstring>

#include "base/file.h"
#include "checkpoint/gguf_checkpoint.h"
#include "checkpoint/safetensors_checkpoint.h"

namespace skua {
namespace {

/// Some stores keep GGUF files under names without an extension.
bool has_gguf_magic(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  return file.ok() && file->bytes().size() >= 4 && std::memcmp(file->bytes().data(), "GGUF", 4) == 0;
}

}  // namespace

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
  if (!std::filesystem::is_directory(status) && !std::filesystem::is_regular_file(status)) {
    return invalid_argument("[checkpoint] " + path.string() + " is neither a folder nor a regular file");
  }
  if (std::filesystem::is_directory(status) || path.extension() == ".safetensors")
    return open_safetensors(path);
  if (path.extension() == ".gguf" || has_gguf_magic(path)) return open_gguf(path);
  return invalid_argument("[checkpoint] " + path.string() +
                          " is neither a folder nor a .safetensors or .gguf file");
}

}  // namespace skua
