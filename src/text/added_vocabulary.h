// Added tokens: texts that become one token wherever they stand, before anything else looks at the input.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/components.h"

namespace skua::text {

/// An entry of tokenizer.json's added_tokens.
struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool single_word = false;         // only where no word character touches it
  bool lstrip = false;              // swallows the whitespace to its left
  bool rstrip = false;              // ... and to its right
  bool normalized = false;          // looked for after normalization, in its normalized spelling
  bool spelled_normalized = false;  // with `normalized`: content is in normalized spelling already
  bool special = false;             // left out by SkipSpecial::kYes
  std::string shown = {};  // how it decodes: its normalized spelling when `normalized`; filled in by make()
};

/// A part of a text: an added token, or text between two (id < 0).
struct AddedSplit {
  int32_t id = -1;
  size_t begin = 0;
  size_t end = 0;
};

enum class AddedScope : uint8_t { kAll, kPlainOnly };  // kPlainOnly: no control tokens
enum class AddedStage : uint8_t { kRaw, kNormalized };

class AddedVocabulary {
 public:
  AddedVocabulary() = default;
  /// `normalizer` (may be null) spells the tokens marked normalized. Errors: those of the normalizer.
  static Result<AddedVocabulary> make(std::vector<AddedToken> tokens, const Normalizer* normalizer);

  /// Consecutive splits of `text`; leftmost, then longest match.
  /// `breaks`: ascending positions in `text` that no token may reach across.
  std::vector<AddedSplit> split(std::string_view text, AddedStage stage, AddedScope scope,
                                std::span<const uint32_t> breaks = {}) const;
  bool empty(AddedStage stage) const { return set(stage, AddedScope::kAll).tokens.empty(); }

  const AddedToken* by_id(int32_t id) const;
  const AddedToken* by_content(std::string_view content) const;
  int32_t id_limit() const { return id_limit_; }
  const std::vector<AddedToken>& tokens() const { return tokens_; }

 private:
  struct Node {
    std::vector<std::pair<uint8_t, uint32_t>> children;  // sorted by byte
    int32_t token = -1;                                  // index into tokens_
  };
  struct Trie {
    std::vector<Node> nodes = std::vector<Node>(1);
    std::vector<uint32_t> tokens;
    bool starts[256] = {};
    void insert(std::string_view text, uint32_t token);
    /// Index of the longest token at `pos` that ends at `limit` or before, and its length; -1 when there is
    /// none.
    int32_t match(std::string_view text, size_t pos, size_t limit, size_t& length) const;
  };

  const Trie& set(AddedStage stage, AddedScope scope) const {
    return tries_[static_cast<size_t>(stage)][static_cast<size_t>(scope)];
  }

  std::vector<AddedToken> tokens_;
  std::unordered_map<int32_t, uint32_t> by_id_;
  std::map<std::string, uint32_t, std::less<>> by_content_;
  Trie tries_[2][2];
  int32_t id_limit_ = 0;
};

/// True for tokens that steer a model: special ones, and those whose text looks like markup (<think>,
/// [INST]).
bool is_control_token(const AddedToken& token);

}  // namespace skua::text
