// The pre-tokenizers that GGUF files name in tokenizer.ggml.pre.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/components.h"

namespace skua::text {

struct GgufPre {
  std::string_view name;
  std::vector<std::string_view>
      splits;  // expressions, each run on what the one before it left; last one GPT-2's if empty
  bool digits_single = false;  // digits are split one by one before the GPT-2 rule
  bool ignore_merges = false;
  bool add_bos = false;  // when the file does not say
  bool nfc = false;      // text is brought to NFC first
  bool falcon = false;   // Falcon's chain of four steps instead of `splits`
};

/// Errors: kUnsupported, with the names that are known.
Result<const GgufPre*> find_gguf_pre(std::string_view name);

/// The splitter of a named pre-tokenizer, byte-level spelling included.
Result<std::unique_ptr<PreTokenizer>> make_gguf_pre_tokenizer(const GgufPre& pre);

}  // namespace skua::text
