// The folder that a command makes a checkpoint in.
#pragma once

#include <filesystem>
#include <optional>
#include <utility>

#include "base/options.h"
#include "base/status.h"
#include "tensor/format.h"

namespace skua {

/// A new folder that goes away with the object, and all that is in it, unless it is kept: so a write that
/// fails (disk full) leaves no half of a checkpoint behind.
class OutputFolder {
 public:
  /// Makes the folder that --out names. Errors: kInvalidArgument (--out is missing, or something is there
  /// already: nothing is overwritten), kIo.
  static Result<OutputFolder> make(const OptionValues& options);

  OutputFolder(OutputFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  OutputFolder& operator=(OutputFolder&&) = delete;
  ~OutputFolder();

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path keep() { return std::exchange(path_, {}); }

 private:
  explicit OutputFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

/// What --quant and --group ask for; nothing for "none". Scales are bf16.
std::optional<Format> wanted_format(const OptionValues& options);

}  // namespace skua
