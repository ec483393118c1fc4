// Vocabularies in the files that older and other tools write: SentencePiece models, tiktoken rank lists, and
// GPT-2's pair of vocab.json and merges.txt.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/tokenizer.h"

namespace skua {

/// A SentencePiece .model file (a protocol buffer), BPE or Unigram: ids as `sentencepiece` itself gives them.
/// No BOS or EOS is added unless `add_bos`/`add_eos`. Control pieces count as added tokens. Errors:
/// kInvalidArgument (not such a file, or it contradicts itself); kUnsupported (model types word and char).
struct SentencePieceOptions {
  bool add_bos = false;
  bool add_eos = false;
};
Result<std::unique_ptr<Tokenizer>> load_sentencepiece(std::string_view bytes,
                                                      SentencePieceOptions options = {});

/// A tiktoken list: a line for each token, base64 of its bytes and its rank. The file knows neither the split
/// pattern nor the special tokens; both are the caller's. Errors: kInvalidArgument.
struct TiktokenOptions {
  std::string pattern;                                   // the split expression
  std::vector<std::pair<std::string, int32_t>> special;  // texts and ids
  bool nfc = false;                                      // bring text to NFC first
};
Result<std::unique_ptr<Tokenizer>> load_tiktoken(std::string_view list, const TiktokenOptions& options);

/// Byte-level BPE from vocab.json (text to id) and merges.txt (a pair a line, comments with #version), split
/// as GPT-2 does. Errors: kInvalidArgument.
Result<std::unique_ptr<Tokenizer>> load_vocab_and_merges(std::string_view vocab_json,
                                                         std::string_view merges_txt,
                                                         const std::vector<std::string>& special = {});

}  // namespace skua
