// One golden case: a tiny model whose weights follow from a rule, and what the reference implementation
// answers.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "base/status.h"
#include "checkpoint/memory_checkpoint.h"

namespace skua::golden {

/// The reference's answers (expected.safetensors). Logits are row-major [rows or steps, n_vocab].
struct Expected {
  std::vector<int32_t> prompt;
  std::vector<int32_t> rows;  // prompt positions whose logits are known
  std::vector<float> logits;
  std::vector<int32_t> greedy;  // the reference's own greedy continuation
  std::vector<float> gap;       // per greedy token: its logit minus the second best
  std::vector<int32_t> steps;   // indices into greedy whose logits are known
  std::vector<float> step_logits;
  double prompt_noise = 0;  // the reference's max |float32 - float64| over the prompt's logits
  double step_noise = 0;    // its max |incremental - all at once| over the generated tokens
  int64_t n_vocab = 0;
};

struct Case {
  std::string name;  // the folder's
  std::unique_ptr<MemoryCheckpoint> checkpoint;
  Expected expected;
};

/// Reads a golden folder. Errors: those of the files; kInvalidArgument when shapes or indices contradict each
/// other.
Result<Case> read_case(const std::filesystem::path& folder);

}  // namespace skua::golden
