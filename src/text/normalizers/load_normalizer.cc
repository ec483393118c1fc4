// JSON forms of the normalizers.
#include "text/base64.h"
#include "text/json_fields.h"
#include "text/normalizers/normalizers.h"

namespace skua::text {
namespace {

using Loaded = Result<std::unique_ptr<Normalizer>>;
constexpr int kMaxDepth = 32;

Loaded load_bert(const Fields& fields) {
  BertOptions options;
  SKUA_ASSIGN_OR_RETURN(options.clean_text, fields.boolean("clean_text", true));
  SKUA_ASSIGN_OR_RETURN(options.handle_chinese_chars, fields.boolean("handle_chinese_chars", true));
  SKUA_ASSIGN_OR_RETURN(options.lowercase, fields.boolean("lowercase", true));
  SKUA_ASSIGN_OR_RETURN(options.strip_accents, fields.boolean("strip_accents", options.lowercase));
  return make_bert_normalizer(options);
}

Loaded load_strip(const Fields& fields) {
  StripSides sides;
  SKUA_ASSIGN_OR_RETURN(sides.left, fields.boolean("strip_left", true));
  SKUA_ASSIGN_OR_RETURN(sides.right, fields.boolean("strip_right", true));
  return make_strip(sides);
}

Loaded load_replace(const Fields& fields) {
  SKUA_ASSIGN_OR_RETURN(Pattern pattern, Pattern::parse(fields.find("pattern")));
  SKUA_ASSIGN_OR_RETURN(std::string content, fields.required_string("content"));
  return make_replace(std::move(pattern), std::move(content));
}

Loaded load_precompiled(const Fields& fields) {
  SKUA_ASSIGN_OR_RETURN(const std::string text, fields.string("precompiled_charsmap", ""));
  if (text.empty()) return std::unique_ptr<Normalizer>();
  SKUA_ASSIGN_OR_RETURN(const std::string charsmap, decode_base64(text));
  return make_precompiled(charsmap);
}

Loaded load_at_depth(const Json& json, int depth);

Loaded load_sequence(const Fields& fields, int depth) {
  SKUA_ASSIGN_OR_RETURN(const Json* list, fields.array("normalizers"));
  std::vector<std::unique_ptr<Normalizer>> parts;
  for (const Json& item : list->items()) {
    SKUA_ASSIGN_OR_RETURN(auto part, load_at_depth(item, depth + 1));
    if (part) parts.push_back(std::move(part));
  }
  return make_normalizer_sequence(std::move(parts));
}

Loaded load_at_depth(const Json& json, int depth) {
  if (json.is_null()) return std::unique_ptr<Normalizer>();
  if (depth > kMaxDepth) return invalid_argument("[normalizer] sequences nested too deeply");
  const Fields fields(json, "normalizer");
  SKUA_ASSIGN_OR_RETURN(const std::string type, fields.required_string("type"));
  if (type == "Sequence") return load_sequence(fields, depth);
  if (type == "NFC") return make_unicode_normalizer(NormalForm::kNfc);
  if (type == "NFD") return make_unicode_normalizer(NormalForm::kNfd);
  if (type == "NFKC") return make_unicode_normalizer(NormalForm::kNfkc);
  if (type == "NFKD") return make_unicode_normalizer(NormalForm::kNfkd);
  if (type == "Lowercase") return make_lowercase();
  if (type == "StripAccents") return make_strip_accents();
  if (type == "Nmt") return make_nmt();
  if (type == "ByteLevel") return make_byte_level_normalizer();
  if (type == "BertNormalizer") return load_bert(fields);
  if (type == "Strip") return load_strip(fields);
  if (type == "Replace") return load_replace(fields);
  if (type == "Precompiled") return load_precompiled(fields);
  if (type == "Prepend") {
    SKUA_ASSIGN_OR_RETURN(std::string prefix, fields.required_string("prepend"));
    return make_prepend(std::move(prefix));
  }
  return unsupported("[normalizer] unknown type \"" + type + "\"");
}

}  // namespace

Result<std::unique_ptr<Normalizer>> load_normalizer(const Json& json) { return load_at_depth(json, 0); }

}  // namespace skua::text
