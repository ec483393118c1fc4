// tokenizer.json to a pipeline. The parts load themselves (load_*.cc); here are the added tokens, the roles
// from tokenizer_config.json, and what the file says that has no effect.
#include <algorithm>

#include "text/json_fields.h"
#include "text/pipeline.h"
#include "text/sources/added_token_list.h"

namespace skua::text {
namespace {

constexpr int kMaxJsonDepth = 64;

Result<std::vector<AddedToken>> load_added_tokens(const Fields& fields, const Model& model,
                                                  std::vector<std::string>& notes) {
  AddedTokenList tokens(model, notes);
  if (fields.find("added_tokens") == nullptr) return tokens.take();
  SKUA_ASSIGN_OR_RETURN(const Json* list, fields.array("added_tokens"));
  for (const Json& item : list->items()) {
    const Fields entry(item, "added_tokens");
    AddedToken token;
    SKUA_ASSIGN_OR_RETURN(token.content, entry.required_string("content"));
    SKUA_ASSIGN_OR_RETURN(const int64_t id, entry.integer("id", -1));
    if (id < 0 || id >= kIdLimit) return entry.error("id", "a token id");
    SKUA_ASSIGN_OR_RETURN(token.single_word, entry.boolean("single_word", false));
    SKUA_ASSIGN_OR_RETURN(token.lstrip, entry.boolean("lstrip", false));
    SKUA_ASSIGN_OR_RETURN(token.rstrip, entry.boolean("rstrip", false));
    SKUA_ASSIGN_OR_RETURN(token.special, entry.boolean("special", false));
    SKUA_ASSIGN_OR_RETURN(token.normalized, entry.boolean("normalized", !token.special));
    SKUA_RETURN_IF_ERROR(tokens.add(std::move(token), id));
  }
  return tokens.take();
}

Result<Side> load_side(const Fields& fields, std::string_view key) {
  SKUA_ASSIGN_OR_RETURN(const std::string side, fields.string(key, "Right"));
  if (side != "Left" && side != "Right") return fields.error(key, "\"Left\" or \"Right\"");
  return side == "Left" ? Side::kLeft : Side::kRight;
}

constexpr std::string_view kNotUnlessAsked = "; skua applies this only when asked (tokenize --file-limits).";

Status load_truncation(const Json* json, PipelineSpec& spec) {
  if (json == nullptr) return ok_status();
  const Fields fields(*json, "truncation");
  if (!json->is_object()) return invalid_argument("[tokenizer] field \"truncation\" must be an object");
  SKUA_ASSIGN_OR_RETURN(const int64_t most, fields.integer("max_length", 512));
  if (most < 0) return fields.error("max_length", "0 or more");
  Truncation out{.max_ids = static_cast<size_t>(most)};
  SKUA_ASSIGN_OR_RETURN(out.cut, load_side(fields, "direction"));
  spec.truncation = out;
  spec.notes.push_back("The file cuts texts to " + std::to_string(most) + " ids" +
                       std::string(kNotUnlessAsked));
  return ok_status();
}

Status load_padding(const Json* json, PipelineSpec& spec) {
  if (json == nullptr) return ok_status();
  const Fields fields(*json, "padding");
  if (!json->is_object()) return invalid_argument("[tokenizer] field \"padding\" must be an object");
  Padding out;
  const Json* strategy = fields.find("strategy");
  if (strategy != nullptr && strategy->is_object()) {  // {"Fixed": n}; else "BatchLongest"
    SKUA_ASSIGN_OR_RETURN(const int64_t n, Fields(*strategy, "padding.strategy").integer("Fixed", 0));
    if (n < 0 || n >= kIdLimit) return fields.error("strategy", "a length");
    out.n_ids = static_cast<size_t>(n);
  }
  SKUA_ASSIGN_OR_RETURN(const int64_t multiple, fields.integer("pad_to_multiple_of", 1));
  if (multiple < 0 || multiple >= kIdLimit) return fields.error("pad_to_multiple_of", "a length");
  out.multiple = static_cast<size_t>(std::max<int64_t>(multiple, 1));
  SKUA_ASSIGN_OR_RETURN(const int64_t id, fields.integer("pad_id", 0));
  if (id < 0 || id >= kIdLimit) return fields.error("pad_id", "a token id");
  out.pad_id = static_cast<int32_t>(id);
  SKUA_ASSIGN_OR_RETURN(out.side, load_side(fields, "direction"));
  spec.padding = out;
  spec.notes.push_back("The file pads texts" + std::string(kNotUnlessAsked));
  return ok_status();
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
  SKUA_ASSIGN_OR_RETURN(spec.added_tokens, load_added_tokens(fields, *spec.model, spec.notes));
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
  SKUA_RETURN_IF_ERROR(load_truncation(fields.find("truncation"), spec));
  SKUA_RETURN_IF_ERROR(load_padding(fields.find("padding"), spec));
  if (spec.model->size() == 0 && spec.added_tokens.empty())
    return invalid_argument("[tokenizer] the vocabulary is empty");
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
