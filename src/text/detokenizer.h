// Ids to text while they are being generated.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "text/tokenizer.h"

namespace skua {

/// Gives the new text of each id. Never returns part of a character; all pieces joined, finish() included,
/// equal the one-shot decode of the same ids at every cut. Bytes that cannot become a character turn into
/// U+FFFD as soon as that is certain. Ids outside the vocabulary give no text. Lifetime: refers to the
/// tokenizer, which must live longer. One per sequence; not thread-safe.
class Detokenizer {
 public:
  /// `context`: ids already shown to the reader (the prompt). Their text is never returned, but a character
  /// that they leave unfinished is completed by the first new ids, and the first new word keeps its leading
  /// space. Leave it empty for a reply that is to read as a text of its own.
  explicit Detokenizer(const Tokenizer& tokenizer, SkipSpecial skip = SkipSpecial::kYes,
                       std::span<const int32_t> context = {});

  /// The text that becomes certain with `id`; often empty.
  std::string push(int32_t id);

  /// The rest: an unfinished character becomes U+FFFD. Call once, at the end.
  std::string finish();

 private:
  std::unique_ptr<TokenDecoder> decoder_;
  bool fresh_ = false;  // something was pushed after the context
};

}  // namespace skua
