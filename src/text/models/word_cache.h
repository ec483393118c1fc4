// Tokens of words seen before in the same call. Direct-mapped, so that no choice of words can make it slow; a
// word that falls on a taken slot replaces what was there.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/components.h"

namespace skua::text {

class WordCache {
 public:
  struct Slot {
    uint64_t hash = 0;
    uint32_t key_begin = 0;
    uint32_t key_length = 0;
    uint32_t tokens_begin = 0;
    uint32_t n_tokens = 0;
  };

  /// `text_bytes`: length of the text to come; sets the number of slots.
  explicit WordCache(size_t text_bytes) {
    size_t n = 64;
    while (n < 65536 && n < text_bytes / 4) n *= 2;
    slots_.resize(n);
  }

  /// The slot that belongs to `word`.
  Slot& slot(std::string_view word) {
    hash_ = std::hash<std::string_view>()(word);
    return slots_[hash_ & (slots_.size() - 1)];
  }

  /// Appends the tokens of `word` when its slot holds them.
  bool append_hit(const Slot& slot, std::string_view word, std::vector<ModelToken>& out) const {
    if (slot.hash != hash_ || std::string_view(keys_).substr(slot.key_begin, slot.key_length) != word)
      return false;
    out.insert(out.end(), tokens_.begin() + slot.tokens_begin,
               tokens_.begin() + slot.tokens_begin + slot.n_tokens);
    return true;
  }

  /// Remembers the tokens of `word`, whose slot() was asked for last.
  void store(Slot& slot, std::string_view word, std::span<const ModelToken> tokens) {
    if (keys_.size() > kMaxBytes || tokens_.size() > kMaxBytes / 8) {
      keys_.clear();
      tokens_.clear();
      slots_.assign(slots_.size(), Slot());
    }
    slot = {hash_, static_cast<uint32_t>(keys_.size()), static_cast<uint32_t>(word.size()),
            static_cast<uint32_t>(tokens_.size()), static_cast<uint32_t>(tokens.size())};
    keys_.append(word);
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  }

 private:
  static constexpr size_t kMaxBytes = 4 << 20;
  std::vector<Slot> slots_;
  std::string keys_;
  std::vector<ModelToken> tokens_;
  uint64_t hash_ = 0;
};

}  // namespace skua::text
