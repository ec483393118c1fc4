// Text to token ids and back. One abstract class; what a vocabulary file asks for (normalizer, pre-tokenizer,
// model, post-processor, decoder) is put together by the factories below and stays inside src/text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace skua {

/// Whether the vocabulary file's own truncation and padding settings are applied to a text.
enum class FileLimits : uint8_t { kIgnore, kApply };

struct EncodeOptions {
  /// Run the post-processor: add BOS, EOS and whatever else the vocabulary file asks for.
  bool add_special = true;
  /// True: every added token found in the text becomes that token (what HF does). False, for text that a user
  /// typed: control tokens (special ones, and any whose text looks like markup, such as <think> or [INST])
  /// are spelled out as ordinary characters; only plain added tokens (runs of spaces, say) are still
  /// recognised.
  bool parse_special = true;
  /// Byte positions in the text, ascending, that no added token may reach across: a token that would hold the
  /// bytes on both sides of one is spelled out. For prompts that quote control text; see prompt.h.
  std::span<const uint32_t> breaks;
  /// HF tokenizers applies them whenever a tokenizer.json has them. An engine must not: truncation would cut
  /// a prompt without a word. notes() names them.
  FileLimits file_limits = FileLimits::kIgnore;
};

/// Half-open byte range in the text given to encode().
struct TextSpan {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool operator==(const TextSpan&) const = default;
};

/// Ids with the part of the text each one stands for; the two vectors have equal length. Tokens that the
/// post-processor adds have the empty span {0, 0}.
struct Encoding {
  std::vector<int32_t> ids;
  std::vector<TextSpan> offsets;
};

/// Ids with a role. `eos` holds every id that ends a reply (may be empty).
struct SpecialIds {
  std::optional<int32_t> bos;
  std::optional<int32_t> unk;
  std::optional<int32_t> pad;
  std::vector<int32_t> eos;
};

/// Whether decode() leaves special (control) tokens out.
enum class SkipSpecial : uint8_t { kNo, kYes };

/// Turns a run of ids into text a piece at a time. Made by Tokenizer::start_decode(); see detokenizer.h for
/// the class that users want. Text returned so far is always a prefix of the one-shot decode of the same ids.
class TokenDecoder {
 public:
  virtual ~TokenDecoder() = default;
  /// Appends to `out` whatever text is certain once `id` is known. Ids outside the vocabulary add nothing.
  virtual void push(int32_t id, std::string& out) = 0;
  /// Appends what was held back. The decoder is then used up.
  virtual void finish(std::string& out) = 0;
};

/// A vocabulary and its rules. Immutable after loading: every const function may be called from many threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Errors: kInvalidArgument (text is not UTF-8, or longer than 1 GiB); kResourceExhausted (a split pattern
  /// of the vocabulary file needs too many steps on this text).
  Result<std::vector<int32_t>> encode(std::string_view text, EncodeOptions options = {}) const;

  /// As encode(), with the byte range of every token. Errors: as encode().
  virtual Result<Encoding> encode_with_offsets(std::string_view text, EncodeOptions options = {}) const = 0;

  /// The text of `ids`. Ids outside the vocabulary add nothing; bytes that form no character become U+FFFD,
  /// as HF tokenizers does it.
  std::string decode(std::span<const int32_t> ids, SkipSpecial skip = SkipSpecial::kYes) const;

  /// A decoder that takes ids one at a time. It refers to this tokenizer and must not outlive it.
  virtual std::unique_ptr<TokenDecoder> start_decode(SkipSpecial skip) const = 0;

  /// The bytes that a token stands for inside a text: byte-level characters and <0xNN> pieces turned back to
  /// bytes, a word-start mark turned to a space. Empty for ids outside the vocabulary.
  virtual std::string token_bytes(int32_t id) const = 0;

  /// The token as the vocabulary spells it. Empty for ids outside the vocabulary.
  virtual std::string token_text(int32_t id) const = 0;

  /// One more than the largest id (ids below may be unused).
  virtual int32_t n_vocab() const = 0;

  /// The id whose vocabulary spelling is exactly `text`, added tokens first.
  virtual std::optional<int32_t> find_token(std::string_view text) const = 0;

  /// True for control tokens: those that SkipSpecial::kYes leaves out.
  virtual bool is_special(int32_t id) const = 0;

  virtual const SpecialIds& special_ids() const = 0;

  /// Texts of the control tokens: those that EncodeOptions::parse_special = false spells out.
  virtual std::vector<std::string> control_texts() const = 0;

  /// Things in the vocabulary file that were accepted but do nothing here (dropout, say), one sentence each.
  virtual const std::vector<std::string>& notes() const = 0;

 protected:
  virtual Result<std::vector<int32_t>> encode_ids(std::string_view text, EncodeOptions options) const = 0;
};

/// Loads a Hugging Face tokenizer.json (the format of HF tokenizers 0.23).
/// `config`: the parsed tokenizer_config.json, or null; gives the names of the bos, eos, unk and pad tokens.
/// Errors: kInvalidArgument (not JSON, a field of the wrong kind, an id out of range); kUnsupported (a
/// component or setting that skua does not know; the message names it).
Result<std::unique_ptr<Tokenizer>> load_tokenizer_json(std::string_view json_text,
                                                       const Json* config = nullptr);

}  // namespace skua
