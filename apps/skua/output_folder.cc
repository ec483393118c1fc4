// What skua synth and skua quantize have in common: where they write and in which format.
#include "skua/output_folder.h"

#include <charconv>

namespace skua {

Status check_out_given(const OptionValues& options) {
  return options.given(Opt::kOut) ? ok_status()
                                  : invalid_argument("--out: expected the folder to make; add --out DIR");
}

Result<OutputFolder> OutputFolder::make(const OptionValues& options) {
  SKUA_RETURN_IF_ERROR(check_out_given(options));
  const std::filesystem::path path = options.text(Opt::kOut);
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    return invalid_argument("--out: " + path.string() + " exists already; name a folder that does not");
  }
  auto interrupts = std::make_unique<InterruptGuard>(SecondInterrupt::kEndsProgram);
  std::filesystem::create_directories(path, error);
  if (error) return io_error("--out: " + path.string() + ": " + error.message());
  return OutputFolder(path, std::move(interrupts));
}

Status OutputFolder::check_interrupt() const {
  return interrupts_->take() ? cancelled("interrupted; " + path_.string() + " is removed") : ok_status();
}

OutputFolder::~OutputFolder() {
  std::error_code error;  // what cannot be removed stays; the command fails with the first error as it is
  if (!path_.empty()) std::filesystem::remove_all(path_, error);
}

std::optional<Format> wanted_format(const OptionValues& options) {
  const std::string bits = options.text(Opt::kQuant);
  if (bits == "none") return std::nullopt;
  const std::string group = options.text(Opt::kGroup);
  Format out{.kind = FormatKind::kAffine, .scale_type = DType::kBF16};
  std::from_chars(bits.data(), bits.data() + bits.size(), out.bits);
  std::from_chars(group.data(), group.data() + group.size(), out.group);
  return out;
}

}  // namespace skua
