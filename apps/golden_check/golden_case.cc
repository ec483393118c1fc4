// Reading and checking of expected.safetensors.
#include "golden_check/golden_case.h"

#include "checkpoint/golden_weights.h"
#include "checkpoint/safetensors.h"

namespace skua::golden {
namespace {

/// Reads an i64 tensor whose values must lie in [0, limit).
Result<std::vector<int32_t>> read_indices(const SafetensorsFile& file, const char* name, int64_t limit) {
  SKUA_ASSIGN_OR_RETURN(const std::vector<int64_t> wide, file.read_i64(name));
  std::vector<int32_t> out;
  for (int64_t value : wide) {
    if (value < 0 || value >= limit) {
      return invalid_argument(std::string(name) + " holds " + std::to_string(value) + ", allowed are 0 to " +
                              std::to_string(limit - 1));
    }
    out.push_back(static_cast<int32_t>(value));
  }
  return out;
}

Status check_size(const char* name, size_t got, size_t expected) {
  if (got == expected) return ok_status();
  return invalid_argument(std::string(name) + " has " + std::to_string(got) + " elements, expected " +
                          std::to_string(expected));
}

Result<Expected> read_expected(const SafetensorsFile& file) {
  Expected out;
  SKUA_ASSIGN_OR_RETURN(out.logits, file.read_f32("logits"));
  SKUA_ASSIGN_OR_RETURN(out.step_logits, file.read_f32("step_logits"));
  SKUA_ASSIGN_OR_RETURN(out.gap, file.read_f32("gap"));
  const SafetensorsTensor* logits = file.find("logits");
  if (logits->shape.size() != 2 || logits->shape[1] < 1)
    return invalid_argument("logits is no matrix [rows, n_vocab]");
  out.n_vocab = logits->shape[1];
  SKUA_ASSIGN_OR_RETURN(out.prompt, read_indices(file, "prompt", out.n_vocab));
  SKUA_ASSIGN_OR_RETURN(out.greedy, read_indices(file, "greedy", out.n_vocab));
  SKUA_ASSIGN_OR_RETURN(out.rows, read_indices(file, "rows", static_cast<int64_t>(out.prompt.size())));
  SKUA_ASSIGN_OR_RETURN(out.steps, read_indices(file, "steps", static_cast<int64_t>(out.greedy.size())));
  SKUA_ASSIGN_OR_RETURN(const std::vector<float> noise, file.read_f32("noise"));
  SKUA_RETURN_IF_ERROR(check_size("noise", noise.size(), 2));
  out.prompt_noise = noise[0];
  out.step_noise = noise[1];
  if (out.prompt.empty() || out.greedy.empty() || out.rows.empty() || out.steps.empty()) {
    return invalid_argument("prompt, rows, greedy and steps must not be empty");
  }
  const auto n_vocab = static_cast<size_t>(out.n_vocab);
  SKUA_RETURN_IF_ERROR(check_size("gap", out.gap.size(), out.greedy.size()));
  SKUA_RETURN_IF_ERROR(check_size("logits", out.logits.size(), out.rows.size() * n_vocab));
  SKUA_RETURN_IF_ERROR(check_size("step_logits", out.step_logits.size(), out.steps.size() * n_vocab));
  return out;
}

}  // namespace

Result<Case> read_case(const std::filesystem::path& folder) {
  Case out;
  out.name = (folder.has_filename() ? folder : folder.parent_path()).filename().string();
  SKUA_ASSIGN_OR_RETURN(out.checkpoint, open_golden(folder));
  const auto path = folder / "expected.safetensors";
  SKUA_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::open(path));
  auto expected = read_expected(file);
  if (!expected.ok()) return expected.status().with_context("[golden] " + path.string());
  out.expected = std::move(expected).value();
  return out;
}

}  // namespace skua::golden
