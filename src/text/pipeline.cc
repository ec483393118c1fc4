// Runs the parts of a tokenizer in order. What each part does is in its own file.
#include "text/pipeline.h"

#include <algorithm>

#include "text/byte_chars.h"
#include "text/decoders/decoders.h"
#include "text/sources/special_guess.h"
#include "text/utf8.h"

namespace skua::text {
namespace {

constexpr size_t kMaxTextBytes = size_t{1} << 30;

// Where tokens go: ids always, offsets when asked for.
struct TokenOutput {
  std::vector<int32_t>& ids;
  std::vector<TextSpan>* offsets;
};

class Pipeline : public Tokenizer, private Spellings {
 public:
  Pipeline(PipelineSpec spec, AddedVocabulary added)
      : spec_(std::move(spec)),
        added_(std::move(added)),
        n_vocab_(std::max(spec_.model->id_limit(), added_.id_limit())) {
    if (!spec_.decoder) spec_.decoder = make_space_joiner();
    if (spec_.pre_tokenizer) {
      // Spelling bytes as characters only to look each up again is the slow way round.
      auto raw = spec_.pre_tokenizer->without_byte_spelling();
      if (raw.possible && spec_.model->read_raw_bytes()) spec_.pre_tokenizer = std::move(raw.rest);
    }
  }

  void complete_special_ids(SpecialGuess guess) {
    SpecialIds ids = spec_.special;
    if (guess == SpecialGuess::kAll) guess_special_ids(*this, ids);
    if (guess != SpecialGuess::kNone) add_end_of_turn_ids(*this, ids);
    spec_.special = std::move(ids);
  }

  Result<Encoding> encode_with_offsets(std::string_view text, EncodeOptions options) const override {
    Encoding out;
    SKUA_RETURN_IF_ERROR(run(text, options, {out.ids, &out.offsets}));
    SKUA_RETURN_IF_ERROR(finish_encoding(text, options, WithOffsets::kYes, out));
    return out;
  }

  std::unique_ptr<TokenDecoder> start_decode(SkipSpecial skip) const override;

  std::string token_bytes(int32_t id) const override {
    const std::string_view text = spelling(id);
    switch (spec_.spelling) {
      case TokenSpelling::kByteLevel:
        return bytes_of_chars(text).value_or(std::string(text));
      case TokenSpelling::kSentencePiece:
        return sentence_piece_bytes(text);
      case TokenSpelling::kWordPiece:
        return std::string(text.starts_with("##") ? text.substr(2) : text);
      case TokenSpelling::kPlain:
        return std::string(text);
    }
    return {};
  }

  std::string token_text(int32_t id) const override { return std::string(spelling(id)); }
  int32_t n_vocab() const override { return n_vocab_; }
  std::optional<int32_t> find_token(std::string_view text) const override {
    if (const AddedToken* token = added_.by_content(text)) return token->id;
    return spec_.model->find(text);
  }
  bool is_special(int32_t id) const override {
    const AddedToken* token = added_.by_id(id);
    return token != nullptr && token->special;
  }
  std::vector<std::string> control_texts() const override {
    std::vector<std::string> out;
    for (const AddedToken& token : added_.tokens()) {
      if (is_control_token(token) && !token.content.empty()) out.push_back(token.content);
    }
    return out;
  }
  const SpecialIds& special_ids() const override { return spec_.special; }
  const std::vector<std::string>& notes() const override { return spec_.notes; }

  std::string_view spelling(int32_t id) const override {
    const AddedToken* token = added_.by_id(id);
    return token != nullptr ? std::string_view(token->shown) : spec_.model->spelling(id);
  }
  bool knows(int32_t id) const { return added_.by_id(id) != nullptr || spec_.model->contains(id); }
  const Decoder& decoder() const { return *spec_.decoder; }

 protected:
  Result<std::vector<int32_t>> encode_ids(std::string_view text, EncodeOptions options) const override {
    Encoding out;
    SKUA_RETURN_IF_ERROR(run(text, options, {out.ids, nullptr}));
    SKUA_RETURN_IF_ERROR(finish_encoding(text, options, WithOffsets::kNo, out));
    return std::move(out.ids);
  }

 private:
  enum class WithOffsets : uint8_t { kNo, kYes };

  // What comes after the model: truncation, the post-processor, padding, in HF's order.
  Status finish_encoding(std::string_view text, const EncodeOptions& options, WithOffsets with_offsets,
                         Encoding& encoding) const {
    const PostInput post{text, *this, options.add_special, with_offsets == WithOffsets::kYes};
    const bool limited = options.file_limits == FileLimits::kApply;
    if (limited && spec_.truncation) {
      Encoding around;  // what the post-processor adds to nothing
      if (spec_.post_processor) spec_.post_processor->process(post, around);
      const size_t most = spec_.truncation->max_ids;
      if (around.ids.size() > most) {
        return invalid_argument("[tokenizer] truncation to " + std::to_string(most) +
                                " ids leaves no room for the " + std::to_string(around.ids.size()) +
                                " that the file puts around a text");
      }
      truncate(encoding, most - around.ids.size(), spec_.truncation->cut);
    }
    if (spec_.post_processor) spec_.post_processor->process(post, encoding);
    if (limited && spec_.padding) pad(encoding, *spec_.padding, with_offsets);
    return ok_status();
  }

  static void truncate(Encoding& encoding, size_t most, Side cut) {
    const auto keep = [&](auto& list) {
      if (list.size() <= most) return;
      if (cut == Side::kLeft) list.erase(list.begin(), list.end() - static_cast<ptrdiff_t>(most));
      list.resize(most);
    };
    keep(encoding.ids);
    keep(encoding.offsets);
  }

  static void pad(Encoding& encoding, const Padding& padding, WithOffsets with_offsets) {
    size_t n = padding.n_ids == 0 ? encoding.ids.size() : padding.n_ids;
    n = (n + padding.multiple - 1) / padding.multiple * padding.multiple;
    if (n <= encoding.ids.size()) return;
    const size_t missing = n - encoding.ids.size();
    const bool left = padding.side == Side::kLeft;
    encoding.ids.insert(left ? encoding.ids.begin() : encoding.ids.end(), missing, padding.pad_id);
    if (with_offsets == WithOffsets::kNo) return;
    encoding.offsets.insert(left ? encoding.offsets.begin() : encoding.offsets.end(), missing, TextSpan());
  }

  static std::string sentence_piece_bytes(std::string_view text) {
    const int byte = byte_of_hex_piece(text);
    if (byte >= 0) return std::string(1, static_cast<char>(byte));
    static constexpr std::string_view kMark = "\u2581";
    std::string out;
    size_t last = 0;
    for (size_t at; (at = text.find(kMark, last)) != std::string_view::npos; last = at + kMark.size()) {
      out.append(text.substr(last, at - last));
      out.push_back(' ');
    }
    out.append(text.substr(last));
    return out;
  }

  Status run(std::string_view text, EncodeOptions options, TokenOutput out) const {
    if (text.size() > kMaxTextBytes) return invalid_argument("[tokenizer] text is longer than 1 GiB");
    if (!is_valid_utf8(text)) return invalid_argument("[tokenizer] text is not valid UTF-8");
    const AddedScope scope = options.parse_special ? AddedScope::kAll : AddedScope::kPlainOnly;
    const Track track = out.offsets != nullptr || !options.breaks.empty() ? Track::kYes : Track::kNo;
    const auto scratch = spec_.model->make_scratch(text.size());
    std::vector<ModelToken> tokens;
    for (const AddedSplit& split : added_.split(text, AddedStage::kRaw, scope, options.breaks)) {
      AlignedText part(text.substr(split.begin, split.end - split.begin), static_cast<uint32_t>(split.begin),
                       track);
      if (split.id >= 0) {
        emit_added(split.id, part, out);
        continue;
      }
      if (spec_.normalizer) SKUA_RETURN_IF_ERROR(spec_.normalizer->normalize(part));
      SKUA_RETURN_IF_ERROR(run_normalized(part, {scope, options.breaks}, *scratch, tokens, out));
    }
    return ok_status();
  }

  static void emit_added(int32_t id, const AlignedText& part, TokenOutput out) {
    out.ids.push_back(id);
    if (out.offsets != nullptr) out.offsets->push_back(part.origin(0, part.text().size()));
  }

  // A part that holds no raw added token: look for the normalized ones, hand the rest to the model.
  // Which added tokens count in a text.
  struct AddedRules {
    AddedScope scope;
    std::span<const uint32_t> breaks;
  };

  // Whether a split of a normalized text came from input with a break inside.
  static bool crosses_break(const AlignedText& part, const AddedSplit& split,
                            std::span<const uint32_t> breaks) {
    if (breaks.empty()) return false;
    const TextSpan origin = part.origin(split.begin, split.end);
    const auto at = std::upper_bound(breaks.begin(), breaks.end(), origin.begin);
    return at != breaks.end() && *at < origin.end;
  }

  Status run_normalized(const AlignedText& part, AddedRules rules, ModelScratch& scratch,
                        std::vector<ModelToken>& tokens, TokenOutput out) const {
    if (added_.empty(AddedStage::kNormalized)) return run_segment(part, scratch, tokens, out);
    for (const AddedSplit& split : added_.split(part.text(), AddedStage::kNormalized, rules.scope)) {
      AlignedText piece = part.slice(split.begin, split.end);
      if (split.id >= 0 && !crosses_break(part, split, rules.breaks)) {
        emit_added(split.id, piece, out);
      } else {
        SKUA_RETURN_IF_ERROR(run_segment(std::move(piece), scratch, tokens, out));
      }
    }
    return ok_status();
  }

  Status run_segment(AlignedText text, ModelScratch& scratch, std::vector<ModelToken>& tokens,
                     TokenOutput out) const {
    const auto length = static_cast<uint32_t>(text.text().size());
    if (length == 0) return ok_status();
    Segment segment{std::move(text), {{0, length}}};
    if (spec_.pre_tokenizer) SKUA_RETURN_IF_ERROR(spec_.pre_tokenizer->split(segment));
    const std::string_view whole = segment.text.text();
    for (const Piece& piece : segment.pieces) {
      tokens.clear();
      SKUA_RETURN_IF_ERROR(
          spec_.model->tokenize(whole.substr(piece.begin, piece.end - piece.begin), scratch, tokens));
      for (const ModelToken& token : tokens) {
        out.ids.push_back(token.id);
        if (out.offsets == nullptr) continue;
        out.offsets->push_back(segment.text.origin(piece.begin + token.begin, piece.begin + token.end));
      }
    }
    return ok_status();
  }

  PipelineSpec spec_;
  AddedVocabulary added_;
  int32_t n_vocab_;
};

// The end of the decoder chain: text goes to whatever string the present call gave.
class Collector : public TokenSink {
 public:
  void part(std::string_view text) override { out_->append(text); }
  void end_token() override {}
  void finish() override {}
  void collect_into(std::string& out) { out_ = &out; }

 private:
  std::string* out_ = nullptr;
};

class PipelineDecoder : public TokenDecoder {
 public:
  PipelineDecoder(const Pipeline& pipeline, SkipSpecial skip)
      : pipeline_(pipeline), skip_(skip), first_(pipeline.decoder().start(collector_)) {}

  void push(int32_t id, std::string& out) override {
    if (!pipeline_.knows(id)) return;
    if (skip_ == SkipSpecial::kYes && pipeline_.is_special(id)) return;
    collector_.collect_into(out);
    first_->token(pipeline_.spelling(id));
  }

  void finish(std::string& out) override {
    collector_.collect_into(out);
    first_->finish();
  }

 private:
  const Pipeline& pipeline_;
  SkipSpecial skip_;
  Collector collector_;
  std::unique_ptr<TokenSink> first_;
};

std::unique_ptr<TokenDecoder> Pipeline::start_decode(SkipSpecial skip) const {
  return std::make_unique<PipelineDecoder>(*this, skip);
}

}  // namespace

std::unique_ptr<ModelScratch> Model::make_scratch(size_t) const { return std::make_unique<ModelScratch>(); }

Result<std::unique_ptr<Tokenizer>> make_pipeline(PipelineSpec spec, SpecialGuess guess) {
  SKUA_CHECK(spec.model != nullptr);
  SKUA_ASSIGN_OR_RETURN(AddedVocabulary added,
                        AddedVocabulary::make(std::move(spec.added_tokens), spec.normalizer.get()));
  auto made = std::make_unique<Pipeline>(std::move(spec), std::move(added));
  made->complete_special_ids(guess);
  return std::unique_ptr<Tokenizer>(std::move(made));
}

}  // namespace skua::text

namespace skua {

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  return encode_ids(text, options);
}

std::string Tokenizer::decode(std::span<const int32_t> ids, SkipSpecial skip) const {
  std::string out;
  const auto decoder = start_decode(skip);
  for (const int32_t id : ids) decoder->push(id, out);
  decoder->finish(out);
  return out;
}

}  // namespace skua
