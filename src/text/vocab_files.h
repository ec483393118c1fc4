// Vocabularies in the files that older and other tools write: SentencePiece models, tiktoken rank lists, and
// GPT-2's pair of vocab.json and merges.txt.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
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

/// The files of a checkpoint without tokenizer.json. The Json values are null when there is no such file.
struct VocabMergesFiles {
  std::string vocab;        // text of vocab.json: tokens and ids
  std::string merges;       // text of merges.txt: a pair a line, in their order
  Json config;              // tokenizer_config.json
  Json special_tokens_map;  // special_tokens_map.json
  Json added_tokens;        // added_tokens.json
  std::string model_type;   // of config.json; decides when tokenizer_config.json names no tokenizer_class
};

/// Byte-level BPE of GPT-2's and Qwen 2's kind, as transformers reads it from these files. Errors name the
/// file, and the line where there is one: kInvalidArgument (a file contradicts itself or another);
/// kUnsupported (a tokenizer class of another kind, by name).
Result<std::unique_ptr<Tokenizer>> load_vocab_and_merges(const VocabMergesFiles& files);

}  // namespace skua
