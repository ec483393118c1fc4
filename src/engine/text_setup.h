// Tokenizer and chat template of a checkpoint, wherever it keeps them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "text/prompt.h"
#include "text/tokenizer.h"

namespace skua {

struct TextSetup {
  std::unique_ptr<Tokenizer> tokenizer;  // null if the checkpoint has none
  ChatTemplateSources templates;         // both parts empty if the checkpoint has none
  std::vector<std::string> warnings;     // what the file lacks and what is done instead
  std::vector<int32_t> end_ids;          // ids that end a reply, besides config.json's
};

/// Reads tokenizer.json, or vocab.json with merges.txt, tokenizer_config.json, chat_template.jinja or the
/// template in tokenizer_config.json, and generation_config.json; of a GGUF file its vocabulary and template.
/// `file` is the checkpoint before import_gguf. A missing tokenizer is no error here; a broken one is.
Result<TextSetup> load_text(const Checkpoint& file);

}  // namespace skua
