// JSON forms of the models. Which one a file without "type" means is decided by the fields it has.
#include <algorithm>

#include "text/json_fields.h"
#include "text/models/bpe.h"
#include "text/models/models.h"

namespace skua::text {
namespace {

using Loaded = Result<std::unique_ptr<Model>>;
constexpr int64_t kMaxId = 1 << 28;

Result<StringTable> load_vocab(const Fields& fields) {
  SKUA_ASSIGN_OR_RETURN(const Json* vocab, fields.object("vocab"));
  return load_vocab_table(*vocab, "[model] field \"vocab\"");
}

// A merge is "left right" or ["left", "right"].
Result<std::pair<std::string_view, std::string_view>> split_merge(const Fields& fields, const Json& merge) {
  if (merge.is_array() && merge.size() == 2 && merge.items()[0].is_string() && merge.items()[1].is_string()) {
    return std::pair<std::string_view, std::string_view>(merge.items()[0].as_string(),
                                                         merge.items()[1].as_string());
  }
  if (merge.is_string()) {
    const std::string_view text = merge.as_string();
    const size_t space = text.find(' ');
    if (space != std::string_view::npos && text.find(' ', space + 1) == std::string_view::npos) {
      return std::pair(text.substr(0, space), text.substr(space + 1));
    }
  }
  return fields.error("merges", "a list of \"left right\" or [left, right]");
}

Loaded load_bpe(const Fields& fields, std::vector<std::string>& notes) {
  BpeSpec spec;
  SKUA_ASSIGN_OR_RETURN(spec.vocab, load_vocab(fields));
  SKUA_ASSIGN_OR_RETURN(spec.unk_token, fields.optional_string("unk_token"));
  SKUA_ASSIGN_OR_RETURN(spec.continuing_subword_prefix, fields.string("continuing_subword_prefix", ""));
  SKUA_ASSIGN_OR_RETURN(spec.end_of_word_suffix, fields.string("end_of_word_suffix", ""));
  SKUA_ASSIGN_OR_RETURN(spec.fuse_unk, fields.boolean("fuse_unk", false));
  SKUA_ASSIGN_OR_RETURN(spec.byte_fallback, fields.boolean("byte_fallback", false));
  SKUA_ASSIGN_OR_RETURN(spec.ignore_merges, fields.boolean("ignore_merges", false));
  if (fields.find("dropout") != nullptr) notes.push_back("BPE dropout is for training and is ignored.");
  SKUA_ASSIGN_OR_RETURN(const Json* merges, fields.array("merges"));
  for (const Json& merge : merges->items()) {
    SKUA_ASSIGN_OR_RETURN(const auto pair, split_merge(fields, merge));
    SKUA_RETURN_IF_ERROR(add_merge(spec, pair.first, pair.second));
  }
  return make_bpe(std::move(spec));
}

Loaded load_unigram(const Fields& fields) {
  UnigramSpec spec;
  SKUA_ASSIGN_OR_RETURN(const Json* vocab, fields.array("vocab"));
  for (const Json& item : vocab->items()) {
    if (!item.is_array() || item.size() != 2 || !item.items()[0].is_string() ||
        !item.items()[1].is_number()) {
      return fields.error("vocab", "a list of [piece, score]");
    }
    spec.vocab.insert(item.items()[0].as_string(), static_cast<int32_t>(spec.scores.size()));
    spec.scores.push_back(item.items()[1].as_double());
  }
  SKUA_ASSIGN_OR_RETURN(const int64_t unk, fields.integer("unk_id", -1));
  if (unk >= static_cast<int64_t>(spec.scores.size())) return fields.error("unk_id", "the id of a piece");
  if (unk >= 0) spec.unk = static_cast<int32_t>(unk);
  SKUA_ASSIGN_OR_RETURN(spec.byte_fallback, fields.boolean("byte_fallback", false));
  return make_unigram(std::move(spec));
}

Loaded load_word_piece(const Fields& fields) {
  WordPieceSpec spec;
  SKUA_ASSIGN_OR_RETURN(spec.vocab, load_vocab(fields));
  SKUA_ASSIGN_OR_RETURN(spec.unk_token, fields.string("unk_token", spec.unk_token));
  SKUA_ASSIGN_OR_RETURN(spec.prefix, fields.string("continuing_subword_prefix", spec.prefix));
  SKUA_ASSIGN_OR_RETURN(const int64_t most, fields.integer("max_input_chars_per_word", 100));
  if (most < 0) return fields.error("max_input_chars_per_word", "0 or more");
  // A word costs the square of its length.
  spec.max_chars = static_cast<size_t>(std::min<int64_t>(most, 100'000));
  return make_word_piece(std::move(spec));
}

Loaded load_word_level(const Fields& fields) {
  SKUA_ASSIGN_OR_RETURN(StringTable vocab, load_vocab(fields));
  SKUA_ASSIGN_OR_RETURN(std::string unk, fields.string("unk_token", "<unk>"));
  return make_word_level(std::move(vocab), std::move(unk));
}

std::string guess_type(const Fields& fields) {
  if (fields.find("merges") != nullptr) return "BPE";
  const Json* vocab = fields.find("vocab");
  if (vocab != nullptr && vocab->is_array()) return "Unigram";
  return fields.find("max_input_chars_per_word") != nullptr ? "WordPiece" : "WordLevel";
}

}  // namespace

Result<StringTable> load_vocab_table(const Json& vocab, const std::string& where) {
  StringTable table(vocab.size());
  for (const auto& [text, id] : vocab.members()) {
    if (id.kind() != Json::Kind::kInt || id.as_int() < 0 || id.as_int() >= kMaxId) {
      return invalid_argument(where + " must be a table of token ids; \"" + text + "\" has none");
    }
    // A few long gaps would make a small file ask for much memory.
    if (id.as_int() > 16 * static_cast<int64_t>(vocab.size()) + 65536) {
      return invalid_argument(where + " must have ids without large gaps; \"" + text + "\" has " +
                              std::to_string(id.as_int()));
    }
    const auto number = static_cast<int32_t>(id.as_int());
    if (table.contains(number) && table.spelling(number) != text) {
      return invalid_argument(where + ": \"" + std::string(table.spelling(number)) + "\" and \"" + text +
                              "\" have the same id " + std::to_string(number));
    }
    table.insert(text, number);
  }
  return table;
}

Result<std::unique_ptr<Model>> load_model(const Json& json, std::vector<std::string>& notes) {
  const Fields fields(json, "model");
  if (!json.is_object()) return invalid_argument("[tokenizer] field \"model\" must be an object");
  SKUA_ASSIGN_OR_RETURN(const std::string type, fields.string("type", guess_type(fields)));
  if (type == "BPE") return load_bpe(fields, notes);
  if (type == "Unigram") return load_unigram(fields);
  if (type == "WordPiece") return load_word_piece(fields);
  if (type == "WordLevel") return load_word_level(fields);
  return unsupported("[model] unknown type \"" + type + "\"");
}

}  // namespace skua::text
