// Stages that look at whole tokens: Metaspace, BPEDecoder, WordPiece, CTC, and joining with spaces.
// Source: HF tokenizers 0.23, pre_tokenizers/metaspace.rs and decoders/{bpe,wordpiece,ctc}.rs.
#include <optional>
#include <tuple>

#include "text/decoders/decoders.h"

namespace skua::text {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty() || text.find(from) == std::string::npos) return;
  std::string out;
  size_t last = 0;
  for (size_t at; (at = text.find(from, last)) != std::string::npos; last = at + from.size()) {
    out.append(text, last, at - last);
    out.append(to);
  }
  out.append(text, last);
  text = std::move(out);
}

void clean_up(std::string& text) {
  static constexpr std::pair<std::string_view, std::string_view> kEdits[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},    {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
  };
  for (const auto& [from, to] : kEdits) replace_all(text, from, to);
}

class MetaspaceStage : public WholeTokenStage {
 public:
  MetaspaceStage(TokenSink& next, const std::string& mark, DropFirst drop)
      : WholeTokenStage(next), mark_(mark), drop_(drop == DropFirst::kYes) {}

 protected:
  void on_token(const std::string& token) override {
    std::string text = token;
    replace_all(text, mark_, first_ && drop_ ? "" : " ");
    first_ = false;
    next_.token(text);
  }

 private:
  const std::string& mark_;
  bool drop_;
  bool first_ = true;
};

class BpeStage : public WholeTokenStage {
 public:
  BpeStage(TokenSink& next, const std::string& suffix) : WholeTokenStage(next), suffix_(suffix) {}
  void finish() override {
    emit("");
    next_.finish();
  }

 protected:
  void on_token(const std::string& token) override {
    emit(" ");
    held_ = token;
  }

 private:
  void emit(std::string_view replacement) {
    if (!held_) return;
    replace_all(*held_, suffix_, replacement);
    next_.token(*held_);
    held_.reset();
  }

  const std::string& suffix_;
  std::optional<std::string> held_;  // the last token is treated differently
};

class WordPieceStage : public WholeTokenStage {
 public:
  WordPieceStage(TokenSink& next, const std::string& prefix, Cleanup cleanup)
      : WholeTokenStage(next), prefix_(prefix), cleanup_(cleanup) {}

 protected:
  void on_token(const std::string& token) override {
    std::string text = token;
    if (!first_) text = token.starts_with(prefix_) ? token.substr(prefix_.size()) : " " + token;
    first_ = false;
    if (cleanup_ == Cleanup::kYes) clean_up(text);
    next_.token(text);
  }

 private:
  const std::string& prefix_;
  Cleanup cleanup_;
  bool first_ = true;
};

class CtcStage : public WholeTokenStage {
 public:
  CtcStage(TokenSink& next, const CtcOptions& options) : WholeTokenStage(next), options_(options) {}

 protected:
  void on_token(const std::string& token) override {
    if (last_ == token) return;
    last_ = token;
    std::string text = token;
    replace_all(text, options_.pad_token, "");
    if (options_.cleanup == Cleanup::kYes) {
      clean_up(text);
      replace_all(text, options_.word_delimiter, " ");
    }
    if (!text.empty()) next_.token(text);
  }

 private:
  const CtcOptions& options_;
  std::optional<std::string> last_;
};

class JoinStage : public WholeTokenStage {
 public:
  using WholeTokenStage::WholeTokenStage;

 protected:
  void on_token(const std::string& token) override {
    next_.token(first_ ? token : " " + token);
    first_ = false;
  }

 private:
  bool first_ = true;
};

// A decoder whose stage is made from its options and the next stage.
template <typename Stage, typename... Options>
class DecoderOf : public Decoder {
 public:
  explicit DecoderOf(Options... options) : options_(std::move(options)...) {}
  std::unique_ptr<TokenSink> start(TokenSink& next) const override {
    return std::apply([&](const Options&... o) { return std::make_unique<Stage>(next, o...); }, options_);
  }

 private:
  std::tuple<Options...> options_;
};

// Stages of a sequence, each feeding the one behind it.
class Chain : public TokenSink {
 public:
  Chain(TokenSink& next, const std::vector<std::unique_ptr<Decoder>>& parts) {
    TokenSink* target = &next;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      stages_.push_back((*part)->start(*target));
      target = stages_.back().get();
    }
    first_ = target;
  }
  void part(std::string_view text) override { first_->part(text); }
  void end_token() override { first_->end_token(); }
  void finish() override { first_->finish(); }

 private:
  std::vector<std::unique_ptr<TokenSink>> stages_;
  TokenSink* first_;
};

class DecoderSequence : public Decoder {
 public:
  explicit DecoderSequence(std::vector<std::unique_ptr<Decoder>> parts) : parts_(std::move(parts)) {}
  std::unique_ptr<TokenSink> start(TokenSink& next) const override {
    return std::make_unique<Chain>(next, parts_);
  }

 private:
  std::vector<std::unique_ptr<Decoder>> parts_;
};

}  // namespace

std::unique_ptr<Decoder> make_metaspace_decoder(std::string replacement, DropFirst drop) {
  return std::make_unique<DecoderOf<MetaspaceStage, std::string, DropFirst>>(std::move(replacement), drop);
}
std::unique_ptr<Decoder> make_bpe_decoder(std::string suffix) {
  return std::make_unique<DecoderOf<BpeStage, std::string>>(std::move(suffix));
}
std::unique_ptr<Decoder> make_word_piece_decoder(std::string prefix, Cleanup cleanup) {
  return std::make_unique<DecoderOf<WordPieceStage, std::string, Cleanup>>(std::move(prefix), cleanup);
}
std::unique_ptr<Decoder> make_ctc_decoder(CtcOptions options) {
  return std::make_unique<DecoderOf<CtcStage, CtcOptions>>(std::move(options));
}
std::unique_ptr<Decoder> make_decoder_sequence(std::vector<std::unique_ptr<Decoder>> parts) {
  return std::make_unique<DecoderSequence>(std::move(parts));
}
std::unique_ptr<Decoder> make_space_joiner() { return std::make_unique<DecoderOf<JoinStage>>(); }

}  // namespace skua::text
