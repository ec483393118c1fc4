// JSON forms of the decoders.
#include "text/decoders/decoders.h"
#include "text/json_fields.h"
#include "text/utf8.h"

namespace skua::text {
namespace {

using Loaded = Result<std::unique_ptr<Decoder>>;
constexpr int kMaxDepth = 32;

Result<Cleanup> cleanup_of(const Fields& fields) {
  SKUA_ASSIGN_OR_RETURN(const bool cleanup, fields.boolean("cleanup", true));
  return cleanup ? Cleanup::kYes : Cleanup::kNo;
}

Loaded load_strip(const Fields& fields) {
  SKUA_ASSIGN_OR_RETURN(const std::string content, fields.required_string("content"));
  if (count_chars(content) != 1) return fields.error("content", "one character");
  SKUA_ASSIGN_OR_RETURN(const int64_t start, fields.integer("start", 0));
  SKUA_ASSIGN_OR_RETURN(const int64_t stop, fields.integer("stop", 0));
  if (start < 0 || stop < 0) return fields.error("start and stop", "0 or more");
  size_t pos = 0;
  return make_strip_decoder({next_char(content, pos), static_cast<size_t>(start), static_cast<size_t>(stop)});
}

Loaded load_replace(const Fields& fields) {
  SKUA_ASSIGN_OR_RETURN(Pattern pattern, Pattern::parse(fields.find("pattern")));
  SKUA_ASSIGN_OR_RETURN(std::string content, fields.required_string("content"));
  return make_replace_decoder(std::move(pattern), std::move(content));
}

Loaded load_metaspace_decoder(const Fields& fields) {
  SKUA_ASSIGN_OR_RETURN(std::string replacement, fields.string("replacement", "\u2581"));
  SKUA_ASSIGN_OR_RETURN(const bool prefix, fields.boolean("add_prefix_space", true));
  SKUA_ASSIGN_OR_RETURN(const std::string scheme,
                        fields.string("prepend_scheme", prefix ? "always" : "never"));
  return make_metaspace_decoder(std::move(replacement), scheme == "never" ? DropFirst::kNo : DropFirst::kYes);
}

Loaded load_ctc(const Fields& fields) {
  CtcOptions options;
  SKUA_ASSIGN_OR_RETURN(options.pad_token, fields.string("pad_token", options.pad_token));
  SKUA_ASSIGN_OR_RETURN(options.word_delimiter,
                        fields.string("word_delimiter_token", options.word_delimiter));
  SKUA_ASSIGN_OR_RETURN(options.cleanup, cleanup_of(fields));
  return make_ctc_decoder(std::move(options));
}

Loaded load_word_piece_decoder(const Fields& fields) {
  SKUA_ASSIGN_OR_RETURN(std::string prefix, fields.string("prefix", "##"));
  SKUA_ASSIGN_OR_RETURN(const Cleanup cleanup, cleanup_of(fields));
  return make_word_piece_decoder(std::move(prefix), cleanup);
}

Loaded load_at_depth(const Json& json, int depth) {
  if (json.is_null()) return std::unique_ptr<Decoder>();
  if (depth > kMaxDepth) return invalid_argument("[decoder] sequences nested too deeply");
  const Fields fields(json, "decoder");
  SKUA_ASSIGN_OR_RETURN(const std::string type, fields.required_string("type"));
  if (type == "Sequence") {
    SKUA_ASSIGN_OR_RETURN(const Json* list, fields.array("decoders"));
    std::vector<std::unique_ptr<Decoder>> parts;
    for (const Json& item : list->items()) {
      SKUA_ASSIGN_OR_RETURN(auto part, load_at_depth(item, depth + 1));
      if (part) parts.push_back(std::move(part));
    }
    return make_decoder_sequence(std::move(parts));
  }
  if (type == "ByteLevel") return make_byte_level_decoder();
  if (type == "ByteFallback") return make_byte_fallback_decoder();
  if (type == "Fuse") return make_fuse_decoder();
  if (type == "Strip") return load_strip(fields);
  if (type == "Replace") return load_replace(fields);
  if (type == "Metaspace") return load_metaspace_decoder(fields);
  if (type == "WordPiece") return load_word_piece_decoder(fields);
  if (type == "CTC") return load_ctc(fields);
  if (type == "BPEDecoder") {
    SKUA_ASSIGN_OR_RETURN(std::string suffix, fields.string("suffix", "</w>"));
    return make_bpe_decoder(std::move(suffix));
  }
  return unsupported("[decoder] unknown type \"" + type + "\"");
}

}  // namespace

Result<std::unique_ptr<Decoder>> load_decoder(const Json& json) { return load_at_depth(json, 0); }

}  // namespace skua::text
