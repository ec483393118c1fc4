// Strings to ids and back: one arena, one open-addressed table. Built once, then only read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skua::text {

/// A vocabulary: each id has at most one spelling, each spelling one id. Ids may have gaps.
class StringTable {
 public:
  explicit StringTable(size_t expected = 0) { rehash(expected); }

  /// Adds or replaces. The last id given to a spelling wins.
  void insert(std::string_view text, int32_t id) {
    if ((count_ + 1) * 2 > slots_.size()) rehash(count_ * 2 + 16);
    Slot& slot = slots_[find_slot(text)];
    if (slot.id < 0) {
      slot = {static_cast<uint32_t>(arena_.size()), static_cast<uint32_t>(text.size()), 0};
      arena_.append(text);
      ++count_;
    }
    slot.id = id;
    if (static_cast<size_t>(id) >= by_id_.size()) by_id_.resize(static_cast<size_t>(id) + 1);
    by_id_[static_cast<size_t>(id)] = {slot.begin, slot.length, id};
  }

  std::optional<int32_t> find(std::string_view text) const {
    const Slot& slot = slots_[find_slot(text)];
    return slot.id < 0 ? std::nullopt : std::optional<int32_t>(slot.id);
  }

  bool contains(int32_t id) const {
    return id >= 0 && static_cast<size_t>(id) < by_id_.size() && by_id_[static_cast<size_t>(id)].id >= 0;
  }

  std::string_view spelling(int32_t id) const {
    if (!contains(id)) return {};
    const Slot& slot = by_id_[static_cast<size_t>(id)];
    return std::string_view(arena_).substr(slot.begin, slot.length);
  }

  size_t size() const { return count_; }                                    // spellings
  int32_t id_limit() const { return static_cast<int32_t>(by_id_.size()); }  // largest id + 1

 private:
  struct Slot {
    uint32_t begin = 0;
    uint32_t length = 0;
    int32_t id = -1;
  };

  size_t find_slot(std::string_view text) const {
    const size_t mask = slots_.size() - 1;
    size_t i = std::hash<std::string_view>()(text) & mask;
    while (slots_[i].id >= 0 && std::string_view(arena_).substr(slots_[i].begin, slots_[i].length) != text) {
      i = (i + 1) & mask;
    }
    return i;
  }

  void rehash(size_t expected) {
    size_t n = 16;
    while (n < expected * 2) n *= 2;
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(n, Slot());
    for (const Slot& slot : old) {
      if (slot.id >= 0) slots_[find_slot(std::string_view(arena_).substr(slot.begin, slot.length))] = slot;
    }
  }

  std::string arena_;
  std::vector<Slot> slots_;
  std::vector<Slot> by_id_;
  size_t count_ = 0;
};

}  // namespace skua::text
