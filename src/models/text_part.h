// Checkpoints that see or hear besides reading: their text model alone, as its family knows it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "models/model.h"

namespace skua {

/// The text model of a checkpoint whose config holds it under "text_config" (model_type gemma3, gemma3n,
/// gemma4, llama4, mistral3, qwen3_5, qwen3_5_moe): its config with what the outer one says of tokens and
/// tying, its tensors under the names of a text checkpoint. Tensors of other parts (vision tower, projector,
/// ...) are left aside; a sentence about that, naming them, is added to `notices`. Other checkpoints pass
/// unchanged. Errors: kUnsupported (an outer key that is not understood, under kStrict), kDataLoss (two
/// tensors of one name).
Result<std::unique_ptr<Checkpoint>> text_part(std::unique_ptr<Checkpoint> whole, ConfigPolicy policy,
                                              std::vector<std::string>& notices);

/// Any checkpoint as load_model() wants it: import_gguf(), then text_part().
Result<std::unique_ptr<Checkpoint>> import_checkpoint(std::unique_ptr<Checkpoint> file, ConfigPolicy policy,
                                                      std::vector<std::string>& notices);

}  // namespace skua
