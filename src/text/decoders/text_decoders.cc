// Stages that edit token texts: Fuse, Replace, Strip. They take tokens in parts, so that text behind a Fuse
// still flows while it is generated. Source: HF tokenizers 0.23, decoders/{fuse,strip}.rs and
// normalizers/replace.rs.
#include <deque>

#include "text/decoders/decoders.h"
#include "text/utf8.h"

namespace skua::text {
namespace {

class FuseStage : public TokenSink {
 public:
  explicit FuseStage(TokenSink& next) : next_(next) {}
  void part(std::string_view text) override { next_.part(text); }
  void end_token() override {}
  void finish() override {
    next_.end_token();
    next_.finish();
  }

 private:
  TokenSink& next_;
};

class ReplaceStage : public TokenSink {
 public:
  ReplaceStage(TokenSink& next, const Pattern& pattern, const std::string& content)
      : next_(next), pattern_(pattern), content_(content) {}

  void part(std::string_view text) override {
    held_.append(text);
    const std::string* literal = pattern_.as_literal();
    if (literal == nullptr || literal->empty()) return;  // an expression needs the whole token
    // A match may start in the last bytes only if the rest of it is still to come.
    size_t from = 0;
    std::string out;
    for (size_t at; (at = held_.find(*literal, from)) != std::string::npos; from = at + literal->size()) {
      out.append(held_, from, at - from);
      out.append(content_);
    }
    size_t keep = std::min(held_.size() - from, literal->size() - 1);
    while (keep > 0 && !literal->starts_with(std::string_view(held_).substr(held_.size() - keep))) --keep;
    out.append(held_, from, held_.size() - keep - from);
    held_.erase(0, held_.size() - keep);
    if (!out.empty()) next_.part(out);
  }

  void end_token() override {
    std::string out;
    std::vector<Part> parts;
    // A pattern that needs too many steps leaves the token as it is.
    if (pattern_.find_parts(held_, parts).ok()) {
      for (const Part& part : parts) {
        if (part.is_match) {
          out.append(content_);
        } else {
          out.append(held_, part.begin, part.end - part.begin);
        }
      }
    } else {
      out = held_;
    }
    held_.clear();
    next_.part(out);
    next_.end_token();
  }

  void finish() override { next_.finish(); }

 private:
  TokenSink& next_;
  const Pattern& pattern_;
  const std::string& content_;
  std::string held_;
};

class StripStage : public TokenSink {
 public:
  StripStage(TokenSink& next, const StripOptions& options) : next_(next), options_(options) {
    append_utf8(content_, options.content);
  }

  // HF counts from the left up to the first other character, and from the right over what is there, without
  // regard to what the left took.
  void part(std::string_view text) override {
    if (options_.stop > 0) {
      held_.append(text);
      return flush_all_but_tail();
    }
    emit(text);
  }

  void end_token() override {
    if (options_.stop > 0) {
      size_t stripped = 0;
      while (stripped < options_.stop && held_.ends_with(content_)) {
        held_.erase(held_.size() - content_.size());
        ++stripped;
      }
      emit(held_);
      held_.clear();
    }
    n_stripped_ = 0;
    left_done_ = false;
    next_.end_token();
  }

  void finish() override { next_.finish(); }

 private:
  // Holds back only the last characters that could still be stripped.
  void flush_all_but_tail() {
    size_t keep = 0, n = 0;
    const std::string_view held = held_;
    while (n < options_.stop && held.substr(0, held.size() - keep).ends_with(content_)) {
      keep += content_.size();
      ++n;
    }
    emit(held.substr(0, held.size() - keep));
    held_.erase(0, held_.size() - keep);
  }

  void emit(std::string_view text) {
    while (!left_done_ && !text.empty()) {
      if (n_stripped_ < options_.start && text.starts_with(content_)) {
        text.remove_prefix(content_.size());
        ++n_stripped_;
      } else {
        left_done_ = true;
      }
    }
    if (!text.empty()) next_.part(text);
  }

  TokenSink& next_;
  StripOptions options_;
  std::string content_;
  std::string held_;
  size_t n_stripped_ = 0;
  bool left_done_ = false;
};

class FuseDecoder : public Decoder {
 public:
  std::unique_ptr<TokenSink> start(TokenSink& next) const override {
    return std::make_unique<FuseStage>(next);
  }
};

class ReplaceDecoder : public Decoder {
 public:
  ReplaceDecoder(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  std::unique_ptr<TokenSink> start(TokenSink& next) const override {
    return std::make_unique<ReplaceStage>(next, pattern_, content_);
  }

 private:
  Pattern pattern_;
  std::string content_;
};

class StripDecoder : public Decoder {
 public:
  explicit StripDecoder(StripOptions options) : options_(options) {}
  std::unique_ptr<TokenSink> start(TokenSink& next) const override {
    return std::make_unique<StripStage>(next, options_);
  }

 private:
  StripOptions options_;
};

}  // namespace

std::unique_ptr<Decoder> make_fuse_decoder() { return std::make_unique<FuseDecoder>(); }
std::unique_ptr<Decoder> make_replace_decoder(Pattern pattern, std::string content) {
  return std::make_unique<ReplaceDecoder>(std::move(pattern), std::move(content));
}
std::unique_ptr<Decoder> make_strip_decoder(StripOptions options) {
  return std::make_unique<StripDecoder>(options);
}

}  // namespace skua::text
