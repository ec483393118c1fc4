// Small vocabularies that tests build on the spot.
#pragma once

#include <string>
#include <vector>

#include "text/byte_chars.h"
#include "text/gguf_vocab.h"

namespace skua {

/// A byte-level GGUF vocabulary: the 256 bytes (ids 0..255), then `merges` in order, then control tokens.
inline GgufVocab byte_level_vocab(const std::vector<std::string>& merges,
                                  const std::vector<std::string>& control,
                                  const std::string& pre = "smollm") {
  GgufVocab vocab;
  vocab.model = "gpt2";
  vocab.pre = pre;
  for (int byte = 0; byte < 256; ++byte)
    vocab.tokens.emplace_back(text::byte_char(static_cast<uint8_t>(byte)));
  for (const std::string& merge : merges) {
    vocab.merges.push_back(merge);
    const size_t space = merge.find(' ');
    vocab.tokens.push_back(merge.substr(0, space) + merge.substr(space + 1));
  }
  vocab.token_types.assign(vocab.tokens.size(), static_cast<int32_t>(GgufTokenType::kNormal));
  for (const std::string& token : control) {
    vocab.tokens.push_back(token);
    vocab.token_types.push_back(static_cast<int32_t>(GgufTokenType::kControl));
  }
  return vocab;
}

}  // namespace skua
