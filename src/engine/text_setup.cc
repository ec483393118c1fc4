// Finds tokenizer, template and end tokens in a checkpoint. Which files count, and which wins, is decided
// here.
#include "engine/text_setup.h"

#include "checkpoint/gguf_checkpoint.h"
#include "text/gguf_vocab.h"
#include "text/vocab_files.h"

namespace skua {
namespace {

/// The side file as JSON; a null value if there is none.
Result<Json> side_json(const Checkpoint& file, std::string_view name) {
  const auto text = file.side_file(name);
  if (!text.ok()) {
    if (text.status().code() == Code::kNotFound) return Json();
    return text.status();
  }
  auto json = parse_json(*text);
  if (!json.ok()) return json.status().with_context("[text] " + file.source() + ": " + std::string(name));
  return json;
}

std::optional<int64_t> maybe_id(const Json& metadata, std::string_view key) {
  const Json* value = metadata.find("tokenizer.ggml." + std::string(key) + "_token_id");
  if (value == nullptr || value->kind() != Json::Kind::kInt) return std::nullopt;
  return value->as_int();
}

std::optional<bool> maybe_flag(const Json& metadata, std::string_view key) {
  const Json* value = metadata.find("tokenizer.ggml." + std::string(key));
  if (value == nullptr || !value->is_bool()) return std::nullopt;
  return value->as_bool();
}

std::string text_or_empty(const Json& metadata, std::string_view key) {
  const Json* value = metadata.find(key);
  return value == nullptr || !value->is_string() ? std::string() : value->as_string();
}

Result<GgufVocab> read_vocab(const GgufHeader& header) {
  SKUA_ASSIGN_OR_RETURN(const GgufVocabulary lists, gguf_vocabulary(header));
  const Json& metadata = header.metadata;
  GgufVocab out;
  out.model = text_or_empty(metadata, "tokenizer.ggml.model");
  out.pre = text_or_empty(metadata, "tokenizer.ggml.pre");
  out.tokens.assign(lists.tokens.begin(), lists.tokens.end());
  out.merges.assign(lists.merges.begin(), lists.merges.end());
  out.token_types = lists.token_types;
  out.scores = lists.scores;
  out.bos_id = maybe_id(metadata, "bos");
  out.eos_id = maybe_id(metadata, "eos");
  out.eot_id = maybe_id(metadata, "eot");
  out.eom_id = maybe_id(metadata, "eom");
  out.unk_id = maybe_id(metadata, "unknown");
  out.pad_id = maybe_id(metadata, "padding");
  out.sep_id = maybe_id(metadata, "seperator");
  out.cls_id = maybe_id(metadata, "cls");
  out.add_bos = maybe_flag(metadata, "add_bos_token");
  out.add_eos = maybe_flag(metadata, "add_eos_token");
  out.add_space_prefix = maybe_flag(metadata, "add_space_prefix");
  out.remove_extra_whitespaces = maybe_flag(metadata, "remove_extra_whitespaces");
  const auto charsmap = header.arrays.find("tokenizer.ggml.precompiled_charsmap");
  if (charsmap != header.arrays.end()) {
    const auto bytes = charsmap->second.bytes;
    out.precompiled_charsmap.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return out;
}

/// What a byte-level vocabulary may lack without being refused, but not without a word.
std::vector<std::string> lacking(const GgufVocab& vocab) {
  std::vector<std::string> out;
  if (vocab.merges.empty()) return out;  // another kind, which checks its own lists
  if (vocab.token_types.empty())
    out.emplace_back("the file has no tokenizer.ggml.token_type: special tokens are read as plain text");
  if (vocab.pre.empty())
    out.emplace_back(
        "the file has no tokenizer.ggml.pre: text is split as \"default\", perhaps not as the model's");
  return out;
}

Result<TextSetup> load_gguf_text(const GgufHeader& header) {
  TextSetup out;
  if (header.metadata.find("tokenizer.ggml.tokens") == nullptr &&
      !header.arrays.contains("tokenizer.ggml.tokens"))
    return out;
  SKUA_ASSIGN_OR_RETURN(const GgufVocab vocab, read_vocab(header));
  SKUA_ASSIGN_OR_RETURN(out.tokenizer, tokenizer_from_gguf(vocab));
  if (const Json* source = header.metadata.find("tokenizer.chat_template")) out.templates.config = *source;
  out.end_ids = out.tokenizer->special_ids().eos;
  out.warnings = lacking(vocab);
  return out;
}

void add_ids(const Json* value, std::vector<int32_t>& out) {
  if (value == nullptr) return;
  if (value->kind() == Json::Kind::kInt && value->as_int() >= 0 && value->as_int() <= INT32_MAX) {
    out.push_back(static_cast<int32_t>(value->as_int()));
  }
  for (const Json& item : value->items()) add_ids(&item, out);
}

/// The text of a side file, or nothing when there is none.
Result<std::optional<std::string>> side_text(const Checkpoint& file, std::string_view name) {
  auto text = file.side_file(name);
  if (text.ok()) return std::optional<std::string>(std::move(text).value());
  if (text.status().code() == Code::kNotFound) return std::optional<std::string>();
  return text.status();
}

/// The tokenizer of vocab.json and merges.txt; null when both are missing.
Result<std::unique_ptr<Tokenizer>> load_pair(const Checkpoint& file, const Json& config) {
  SKUA_ASSIGN_OR_RETURN(auto vocab, side_text(file, "vocab.json"));
  SKUA_ASSIGN_OR_RETURN(auto merges, side_text(file, "merges.txt"));
  if (!vocab && !merges) return std::unique_ptr<Tokenizer>();
  const std::string start = "[text] " + file.source();
  if (!vocab || !merges) {
    return not_found(start + " has " + (vocab ? "vocab.json" : "merges.txt") + " but neither " +
                     (vocab ? "merges.txt" : "vocab.json") + ", which belongs to it, nor tokenizer.json");
  }
  VocabMergesFiles files{.vocab = std::move(*vocab), .merges = std::move(*merges), .config = config};
  SKUA_ASSIGN_OR_RETURN(files.special_tokens_map, side_json(file, "special_tokens_map.json"));
  SKUA_ASSIGN_OR_RETURN(files.added_tokens, side_json(file, "added_tokens.json"));
  files.model_type = text_or_empty(file.config(), "model_type");
  auto tokenizer = load_vocab_and_merges(files);
  if (!tokenizer.ok()) return tokenizer.status().with_context(start);
  return tokenizer;
}

/// tokenizer.json when there is one, else vocab.json with merges.txt, else null.
Result<std::unique_ptr<Tokenizer>> load_folder_tokenizer(const Checkpoint& file, const Json& config) {
  SKUA_ASSIGN_OR_RETURN(const auto text, side_text(file, "tokenizer.json"));
  if (!text) return load_pair(file, config);
  auto tokenizer = load_tokenizer_json(*text, config.is_null() ? nullptr : &config);
  if (!tokenizer.ok()) return tokenizer.status().with_context("[text] " + file.source() + ": tokenizer.json");
  return tokenizer;
}

}  // namespace

Result<TextSetup> load_text(const Checkpoint& file) {
  if (const GgufHeader* header = gguf_header(file)) return load_gguf_text(*header);
  TextSetup out;
  SKUA_ASSIGN_OR_RETURN(const Json generation, side_json(file, "generation_config.json"));
  add_ids(generation.find("eos_token_id"), out.end_ids);
  SKUA_ASSIGN_OR_RETURN(const Json config, side_json(file, "tokenizer_config.json"));
  SKUA_ASSIGN_OR_RETURN(out.tokenizer, load_folder_tokenizer(file, config));
  if (out.tokenizer == nullptr) return out;
  const auto& eos = out.tokenizer->special_ids().eos;
  out.end_ids.insert(out.end_ids.end(), eos.begin(), eos.end());
  const auto own = file.side_file("chat_template.jinja");
  if (!own.ok() && own.status().code() != Code::kNotFound) return own.status();
  if (own.ok()) out.templates.file = *own;
  if (const Json* source = config.find("chat_template")) out.templates.config = *source;
  return out;
}

}  // namespace skua
