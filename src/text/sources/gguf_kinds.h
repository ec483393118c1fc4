// What the kinds of GGUF vocabulary share. Internal to sources/.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "text/added_vocabulary.h"
#include "text/components.h"
#include "text/gguf_vocab.h"

namespace skua::text {

/// `id` as a token id, or nothing. Errors: kInvalidArgument names `key` when it is outside the vocabulary.
Result<std::optional<int32_t>> gguf_id(const GgufVocab& vocab, std::string_view key,
                                       std::optional<int64_t> id);

/// The roles of the file. eos holds end of text, end of turn and end of message.
Result<SpecialIds> gguf_special_ids(const GgufVocab& vocab);

GgufTokenType gguf_type(const GgufVocab& vocab, size_t id);

/// Control, unknown and user-defined tokens as added tokens.
std::vector<AddedToken> gguf_added_tokens(const GgufVocab& vocab);

/// BOS before and EOS behind a text, as asked; null when neither.
std::unique_ptr<PostProcessor> gguf_post_processor(const SpecialIds& ids, bool add_bos, bool add_eos);

/// "llama" and "t5" (gguf_other.cc). Errors: kInvalidArgument.
Result<std::unique_ptr<Tokenizer>> make_gguf_sentencepiece(const GgufVocab& vocab);
/// "bert" (gguf_other.cc). Errors: kInvalidArgument.
Result<std::unique_ptr<Tokenizer>> make_gguf_bert(const GgufVocab& vocab);

}  // namespace skua::text
