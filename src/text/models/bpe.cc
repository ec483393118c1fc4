// BPE: a piece's characters become symbols, then the pair with the lowest rank (leftmost first) is merged
// until none is left. A heap keeps this at n log n. What a heap entry that has gone stale may still do
// follows HF tokenizers 0.23 (models/bpe/word.rs).
#include "text/models/bpe.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "text/byte_chars.h"
#include "text/models/word_cache.h"
#include "text/utf8.h"

namespace skua::text {
namespace {

constexpr size_t kMaxCachedBytes = 64;

// (left, right) -> (rank, merged), open-addressed.
class MergeTable {
 public:
  struct Entry {
    uint64_t key = kEmpty;
    uint32_t rank = 0;
    int32_t merged = 0;
  };

  explicit MergeTable(const std::vector<BpeSpec::Merge>& merges) {
    size_t n = 16;
    while (n < merges.size() * 2) n *= 2;
    slots_.resize(n);
    shift_ = 64 - __builtin_ctzll(n);
    for (const BpeSpec::Merge& merge : merges) {
      const uint64_t key = make_key(merge.left, merge.right);
      slots_[find_slot(key)] = {key, merge.rank, merge.merged};
    }
  }

  const Entry* find(int32_t left, int32_t right) const {
    const Entry& entry = slots_[find_slot(make_key(left, right))];
    return entry.key == kEmpty ? nullptr : &entry;
  }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};
  static uint64_t make_key(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }
  size_t find_slot(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    size_t i = (key * 0x9e3779b97f4a7c15ULL) >> shift_;
    while (slots_[i].key != kEmpty && slots_[i].key != key) i = (i + 1) & mask;
    return i;
  }

  std::vector<Entry> slots_;
  int shift_ = 0;
};

struct Symbol {
  int32_t id;
  int32_t previous;
  int32_t next;
  uint32_t length;  // bytes of the piece; 0 once merged into its left neighbour
};

struct Candidate {
  uint32_t rank;
  int32_t pos;
  int32_t merged;
  // For a min-heap made of std::push_heap.
  bool operator<(const Candidate& other) const {
    return rank != other.rank ? rank > other.rank : pos > other.pos;
  }
};

struct BpeScratch : ModelScratch {
  explicit BpeScratch(size_t text_bytes) : cache(text_bytes) {}
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
  WordCache cache;
};

class Bpe : public Model {
 public:
  explicit Bpe(BpeSpec spec) : spec_(std::move(spec)), merges_(spec_.merges) {
    spec_.merges.clear();
    spec_.merges.shrink_to_fit();
    for (int byte = 0; byte < 256; ++byte) {
      const auto b = static_cast<uint8_t>(byte);
      fallback_[b] = spec_.byte_fallback ? spec_.vocab.find(hex_piece(b)).value_or(-1) : -1;
      byte_ids_[b] = spec_.vocab.find(byte_char(b)).value_or(-1);
    }
    may_drop_ = !spec_.unk_token && std::count(byte_ids_.begin(), byte_ids_.end(), -1) > 0;
    if (spec_.unk_token) unk_ = spec_.vocab.find(*spec_.unk_token);
  }

  std::unique_ptr<ModelScratch> make_scratch(size_t text_bytes) const override {
    return std::make_unique<BpeScratch>(text_bytes);
  }

  Status tokenize(std::string_view piece, ModelScratch& scratch,
                  std::vector<ModelToken>& out) const override {
    auto& s = static_cast<BpeScratch&>(scratch);
    if (spec_.ignore_merges) {
      if (const auto id = raw_ ? raw_words_.find(piece) : spec_.vocab.find(piece)) {
        out.push_back({*id, 0, static_cast<uint32_t>(piece.size())});
        return ok_status();
      }
    }
    if (piece.size() > kMaxCachedBytes) return merge_any(piece, s, out);
    WordCache::Slot& slot = s.cache.slot(piece);
    if (s.cache.append_hit(slot, piece, out)) return ok_status();
    const size_t begin = out.size();
    SKUA_RETURN_IF_ERROR(merge_any(piece, s, out));
    s.cache.store(slot, piece, std::span(out).subspan(begin));
    return ok_status();
  }

  std::optional<int32_t> find(std::string_view token) const override { return spec_.vocab.find(token); }
  std::string_view spelling(int32_t id) const override { return spec_.vocab.spelling(id); }
  bool contains(int32_t id) const override { return spec_.vocab.contains(id); }
  int32_t size() const override { return static_cast<int32_t>(spec_.vocab.size()); }
  int32_t id_limit() const override { return spec_.vocab.id_limit(); }
  std::optional<int32_t> unknown() const override { return unk_; }

  bool read_raw_bytes() override {
    if (spec_.byte_fallback || !spec_.continuing_subword_prefix.empty() ||
        !spec_.end_of_word_suffix.empty()) {
      return false;
    }
    raw_ = true;
    if (spec_.ignore_merges) {
      for (int32_t id = 0; id < spec_.vocab.id_limit(); ++id) {
        const auto bytes = bytes_of_chars(spec_.vocab.spelling(id));
        if (spec_.vocab.contains(id) && bytes && spec_.vocab.find(spec_.vocab.spelling(id)) == id) {
          raw_words_.insert(*bytes, id);
        }
      }
    }
    return true;
  }

 private:
  // Unknown characters on their way to becoming unknown tokens.
  struct Pending {
    bool any = false;
    uint32_t length = 0;
  };

  static void add_symbol(BpeScratch& s, int32_t id, uint32_t length) {
    const auto index = static_cast<int32_t>(s.symbols.size());
    if (index > 0) s.symbols.back().next = index;
    s.symbols.push_back({id, index - 1, -1, length});
  }

  Status add_unknown(BpeScratch& s, Pending& pending, uint32_t length) const {
    if (!spec_.unk_token) return ok_status();  // HF drops such characters
    if (!unk_) {
      return invalid_argument("[bpe] unknown token \"" + *spec_.unk_token + "\" is not in the vocabulary");
    }
    if (pending.any && spec_.fuse_unk) {
      pending.length += length;
      return ok_status();
    }
    flush(s, pending);
    pending = {true, length};
    return ok_status();
  }

  void flush(BpeScratch& s, Pending& pending) const {
    if (pending.any) add_symbol(s, *unk_, pending.length);
    pending = {};
  }

  bool add_fallback_bytes(BpeScratch& s, std::string_view character) const {
    if (!spec_.byte_fallback) return false;
    for (const char c : character) {
      if (fallback_[static_cast<uint8_t>(c)] < 0) return false;
    }
    for (const char c : character) add_symbol(s, fallback_[static_cast<uint8_t>(c)], 1);
    return true;
  }

  enum class Reads : uint8_t { kBytes, kChars };

  Status fill_symbols(std::string_view piece, Reads reads, BpeScratch& s) const {
    Pending pending;
    const bool raw = reads == Reads::kBytes;
    const bool plain = spec_.continuing_subword_prefix.empty() && spec_.end_of_word_suffix.empty();
    std::string affixed;
    for (size_t pos = 0; pos < piece.size();) {
      const size_t length = raw ? 1 : utf8_length(piece[pos]);
      std::string_view character = piece.substr(pos, length);
      if (!plain) {
        affixed = pos > 0 ? spec_.continuing_subword_prefix : "";
        affixed += character;
        if (pos + length == piece.size()) affixed += spec_.end_of_word_suffix;
        character = affixed;
      }
      const int32_t id =
          raw ? byte_ids_[static_cast<uint8_t>(piece[pos])] : spec_.vocab.find(character).value_or(-1);
      if (id >= 0) {
        flush(s, pending);
        add_symbol(s, id, static_cast<uint32_t>(length));
      } else if (!add_fallback_bytes(s, character)) {
        SKUA_RETURN_IF_ERROR(add_unknown(s, pending, static_cast<uint32_t>(length)));
      }
      pos += length;
    }
    flush(s, pending);
    return ok_status();
  }

  void offer(BpeScratch& s, int32_t left) const {
    const int32_t right = s.symbols[static_cast<size_t>(left)].next;
    const auto* merge =
        merges_.find(s.symbols[static_cast<size_t>(left)].id, s.symbols[static_cast<size_t>(right)].id);
    if (merge == nullptr) return;
    s.heap.push_back({merge->rank, left, merge->merged});
    std::push_heap(s.heap.begin(), s.heap.end());
  }

  void run_merges(BpeScratch& s) const {
    while (!s.heap.empty()) {
      std::pop_heap(s.heap.begin(), s.heap.end());
      const Candidate top = s.heap.back();
      s.heap.pop_back();
      Symbol& left = s.symbols[static_cast<size_t>(top.pos)];
      if (left.length == 0 || left.next < 0) continue;
      Symbol& right = s.symbols[static_cast<size_t>(left.next)];
      const auto* merge = merges_.find(left.id, right.id);
      if (merge == nullptr || merge->merged != top.merged) continue;
      left.id = top.merged;
      left.length += right.length;
      left.next = right.next;
      right.length = 0;
      if (right.next >= 0) s.symbols[static_cast<size_t>(right.next)].previous = top.pos;
      if (left.previous >= 0) offer(s, left.previous);
      if (left.next >= 0) offer(s, top.pos);
    }
  }

  // True when some byte has no token and would be dropped: what is behind it then moves to the left by the
  // length of its spelling, so that offsets must be counted in spellings.
  bool drops_bytes(std::string_view piece) const {
    if (!may_drop_) return false;
    return std::any_of(piece.begin(), piece.end(),
                       [&](char c) { return byte_ids_[static_cast<uint8_t>(c)] < 0; });
  }

  Status merge_spelled(std::string_view piece, BpeScratch& s, std::vector<ModelToken>& out) const {
    std::string spelled;
    std::vector<uint32_t> origin;  // byte of `piece` for every byte of `spelled`
    for (size_t i = 0; i < piece.size(); ++i) {
      spelled += byte_char(static_cast<uint8_t>(piece[i]));
      origin.resize(spelled.size(), static_cast<uint32_t>(i));
    }
    const size_t begin = out.size();
    SKUA_RETURN_IF_ERROR(merge_piece(spelled, Reads::kChars, s, out));
    for (size_t i = begin; i < out.size(); ++i) {
      out[i].begin = origin[out[i].begin];
      out[i].end = origin[out[i].end - 1] + 1;
    }
    return ok_status();
  }

  Status merge_any(std::string_view piece, BpeScratch& s, std::vector<ModelToken>& out) const {
    if (raw_ && drops_bytes(piece)) return merge_spelled(piece, s, out);
    return merge_piece(piece, raw_ ? Reads::kBytes : Reads::kChars, s, out);
  }

  Status merge_piece(std::string_view piece, Reads reads, BpeScratch& s, std::vector<ModelToken>& out) const {
    s.symbols.clear();
    s.heap.clear();
    SKUA_RETURN_IF_ERROR(fill_symbols(piece, reads, s));
    for (size_t i = 0; i + 1 < s.symbols.size(); ++i) {
      const auto* merge = merges_.find(s.symbols[i].id, s.symbols[i + 1].id);
      if (merge != nullptr) s.heap.push_back({merge->rank, static_cast<int32_t>(i), merge->merged});
    }
    std::make_heap(s.heap.begin(), s.heap.end());
    run_merges(s);
    uint32_t begin = 0;
    for (const Symbol& symbol : s.symbols) {
      if (symbol.length == 0) continue;
      out.push_back({symbol.id, begin, begin + symbol.length});
      begin += symbol.length;
    }
    return ok_status();
  }

  BpeSpec spec_;
  MergeTable merges_;
  std::array<int32_t, 256> fallback_{};  // ids of <0xNN>, or -1
  std::array<int32_t, 256> byte_ids_{};  // ids of byte-level characters, or -1
  std::optional<int32_t> unk_;
  StringTable raw_words_;  // spellings as raw bytes, for ignore_merges
  bool raw_ = false;
  bool may_drop_ = false;  // no unknown token, and some byte without a token
};

}  // namespace

Status add_merge(BpeSpec& spec, std::string_view left, std::string_view right) {
  std::string joined(left);
  const size_t prefix = spec.continuing_subword_prefix.size();
  joined += right.size() >= prefix ? right.substr(prefix) : right;
  const auto left_id = spec.vocab.find(left), right_id = spec.vocab.find(right),
             merged = spec.vocab.find(joined);
  if (!left_id || !right_id || !merged) {
    return invalid_argument("[bpe] merge of \"" + std::string(left) + "\" and \"" + std::string(right) +
                            "\": a part or the whole is not in the vocabulary");
  }
  spec.merges.push_back({*left_id, *right_id, static_cast<uint32_t>(spec.merges.size()), *merged});
  return ok_status();
}

std::unique_ptr<Model> make_bpe(BpeSpec spec) { return std::make_unique<Bpe>(std::move(spec)); }

std::vector<BpeSpec::Merge> merges_from_scores(const StringTable& vocab, const std::vector<float>& scores) {
  std::vector<float> order(scores);
  std::sort(order.begin(), order.end(), std::greater<>());
  order.erase(std::unique(order.begin(), order.end()), order.end());
  std::vector<BpeSpec::Merge> merges;
  for (int32_t id = 0; id < vocab.id_limit(); ++id) {
    const std::string_view text = vocab.spelling(id);
    const auto place =
        std::lower_bound(order.begin(), order.end(), scores[static_cast<size_t>(id)], std::greater<>());
    const auto rank = static_cast<uint32_t>(place - order.begin());
    for (size_t cut = 1; cut < text.size(); ++cut) {
      if (is_utf8_continuation(text[cut])) continue;
      const auto left = vocab.find(text.substr(0, cut));
      if (!left) continue;
      const auto right = vocab.find(text.substr(cut));
      if (right) merges.push_back({*left, *right, rank, id});
    }
  }
  return merges;
}

}  // namespace skua::text
