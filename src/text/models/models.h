// Makers of the models other than BPE (bpe.h), for loaders of any file format.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "text/components.h"
#include "text/string_table.h"

namespace skua::text {

/// A table of texts and ids. `where` begins the messages. Errors: kInvalidArgument (no id, an id given twice,
/// a large gap).
Result<StringTable> load_vocab_table(const Json& vocab, const std::string& where);

/// What scores are added in: doubles by HF tokenizers, floats by SentencePiece.
enum class ScoreSums : uint8_t { kDouble, kFloat };

struct UnigramSpec {
  StringTable vocab;
  std::vector<double> scores;    // one per id
  std::vector<bool> in_lattice;  // ids that may be part of a segmentation; empty: all
  std::optional<int32_t> unk;
  bool byte_fallback = false;
  ScoreSums sums = ScoreSums::kDouble;
  std::optional<double> lowest_score;  // what the unknown penalty counts from; nothing: the lowest of scores
  bool fuse_unk = true;                // neighbouring unknown characters make one unknown token
};
std::unique_ptr<Model> make_unigram(UnigramSpec spec);

struct WordPieceSpec {
  StringTable vocab;
  std::string unk_token = "[UNK]";
  std::string prefix = "##";  // of pieces inside a word
  size_t max_chars = 100;     // longer words are unknown
};
std::unique_ptr<Model> make_word_piece(WordPieceSpec spec);

std::unique_ptr<Model> make_word_level(StringTable vocab, std::string unk_token);

}  // namespace skua::text
