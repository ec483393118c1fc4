// Byte-pair encoding.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "text/components.h"
#include "text/string_table.h"

namespace skua::text {

/// What a BPE model is made of, whatever file it came from.
struct BpeSpec {
  StringTable vocab;
  struct Merge {
    int32_t left = 0;
    int32_t right = 0;
    uint32_t rank = 0;  // lower merges first; equal ranks merge from the left
    int32_t merged = 0;
  };
  std::vector<Merge> merges;  // of the same pair, the last counts
  std::optional<std::string> unk_token;
  std::string continuing_subword_prefix;  // put before every character of a piece but the first
  std::string end_of_word_suffix;         // put behind the last
  bool fuse_unk = false;                  // neighbouring unknown characters make one unknown token
  bool byte_fallback = false;             // unknown characters become <0xNN> tokens
  bool ignore_merges = false;  // a piece that is in the vocabulary is one token, whatever the merges say
};

/// Appends the merge of two tokens by their spellings, with the next rank.
/// Errors: kInvalidArgument (a token, or the two joined, is not in the vocabulary).
Status add_merge(BpeSpec& spec, std::string_view left, std::string_view right);

std::unique_ptr<Model> make_bpe(BpeSpec spec);

/// Merges that rebuild SentencePiece's order: two neighbours whose joined spelling is a piece merge, higher
/// score first, leftmost first. `scores` has one entry per id.
std::vector<BpeSpec::Merge> merges_from_scores(const StringTable& vocab, const std::vector<float>& scores);

}  // namespace skua::text
