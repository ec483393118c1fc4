// Added tokens and roles as the files beside vocab.json and merges.txt give them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/added_vocabulary.h"
#include "text/components.h"
#include "text/vocab_files.h"

namespace skua::text {

/// Role names ("eos_token") and the tokens that a tokenizer class gives them when no file does.
using RoleDefaults = std::vector<std::pair<std::string_view, std::string_view>>;

struct SlowTokens {
  std::vector<AddedToken> added;
  SpecialIds special;
};

/// Reads tokenizer_config.json (added_tokens_decoder and roles) or, when that has no added_tokens_decoder,
/// special_tokens_map.json and added_tokens.json too. Source of the order in which they count:
/// huggingface/transformers, tokenization_utils_base.py. Errors: kInvalidArgument, with the file's name.
Result<SlowTokens> read_slow_tokens(const VocabMergesFiles& files, const RoleDefaults& defaults,
                                    const Model& model, std::vector<std::string>& notes);

}  // namespace skua::text
