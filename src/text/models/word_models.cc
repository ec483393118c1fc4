// WordPiece (longest pieces from the left) and WordLevel (whole words).
// Source: HF tokenizers 0.23, models/{wordpiece,wordlevel}/mod.rs.
#include "text/models/models.h"
#include "text/utf8.h"

namespace skua::text {
namespace {

// What models with a plain vocabulary share.
class VocabModel : public Model {
 public:
  VocabModel(StringTable vocab, std::string unk_token)
      : vocab_(std::move(vocab)), unk_token_(std::move(unk_token)), unk_(vocab_.find(unk_token_)) {}
  std::optional<int32_t> find(std::string_view token) const override { return vocab_.find(token); }
  std::string_view spelling(int32_t id) const override { return vocab_.spelling(id); }
  bool contains(int32_t id) const override { return vocab_.contains(id); }
  int32_t size() const override { return static_cast<int32_t>(vocab_.size()); }
  int32_t id_limit() const override { return vocab_.id_limit(); }
  std::optional<int32_t> unknown() const override { return unk_; }

 protected:
  Status add_unknown(std::string_view piece, std::vector<ModelToken>& out) const {
    if (!unk_)
      return invalid_argument("[tokenizer] unknown token \"" + unk_token_ + "\" is not in the vocabulary");
    out.push_back({*unk_, 0, static_cast<uint32_t>(piece.size())});
    return ok_status();
  }

  StringTable vocab_;

 private:
  std::string unk_token_;
  std::optional<int32_t> unk_;
};

class WordPiece : public VocabModel {
 public:
  explicit WordPiece(WordPieceSpec spec)
      : VocabModel(std::move(spec.vocab), std::move(spec.unk_token)),
        prefix_(std::move(spec.prefix)),
        max_chars_(spec.max_chars) {
    for (int32_t id = 0; id < vocab_.id_limit(); ++id)
      longest_ = std::max(longest_, vocab_.spelling(id).size());
  }

  Status tokenize(std::string_view piece, ModelScratch&, std::vector<ModelToken>& out) const override {
    if (count_chars(piece) > max_chars_) return add_unknown(piece, out);
    const size_t first = out.size();
    std::string candidate;
    for (size_t begin = 0; begin < piece.size();) {
      candidate = begin > 0 ? prefix_ : "";
      const size_t head = candidate.size();
      candidate += piece.substr(begin);
      // No entry is longer than the longest, so longer candidates need no look-up.
      while (candidate.size() > head && candidate.size() > longest_) shorten(candidate);
      std::optional<int32_t> id;
      while (candidate.size() > head && !(id = vocab_.find(candidate))) shorten(candidate);
      if (!id) {
        out.resize(first);
        return add_unknown(piece, out);
      }
      const size_t end = begin + candidate.size() - head;
      out.push_back({*id, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
      begin = end;
    }
    return ok_status();
  }

 private:
  static void shorten(std::string& text) { text.resize(previous_char(text, text.size())); }

  std::string prefix_;
  size_t max_chars_;
  size_t longest_ = 0;
};

class WordLevel : public VocabModel {
 public:
  using VocabModel::VocabModel;
  Status tokenize(std::string_view piece, ModelScratch&, std::vector<ModelToken>& out) const override {
    const auto id = vocab_.find(piece);
    if (!id) return add_unknown(piece, out);
    out.push_back({*id, 0, static_cast<uint32_t>(piece.size())});
    return ok_status();
  }
};

}  // namespace

std::unique_ptr<Model> make_word_piece(WordPieceSpec spec) {
  return std::make_unique<WordPiece>(std::move(spec));
}
std::unique_ptr<Model> make_word_level(StringTable vocab, std::string unk_token) {
  return std::make_unique<WordLevel>(std::move(vocab), std::move(unk_token));
}

}  // namespace skua::text
