// Stages that turn spelled bytes back to text: ByteLevel and ByteFallback.
// Source: HF tokenizers 0.23, pre_tokenizers/byte_level.rs and decoders/byte_fallback.rs.
#include "text/byte_chars.h"
#include "text/decoders/decoders.h"
#include "text/utf8.h"

namespace skua::text {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

class ByteLevelStage : public WholeTokenStage {
 public:
  using WholeTokenStage::WholeTokenStage;

  void finish() override {
    std::string text;
    append_lossy(text, bytes_);
    next_.part(text);
    next_.end_token();
    next_.finish();
  }

 protected:
  void on_token(const std::string& token) override {
    bytes_ += bytes_of_chars(token).value_or(token);
    const size_t ready = complete_utf8_prefix(bytes_);
    if (ready == 0) return;
    std::string text;
    append_lossy(text, std::string_view(bytes_).substr(0, ready));
    bytes_.erase(0, ready);
    next_.part(text);
  }

 private:
  std::string bytes_;  // not yet a whole character
};

// A run of byte tokens is text when all of it is UTF-8; otherwise every byte of the run becomes U+FFFD. So
// nothing of a run is certain before it ends.
class ByteFallbackStage : public WholeTokenStage {
 public:
  using WholeTokenStage::WholeTokenStage;

  void finish() override {
    flush();
    next_.finish();
  }

 protected:
  void on_token(const std::string& token) override {
    const int byte = byte_of_hex_piece(token);
    if (byte >= 0) {
      run_.push_back(static_cast<char>(byte));
      return;
    }
    flush();
    next_.token(token);
  }

 private:
  void flush() {
    if (run_.empty()) return;
    if (is_valid_utf8(run_)) {
      next_.token(run_);
    } else {
      for (size_t i = 0; i < run_.size(); ++i) next_.token(kReplacement);
    }
    run_.clear();
  }

  std::string run_;
};

class ByteLevelDecoder : public Decoder {
 public:
  std::unique_ptr<TokenSink> start(TokenSink& next) const override {
    return std::make_unique<ByteLevelStage>(next);
  }
};

class ByteFallbackDecoder : public Decoder {
 public:
  std::unique_ptr<TokenSink> start(TokenSink& next) const override {
    return std::make_unique<ByteFallbackStage>(next);
  }
};

}  // namespace

std::unique_ptr<Decoder> make_byte_level_decoder() { return std::make_unique<ByteLevelDecoder>(); }
std::unique_ptr<Decoder> make_byte_fallback_decoder() { return std::make_unique<ByteFallbackDecoder>(); }

}  // namespace skua::text
