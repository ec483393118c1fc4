// SentencePiece's precompiled character map: a double-array trie from byte strings to replacements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace skua::text {

class Charsmap {
 public:
  /// `bytes`: as the model file holds them. Errors: kInvalidArgument (they contradict themselves).
  static Result<Charsmap> parse(std::string_view bytes);

  struct Hit {
    size_t length = 0;  // bytes of the key
    std::string_view replacement;
  };
  enum class Which : uint8_t { kShortest, kLongest };
  /// An entry that `text` begins with.
  std::optional<Hit> find(std::string_view text, Which which) const;

 private:
  std::vector<uint32_t> trie_;
  std::string replacements_;
};

}  // namespace skua::text
