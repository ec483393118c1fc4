// JSON forms of the pre-tokenizers.
#include "text/json_fields.h"
#include "text/pre_tokenizers/pre_tokenizers.h"
#include "text/utf8.h"

namespace skua::text {
namespace {

using Loaded = Result<std::unique_ptr<PreTokenizer>>;
constexpr int kMaxDepth = 32;

Result<std::string> one_character(const Fields& fields, std::string_view key, std::string_view fallback) {
  SKUA_ASSIGN_OR_RETURN(std::string text, fields.string(key, fallback));
  if (count_chars(text) != 1) return fields.error(key, "one character");
  return text;
}

Result<Behavior> behavior_of(const Fields& fields, std::string_view fallback) {
  SKUA_ASSIGN_OR_RETURN(const std::string name, fields.string("behavior", fallback));
  return parse_behavior(name);
}

Loaded load_metaspace(const Fields& fields) {
  MetaspaceOptions options;
  SKUA_ASSIGN_OR_RETURN(options.replacement, one_character(fields, "replacement", "\u2581"));
  SKUA_ASSIGN_OR_RETURN(options.split, fields.boolean("split", true));
  SKUA_ASSIGN_OR_RETURN(const bool prefix, fields.boolean("add_prefix_space", true));
  SKUA_ASSIGN_OR_RETURN(const std::string scheme,
                        fields.string("prepend_scheme", prefix ? "always" : "never"));
  if (scheme == "always") {
    options.prepend = PrependScheme::kAlways;
  } else if (scheme == "first") {
    options.prepend = PrependScheme::kFirst;
  } else if (scheme == "never") {
    options.prepend = PrependScheme::kNever;
  } else {
    return fields.error("prepend_scheme", "always, first or never");
  }
  return make_metaspace(std::move(options));
}

Loaded load_byte_level_pre_tokenizer(const Fields& fields) {
  ByteLevelOptions options;
  SKUA_ASSIGN_OR_RETURN(options.add_prefix_space, fields.boolean("add_prefix_space", true));
  SKUA_ASSIGN_OR_RETURN(options.use_regex, fields.boolean("use_regex", true));
  return make_byte_level(options);
}

Loaded load_split(const Fields& fields) {
  SKUA_ASSIGN_OR_RETURN(Pattern pattern, Pattern::parse(fields.find("pattern")));
  SKUA_ASSIGN_OR_RETURN(const Behavior behavior, behavior_of(fields, ""));
  SKUA_ASSIGN_OR_RETURN(const bool invert, fields.boolean("invert", false));
  return make_split(std::move(pattern), behavior, invert ? Invert::kYes : Invert::kNo);
}

Loaded load_digits(const Fields& fields) {
  SKUA_ASSIGN_OR_RETURN(const bool single, fields.boolean("individual_digits", false));
  return make_digits(single ? Behavior::kIsolated : Behavior::kContiguous);
}

Loaded load_delimiter(const Fields& fields) {
  SKUA_ASSIGN_OR_RETURN(const std::string text, one_character(fields, "delimiter", ""));
  size_t pos = 0;
  return make_char_delimiter_split(next_char(text, pos));
}

Loaded load_fixed_length(const Fields& fields) {
  SKUA_ASSIGN_OR_RETURN(const int64_t length, fields.integer("length", 5));
  if (length < 1) return fields.error("length", "1 or more");
  return make_fixed_length(static_cast<size_t>(length));
}

Loaded load_at_depth(const Json& json, int depth);

Loaded load_sequence(const Fields& fields, int depth) {
  SKUA_ASSIGN_OR_RETURN(const Json* list, fields.array("pretokenizers"));
  std::vector<std::unique_ptr<PreTokenizer>> parts;
  for (const Json& item : list->items()) {
    SKUA_ASSIGN_OR_RETURN(auto part, load_at_depth(item, depth + 1));
    if (part) parts.push_back(std::move(part));
  }
  return make_sequence(std::move(parts));
}

Loaded load_at_depth(const Json& json, int depth) {
  if (json.is_null()) return std::unique_ptr<PreTokenizer>();
  if (depth > kMaxDepth) return invalid_argument("[pre_tokenizer] sequences nested too deeply");
  const Fields fields(json, "pre_tokenizer");
  SKUA_ASSIGN_OR_RETURN(const std::string type, fields.required_string("type"));
  if (type == "Sequence") return load_sequence(fields, depth);
  if (type == "ByteLevel") return load_byte_level_pre_tokenizer(fields);
  if (type == "Split") return load_split(fields);
  if (type == "Metaspace") return load_metaspace(fields);
  if (type == "Digits") return load_digits(fields);
  if (type == "BertPreTokenizer") return make_bert_pre_tokenizer();
  if (type == "Whitespace") return make_whitespace();
  if (type == "WhitespaceSplit") return make_whitespace_split();
  if (type == "UnicodeScripts") return make_unicode_scripts();
  if (type == "CharDelimiterSplit") return load_delimiter(fields);
  if (type == "FixedLength") return load_fixed_length(fields);
  if (type == "Punctuation") {
    SKUA_ASSIGN_OR_RETURN(const Behavior behavior, behavior_of(fields, "Isolated"));
    return make_punctuation(behavior);
  }
  return unsupported("[pre_tokenizer] unknown type \"" + type + "\"");
}

}  // namespace

Result<std::unique_ptr<PreTokenizer>> load_pre_tokenizer(const Json& json) { return load_at_depth(json, 0); }

}  // namespace skua::text
