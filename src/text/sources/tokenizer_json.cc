// tokenizer.json to a pipeline. The parts load themselves (load_*.cc); here are the added tokens, the roles
// from tokenizer_config.json, and what the file says that has no effect.
#include "text/json_fields.h"
#include "text/pipeline.h"

namespace skua::text {
namespace {

constexpr int kMaxJsonDepth = 64;
constexpr int64_t kMaxId = 1 << 28;

Result<std::vector<AddedToken>> load_added_tokens(const Fields& fields, const Model& model) {
  std::vector<AddedToken> tokens;
  if (fields.find("added_tokens") == nullptr) return tokens;
  SKUA_ASSIGN_OR_RETURN(const Json* list, fields.array("added_tokens"));
  for (const Json& item : list->items()) {
    const Fields entry(item, "added_tokens");
    AddedToken token;
    SKUA_ASSIGN_OR_RETURN(token.content, entry.required_string("content"));
    SKUA_ASSIGN_OR_RETURN(const int64_t id, entry.integer("id", -1));
    if (id < 0 || id >= kMaxId) return entry.error("id", "a token id");
    // The model's own id counts, as in HF; the id of the file is for tokens that the model lacks.
    token.id = model.find(token.content).value_or(static_cast<int32_t>(id));
    SKUA_ASSIGN_OR_RETURN(token.single_word, entry.boolean("single_word", false));
    SKUA_ASSIGN_OR_RETURN(token.lstrip, entry.boolean("lstrip", false));
    SKUA_ASSIGN_OR_RETURN(token.rstrip, entry.boolean("rstrip", false));
    SKUA_ASSIGN_OR_RETURN(token.special, entry.boolean("special", false));
    SKUA_ASSIGN_OR_RETURN(token.normalized, entry.boolean("normalized", !token.special));
    tokens.push_back(std::move(token));
  }
  return tokens;
}

// "bos_token" and its like: a string, or an object with "content".
std::optional<int32_t> role_of(const Json& config, std::string_view key, const std::vector<AddedToken>& added,
                               const Model& model) {
  const Json* value = config.find(key);
  if (value != nullptr && value->is_object()) value = value->find("content");
  if (value == nullptr || !value->is_string()) return std::nullopt;
  for (const AddedToken& token : added) {
    if (token.content == value->as_string()) return token.id;
  }
  return model.find(value->as_string());
}

bool mentions(const Json& json, std::string_view type) {
  if (json.is_object()) {
    const Json* found = json.find("type");
    if (found != nullptr && found->is_string() && found->as_string() == type) return true;
    for (const auto& [key, value] : json.members()) {
      if (mentions(value, type)) return true;
    }
  }
  for (const Json& item : json.items()) {
    if (mentions(item, type)) return true;
  }
  return false;
}

TokenSpelling spelling_of(const Json* decoder) {
  if (decoder == nullptr) return TokenSpelling::kPlain;
  if (mentions(*decoder, "ByteLevel")) return TokenSpelling::kByteLevel;
  if (mentions(*decoder, "WordPiece")) return TokenSpelling::kWordPiece;
  if (mentions(*decoder, "Metaspace") || mentions(*decoder, "ByteFallback") ||
      mentions(*decoder, "Replace")) {
    return TokenSpelling::kSentencePiece;
  }
  return TokenSpelling::kPlain;
}

Result<std::unique_ptr<Tokenizer>> load(const Json& root, const Json* config) {
  if (!root.is_object()) return invalid_argument("[tokenizer] tokenizer.json must hold an object");
  const Fields fields(root, "tokenizer");
  const Json none;
  const auto part = [&](std::string_view key) -> const Json& {
    const Json* found = fields.find(key);
    return found == nullptr ? none : *found;
  };
  PipelineSpec spec;
  SKUA_ASSIGN_OR_RETURN(spec.model, load_model(part("model"), spec.notes));
  SKUA_ASSIGN_OR_RETURN(spec.normalizer, load_normalizer(part("normalizer")));
  SKUA_ASSIGN_OR_RETURN(spec.pre_tokenizer, load_pre_tokenizer(part("pre_tokenizer")));
  SKUA_ASSIGN_OR_RETURN(spec.post_processor, load_post_processor(part("post_processor")));
  SKUA_ASSIGN_OR_RETURN(spec.decoder, load_decoder(part("decoder")));
  SKUA_ASSIGN_OR_RETURN(spec.added_tokens, load_added_tokens(fields, *spec.model));
  spec.spelling = spelling_of(fields.find("decoder"));
  spec.special.unk = spec.model->unknown();
  if (config != nullptr) {
    spec.special.bos = role_of(*config, "bos_token", spec.added_tokens, *spec.model);
    spec.special.pad = role_of(*config, "pad_token", spec.added_tokens, *spec.model);
    const auto eos = role_of(*config, "eos_token", spec.added_tokens, *spec.model);
    if (eos) spec.special.eos.push_back(*eos);
    const auto unk = role_of(*config, "unk_token", spec.added_tokens, *spec.model);
    if (unk) spec.special.unk = unk;
  }
  for (const std::string_view key : {"truncation", "padding"}) {
    if (fields.find(key) == nullptr) continue;
    spec.notes.push_back("The file's " + std::string(key) + " settings are not applied.");
  }
  return make_pipeline(std::move(spec), config == nullptr ? SpecialGuess::kAll : SpecialGuess::kEndOfTurn);
}

}  // namespace
}  // namespace skua::text

namespace skua {

Result<std::unique_ptr<Tokenizer>> load_tokenizer_json(std::string_view json_text, const Json* config) {
  SKUA_ASSIGN_OR_RETURN(const Json root, parse_json(json_text, text::kMaxJsonDepth));
  return text::load(root, config);
}

}  // namespace skua
