// The parts a tokenizer is put together from. Each concrete part lives in its own file under normalizers/,
// pre_tokenizers/, models/, post_processors/ and decoders/ and is seen only through these interfaces.
// All parts are immutable after loading; what changes during a call lives in the caller's objects.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "text/aligned_text.h"
#include "text/tokenizer.h"

namespace skua::text {

/// Rewrites text before it is split.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  /// Errors: kResourceExhausted (a pattern needs too many steps; the text would grow beyond all measure).
  virtual Status normalize(AlignedText& text) const = 0;
};

/// A half-open byte range of a Segment's text.
struct Piece {
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// Text between two added tokens, and the pieces it was split into so far (in order, not overlapping, not
/// empty).
struct Segment {
  AlignedText text;
  std::vector<Piece> pieces;
};

/// Splits pieces into smaller ones. Text between pieces is gone for good.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  /// Errors: kResourceExhausted (a pattern needs too many steps).
  virtual Status split(Segment& segment) const = 0;
  /// When the last thing this does is to spell bytes as byte-level characters: the same splitter without that
  /// step (null when nothing else is left to do), so that a model that can read raw bytes is handed those.
  struct RawBytes {
    bool possible = false;
    std::unique_ptr<PreTokenizer> rest;
  };
  virtual RawBytes without_byte_spelling() const { return {}; }
};

/// A token of one piece: bytes [begin, end) of the piece.
struct ModelToken {
  int32_t id = 0;
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// Scratch memory and caches of one encode() call, kept over its pieces.
class ModelScratch {
 public:
  virtual ~ModelScratch() = default;
};

/// Turns a piece into tokens.
class Model {
 public:
  virtual ~Model() = default;
  /// `text_bytes`: length of the text to come, to size caches by.
  virtual std::unique_ptr<ModelScratch> make_scratch(size_t text_bytes) const;
  /// Appends the tokens of `piece` (not empty). `scratch` comes from make_scratch().
  /// Errors: kInvalidArgument (a character is unknown and the vocabulary has no unknown token).
  virtual Status tokenize(std::string_view piece, ModelScratch& scratch,
                          std::vector<ModelToken>& out) const = 0;

  virtual std::optional<int32_t> find(std::string_view token) const = 0;
  /// Spelling of `id`; empty when there is none.
  virtual std::string_view spelling(int32_t id) const = 0;
  virtual bool contains(int32_t id) const = 0;
  /// Number of entries of the vocabulary, and one more than its largest id.
  virtual int32_t size() const = 0;
  virtual int32_t id_limit() const = 0;
  /// The unknown token, if any.
  virtual std::optional<int32_t> unknown() const { return std::nullopt; }
  /// Makes tokenize() take raw bytes instead of byte-level characters. False when this model cannot.
  virtual bool read_raw_bytes() { return false; }
};

/// Spelling of every id, added tokens included.
class Spellings {
 public:
  virtual ~Spellings() = default;
  virtual std::string_view spelling(int32_t id) const = 0;
};

/// What a post-processor works on.
struct PostInput {
  std::string_view input;  // the text given to encode()
  const Spellings& spellings;
  bool add_special = true;
  bool with_offsets = true;  // false: Encoding::offsets stays empty
};

/// Adds tokens around the ids of a text, and may trim their offsets.
class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  virtual void process(const PostInput& post, Encoding& encoding) const = 0;
  /// Appends every id that this may add.
  virtual void added_ids(std::vector<int32_t>& ids) const = 0;
};

/// Where a decoder stage sends its text. A token may arrive in several parts.
class TokenSink {
 public:
  virtual ~TokenSink() = default;
  virtual void part(std::string_view text) = 0;  // more text of the present token
  virtual void end_token() = 0;
  virtual void finish() = 0;  // no more tokens
  void token(std::string_view text) {
    part(text);
    end_token();
  }
};

/// One step from token spellings to text. Works on a stream: start() gives the running state.
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// `next` outlives the returned stage.
  virtual std::unique_ptr<TokenSink> start(TokenSink& next) const = 0;
};

/// Loaders of the parts from their JSON form (tokenizer.json of HF tokenizers 0.23). A null or missing value
/// gives a null pointer. Errors: kInvalidArgument (wrong kind of field); kUnsupported (unknown type, named).
Result<std::unique_ptr<Normalizer>> load_normalizer(const Json& json);
Result<std::unique_ptr<PreTokenizer>> load_pre_tokenizer(const Json& json);
Result<std::unique_ptr<Model>> load_model(const Json& json, std::vector<std::string>& notes);
Result<std::unique_ptr<PostProcessor>> load_post_processor(const Json& json);
Result<std::unique_ptr<Decoder>> load_decoder(const Json& json);

}  // namespace skua::text
