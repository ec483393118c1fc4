// Makers of the decoder stages, for loaders of any file format. The JSON forms are in load_decoder.cc.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/components.h"
#include "text/pattern.h"

namespace skua::text {

std::unique_ptr<Decoder> make_byte_level_decoder();  // byte-level characters to bytes to text; one token out
std::unique_ptr<Decoder> make_byte_fallback_decoder();  // runs of <0xNN> tokens to text
std::unique_ptr<Decoder> make_fuse_decoder();           // all tokens become one
std::unique_ptr<Decoder> make_replace_decoder(Pattern pattern, std::string content);
struct StripOptions {
  char32_t content = ' ';
  size_t start = 0;  // how many at most from the left of a token
  size_t stop = 0;   // and from its right
};
std::unique_ptr<Decoder> make_strip_decoder(StripOptions options);
enum class DropFirst : uint8_t {
  kNo,
  kYes
};  // whether the first token loses its mark instead of getting a space
std::unique_ptr<Decoder> make_metaspace_decoder(std::string replacement, DropFirst drop);
std::unique_ptr<Decoder> make_bpe_decoder(std::string suffix);
enum class Cleanup : uint8_t { kNo, kYes };  // undo the spaces that English tokenizers put before punctuation
std::unique_ptr<Decoder> make_word_piece_decoder(std::string prefix, Cleanup cleanup);
struct CtcOptions {
  std::string pad_token = "<pad>";
  std::string word_delimiter = "|";
  Cleanup cleanup = Cleanup::kYes;
};
std::unique_ptr<Decoder> make_ctc_decoder(CtcOptions options);
std::unique_ptr<Decoder> make_decoder_sequence(std::vector<std::unique_ptr<Decoder>> parts);
std::unique_ptr<Decoder> make_space_joiner();  // what HF does when a file names no decoder

/// A stage that looks at whole tokens: gathers the parts of each and hands them to token().
class WholeTokenStage : public TokenSink {
 public:
  explicit WholeTokenStage(TokenSink& next) : next_(next) {}
  void part(std::string_view text) override { gathered_.append(text); }
  void end_token() override {
    const std::string token = std::move(gathered_);
    gathered_.clear();
    on_token(token);
  }
  void finish() override { next_.finish(); }

 protected:
  virtual void on_token(const std::string& token) = 0;
  TokenSink& next_;

 private:
  std::string gathered_;
};

}  // namespace skua::text
