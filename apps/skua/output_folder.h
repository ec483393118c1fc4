// The folder that a command makes a checkpoint in.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "base/options.h"
#include "base/status.h"
#include "skua/interrupt.h"
#include "tensor/format.h"

namespace skua {

/// Error (kInvalidArgument): --out is missing.
Status check_out_given(const OptionValues& options);

/// A new folder that goes away with the object, and all that is in it, unless it is kept: so a write that
/// fails (disk full) leaves no half of a checkpoint behind, nor does Ctrl-C.
class OutputFolder {
 public:
  /// Makes the folder that --out names. Errors: kInvalidArgument (--out is missing, or something is there
  /// already: nothing is overwritten), kIo.
  static Result<OutputFolder> make(const OptionValues& options);

  OutputFolder(OutputFolder&& other) noexcept
      : path_(std::exchange(other.path_, {})), interrupts_(std::move(other.interrupts_)) {}
  OutputFolder& operator=(OutputFolder&&) = delete;
  ~OutputFolder();

  const std::filesystem::path& path() const { return path_; }
  /// To be asked between tensors. Errors: kCancelled (Ctrl-C came).
  Status check_interrupt() const;
  std::filesystem::path keep() { return std::exchange(path_, {}); }

 private:
  OutputFolder(std::filesystem::path path, std::unique_ptr<InterruptGuard> interrupts)
      : path_(std::move(path)), interrupts_(std::move(interrupts)) {}
  std::filesystem::path path_;
  std::unique_ptr<InterruptGuard> interrupts_;
};

/// What --quant and --group ask for; nothing for "none". Scales are bf16.
std::optional<Format> wanted_format(const OptionValues& options);

}  // namespace skua
