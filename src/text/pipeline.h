// The one implementation of Tokenizer: added tokens, normalizer, pre-tokenizer, model, post-processor,
// decoder. Loaders of every file format fill a PipelineSpec.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "text/added_vocabulary.h"
#include "text/components.h"
#include "text/tokenizer.h"

namespace skua::text {

/// How the vocabulary spells bytes and word starts; for token_bytes().
enum class TokenSpelling : uint8_t { kPlain, kByteLevel, kSentencePiece, kWordPiece };

enum class Side : uint8_t { kLeft, kRight };

/// tokenizer.json's "truncation": at most `max_ids` ids, those of the post-processor included.
struct Truncation {
  size_t max_ids = 0;
  Side cut = Side::kRight;  // where ids are taken away
};

/// tokenizer.json's "padding": up to `n_ids` ids (0: the text's own length), then up to a multiple.
struct Padding {
  size_t n_ids = 0;
  size_t multiple = 1;
  Side side = Side::kRight;  // where pad ids are put
  int32_t pad_id = 0;
};

/// Parts of a tokenizer. Only `model` must be there.
struct PipelineSpec {
  std::unique_ptr<Normalizer> normalizer;
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  std::unique_ptr<Model> model;
  std::unique_ptr<PostProcessor> post_processor;
  std::unique_ptr<Decoder> decoder;
  std::vector<AddedToken> added_tokens;
  std::optional<Truncation> truncation;
  std::optional<Padding> padding;
  SpecialIds special;
  TokenSpelling spelling = TokenSpelling::kPlain;
  std::vector<std::string> notes;
};

/// How far SpecialIds may be completed from well-known token names.
enum class SpecialGuess : uint8_t { kNone, kEndOfTurn, kAll };

/// Errors: those of spelling the added tokens.
Result<std::unique_ptr<Tokenizer>> make_pipeline(PipelineSpec spec, SpecialGuess guess);

}  // namespace skua::text
