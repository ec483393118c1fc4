// Unigram: the segmentation with the highest sum of scores (Viterbi). Source: HF tokenizers 0.23,
// models/unigram/model.rs (encode_optimized), and google/sentencepiece v0.2, src/unigram_model.cc
// (EncodeOptimized); the one adds doubles, the other floats.
#include <algorithm>
#include <array>
#include <cmath>

#include "text/byte_chars.h"
#include "text/models/models.h"
#include "text/prefix_trie.h"
#include "text/utf8.h"

namespace skua::text {
namespace {

constexpr double kUnknownPenalty = 10.0;
// Where SentencePiece 0.2.3 counts on from zero, so that a long text does not use up a float's digits (found
// by experiment).
constexpr double kFloatRange = 1e5;

// The best way to reach a position.
struct Best {
  double score = 0;
  int32_t id = -1;
  uint32_t begin = UINT32_MAX;  // where its last piece starts; UINT32_MAX: not reached
};

struct UnigramScratch : ModelScratch {
  std::vector<Best> best;
  std::vector<ModelToken> reversed;
};

class Unigram : public Model {
 public:
  explicit Unigram(UnigramSpec spec) : spec_(std::move(spec)) {
    std::vector<std::pair<std::string_view, int32_t>> entries;
    std::optional<double> lowest = spec_.lowest_score;
    for (int32_t id = 0; id < spec_.vocab.id_limit(); ++id) {
      if (!spec_.vocab.contains(id)) continue;
      const double score = spec_.scores[static_cast<size_t>(id)];
      if (!spec_.lowest_score && (!lowest || score < *lowest)) lowest = score;
      const std::string_view text = spec_.vocab.spelling(id);
      const bool used = spec_.in_lattice.empty() || spec_.in_lattice[static_cast<size_t>(id)];
      if (used && spec_.vocab.find(text) == id) entries.emplace_back(text, id);
    }
    unknown_score_ = rounded(lowest.value_or(0) - kUnknownPenalty);
    trie_ = PrefixTrie(std::move(entries));
    for (int byte = 0; byte < 256; ++byte) {
      const auto b = static_cast<uint8_t>(byte);
      fallback_[b] = spec_.byte_fallback ? spec_.vocab.find(hex_piece(b)).value_or(-1) : -1;
    }
  }

  std::unique_ptr<ModelScratch> make_scratch(size_t) const override {
    return std::make_unique<UnigramScratch>();
  }

  Status tokenize(std::string_view piece, ModelScratch& scratch,
                  std::vector<ModelToken>& out) const override {
    auto& s = static_cast<UnigramScratch&>(scratch);
    SKUA_RETURN_IF_ERROR(fill_lattice(piece, s));
    s.reversed.clear();
    for (auto end = static_cast<uint32_t>(piece.size()); end > 0;) {
      const Best& node = s.best[end];
      const bool unknown = spec_.unk && node.id == *spec_.unk;
      const bool joins =
          unknown && spec_.fuse_unk && !s.reversed.empty() && s.reversed.back().id == *spec_.unk;
      if (joins) {
        s.reversed.back().begin = node.begin;
      } else {
        s.reversed.push_back({node.id, node.begin, end});
      }
      end = node.begin;
    }
    for (auto token = s.reversed.rbegin(); token != s.reversed.rend(); ++token) emit(piece, *token, out);
    return ok_status();
  }

  std::optional<int32_t> find(std::string_view token) const override { return spec_.vocab.find(token); }
  std::string_view spelling(int32_t id) const override { return spec_.vocab.spelling(id); }
  bool contains(int32_t id) const override { return spec_.vocab.contains(id); }
  int32_t size() const override { return static_cast<int32_t>(spec_.vocab.size()); }
  int32_t id_limit() const override { return spec_.vocab.id_limit(); }
  std::optional<int32_t> unknown() const override { return spec_.unk; }

 private:
  double rounded(double score) const {
    return spec_.sums == ScoreSums::kFloat ? static_cast<double>(static_cast<float>(score)) : score;
  }

  // Takes the score of `begin` away from it and from every position reached beyond.
  void count_from_zero(std::vector<Best>& best, size_t begin, size_t furthest) const {
    const double base = best[begin].score;
    for (size_t pos = begin; pos <= furthest; ++pos) {
      if (best[pos].begin != UINT32_MAX) best[pos].score = rounded(best[pos].score - base);
    }
  }

  void offer(Best& node, double score, int32_t id, size_t begin) const {
    score = rounded(score);
    if (node.begin != UINT32_MAX && score <= node.score) return;
    node = {score, id, static_cast<uint32_t>(begin)};
  }

  Status fill_lattice(std::string_view piece, UnigramScratch& s) const {
    s.best.assign(piece.size() + 1, Best());
    size_t furthest = 0;
    for (size_t begin = 0; begin < piece.size();) {
      const bool far = spec_.sums == ScoreSums::kFloat && std::fabs(s.best[begin].score) > kFloatRange;
      if (far) count_from_zero(s.best, begin, furthest);
      const double here = s.best[begin].score;
      const size_t char_length = utf8_length(piece[begin]);
      bool has_single = false;
      trie_.each_prefix(piece, begin, [&](size_t length, int32_t id) {
        offer(s.best[begin + length], spec_.scores[static_cast<size_t>(id)] + here, id, begin);
        has_single = has_single || length == char_length;
        furthest = std::max(furthest, begin + length);
      });
      if (!has_single) {
        if (!spec_.unk)
          return invalid_argument("[unigram] a character is unknown and there is no unknown token");
        offer(s.best[begin + char_length], unknown_score_ + here, *spec_.unk, begin);
        furthest = std::max(furthest, begin + char_length);
      }
      begin += char_length;
    }
    return ok_status();
  }

  void emit(std::string_view piece, ModelToken token, std::vector<ModelToken>& out) const {
    const std::string_view text = piece.substr(token.begin, token.end - token.begin);
    const bool known = !spec_.unk || token.id != *spec_.unk;
    // HF looks the text of an unknown run up again; SentencePiece does not.
    const auto id = spec_.sums == ScoreSums::kDouble ? spec_.vocab.find(text) : std::nullopt;
    if (known || id) {
      out.push_back({id.value_or(token.id), token.begin, token.end});
      return;
    }
    bool all_bytes = spec_.byte_fallback;
    for (const char c : text) all_bytes = all_bytes && fallback_[static_cast<uint8_t>(c)] >= 0;
    if (!all_bytes) {
      out.push_back(token);
      return;
    }
    for (const char c : text) out.push_back({fallback_[static_cast<uint8_t>(c)], token.begin, token.end});
  }

  UnigramSpec spec_;
  PrefixTrie trie_;
  double unknown_score_ = 0;
  std::array<int32_t, 256> fallback_{};
};

}  // namespace

std::unique_ptr<Model> make_unigram(UnigramSpec spec) { return std::make_unique<Unigram>(std::move(spec)); }

}  // namespace skua::text
