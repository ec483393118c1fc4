// vocab.json and merges.txt to a byte-level BPE pipeline. Which tokenizer classes are of that kind, and how
// each of them splits, is decided here. Source: huggingface/transformers 5 (models/gpt2, models/qwen2,
// models/auto/tokenization_auto.py).
#include <algorithm>
#include <array>
#include <unordered_set>

#include "text/decoders/decoders.h"
#include "text/models/bpe.h"
#include "text/models/models.h"
#include "text/normalizers/normalizers.h"
#include "text/pipeline.h"
#include "text/post_processors/post_processors.h"
#include "text/pre_tokenizers/pre_tokenizers.h"
#include "text/sources/gguf_pre.h"
#include "text/sources/slow_tokens.h"
#include "text/vocab_files.h"

namespace skua::text {
namespace {

enum class Family : uint8_t { kGpt2, kQwen2 };

struct Known {
  std::string_view name;
  Family family;
};
constexpr std::array<Known, 6> kClasses = {{{"GPT2Tokenizer", Family::kGpt2},
                                            {"GPT2TokenizerFast", Family::kGpt2},
                                            {"CodeGenTokenizer", Family::kGpt2},
                                            {"CodeGenTokenizerFast", Family::kGpt2},
                                            {"Qwen2Tokenizer", Family::kQwen2},
                                            {"Qwen2TokenizerFast", Family::kQwen2}}};
// For checkpoints that name no class.
constexpr std::array<Known, 10> kModelTypes = {{{"gpt2", Family::kGpt2},
                                                {"gpt_neo", Family::kGpt2},
                                                {"gptj", Family::kGpt2},
                                                {"opt", Family::kGpt2},
                                                {"codegen", Family::kGpt2},
                                                {"phi", Family::kGpt2},
                                                {"qwen2", Family::kQwen2},
                                                {"qwen2_moe", Family::kQwen2},
                                                {"qwen3", Family::kQwen2},
                                                {"qwen3_moe", Family::kQwen2}}};

// Classes with the same two files and other rules, without "Tokenizer".
constexpr std::array<std::string_view, 14> kNotByteLevel = {
    "CLIP",   "OpenAIGPT", "CTRL",     "XLM",      "Flaubert",        "FSMT",      "Herbert",
    "BioGpt", "Phobert",   "Bertweet", "Reformer", "BlenderbotSmall", "CodeLlama", "Siglip2"};
constexpr std::array<std::string_view, 9> kOwnTemplate = {
    "Roberta", "Bart", "LED", "Longformer", "Deberta", "Luke", "LayoutLMv3", "Blenderbot", "Whisper"};

template <size_t N>
bool has(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

template <size_t N>
const Known* look_up(const std::array<Known, N>& table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const Known& k) { return k.name == name; });
  return found == table.end() ? nullptr : found;
}

Result<Family> family_of_class(const std::string& name) {
  if (const Known* known = look_up(kClasses, name)) return known->family;
  std::string_view stem = name;
  if (stem.ends_with("Fast")) stem.remove_suffix(4);
  if (stem.ends_with("Tokenizer")) stem.remove_suffix(9);
  const std::string start = "tokenizer_class \"" + name + "\"";
  if (has(kNotByteLevel, stem)) {
    return unsupported(start + " is not byte-level BPE; its vocab.json and merges.txt need a tokenizer.json");
  }
  if (has(kOwnTemplate, stem)) {
    return unsupported(start + " puts tokens of its own around texts; it is read from tokenizer.json only");
  }
  std::string names;
  for (const Known& known : kClasses) names += (names.empty() ? "" : ", ") + std::string(known.name);
  return unsupported(start + " is not known; vocab.json and merges.txt are read for " + names +
                     ", everything else from tokenizer.json");
}

Result<Family> family_of(const VocabMergesFiles& files) {
  const Json* name = files.config.find("tokenizer_class");
  if (name != nullptr && !name->is_null()) {
    if (!name->is_string())
      return invalid_argument("tokenizer_config.json: tokenizer_class must be a string");
    return family_of_class(name->as_string());
  }
  if (const Known* known = look_up(kModelTypes, files.model_type)) return known->family;
  return unsupported("no tokenizer_class in tokenizer_config.json, and model_type \"" + files.model_type +
                     "\" does not tell how vocab.json and merges.txt are meant; tokenizer.json would");
}

std::string line_name(std::string_view file, size_t n) {
  return std::string(file) + " line " + std::to_string(n);
}

// Every line of merges.txt is a merge, but for those that begin with #version and empty ones.
Status read_merges(std::string_view text, BpeSpec& bpe) {
  for (size_t n = 1; !text.empty(); ++n) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with("#version")) continue;
    const size_t space = line.find(' ');
    if (space == std::string_view::npos || space == 0 || space + 1 == line.size() ||
        line.find(' ', space + 1) != std::string_view::npos) {
      return invalid_argument(line_name("merges.txt", n) + " is not two tokens with a space between: \"" +
                              std::string(line.substr(0, 80)) + "\"");
    }
    const Status added = add_merge(bpe, line.substr(0, space), line.substr(space + 1));
    if (!added.ok()) return added.with_context(line_name("merges.txt", n));
  }
  return ok_status();
}

// "vocab.json", with the line of the entry that made the second of two equal ids; files of one line, and
// entries spelled with escapes, get no number.
std::string place_of_twin(std::string_view text, const Json& vocab) {
  std::unordered_set<int64_t> seen;
  for (const auto& [token, id] : vocab.members()) {
    if (id.kind() != Json::Kind::kInt || seen.insert(id.as_int()).second) continue;
    const size_t at = text.find(Json(token).dump());
    const auto line =
        static_cast<size_t>(std::count(
            text.begin(), text.begin() + static_cast<ptrdiff_t>(std::min(at, text.size())), '\n')) +
        1;
    return at == std::string_view::npos || line == 1 ? "vocab.json" : line_name("vocab.json", line);
  }
  return "vocab.json";
}

Result<std::unique_ptr<Model>> read_model(const VocabMergesFiles& files) {
  BpeSpec bpe;
  const auto vocab = parse_json(files.vocab, 4);
  if (!vocab.ok()) return vocab.status().with_context("vocab.json");
  if (!vocab->is_object() || vocab->size() == 0)
    return invalid_argument("vocab.json must hold an object of tokens and ids");
  auto table = load_vocab_table(*vocab, "vocab.json");
  if (!table.ok()) return load_vocab_table(*vocab, place_of_twin(files.vocab, *vocab)).status();
  bpe.vocab = std::move(table).value();
  SKUA_RETURN_IF_ERROR(read_merges(files.merges, bpe));
  return make_bpe(std::move(bpe));
}

Result<bool> flag(const Json& config, std::string_view key) {
  const Json* value = config.find(key);
  if (value == nullptr || value->is_null()) return false;
  if (!value->is_bool())
    return invalid_argument("tokenizer_config.json: " + std::string(key) + " must be true or false");
  return value->as_bool();
}

Result<std::unique_ptr<PreTokenizer>> make_splitter(Family family, bool prefix_space) {
  if (family == Family::kGpt2) return make_byte_level({.add_prefix_space = prefix_space, .use_regex = true});
  SKUA_ASSIGN_OR_RETURN(const GgufPre* qwen, find_gguf_pre("qwen2"));
  SKUA_ASSIGN_OR_RETURN(Pattern pattern, Pattern::regex(qwen->splits[0]));
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  steps.push_back(make_split(std::move(pattern), Behavior::kIsolated, Invert::kNo));
  SKUA_ASSIGN_OR_RETURN(auto bytes, make_byte_level({.add_prefix_space = prefix_space, .use_regex = false}));
  steps.push_back(std::move(bytes));
  return make_sequence(std::move(steps));
}

const RoleDefaults& defaults_of(Family family) {
  static constexpr std::string_view kEnd = "<|endoftext|>";
  static const RoleDefaults gpt2 = {{"bos_token", kEnd}, {"eos_token", kEnd}, {"unk_token", kEnd}};
  static const RoleDefaults qwen2 = {{"eos_token", kEnd}, {"unk_token", kEnd}, {"pad_token", kEnd}};
  return family == Family::kGpt2 ? gpt2 : qwen2;
}

Result<std::unique_ptr<PostProcessor>> make_around(const Json& config, const SpecialIds& ids) {
  SKUA_ASSIGN_OR_RETURN(const bool bos, flag(config, "add_bos_token"));
  SKUA_ASSIGN_OR_RETURN(const bool eos, flag(config, "add_eos_token"));
  std::vector<TemplateItem> items;
  if (bos && ids.bos) items.push_back({false, {*ids.bos}});
  items.push_back({true, {}});
  if (eos && !ids.eos.empty()) items.push_back({false, {ids.eos[0]}});
  return items.size() == 1 ? nullptr : make_template_processor(std::move(items));
}

Result<std::unique_ptr<Tokenizer>> load_pair(const VocabMergesFiles& files) {
  SKUA_ASSIGN_OR_RETURN(const Family family, family_of(files));
  PipelineSpec spec;
  SKUA_ASSIGN_OR_RETURN(spec.model, read_model(files));
  SKUA_ASSIGN_OR_RETURN(const bool prefix_space, flag(files.config, "add_prefix_space"));
  SKUA_ASSIGN_OR_RETURN(spec.pre_tokenizer, make_splitter(family, prefix_space));
  if (family == Family::kQwen2) spec.normalizer = make_unicode_normalizer(NormalForm::kNfc);
  SKUA_ASSIGN_OR_RETURN(SlowTokens tokens,
                        read_slow_tokens(files, defaults_of(family), *spec.model, spec.notes));
  spec.added_tokens = std::move(tokens.added);
  spec.special = std::move(tokens.special);
  SKUA_ASSIGN_OR_RETURN(spec.post_processor, make_around(files.config, spec.special));
  spec.decoder = make_byte_level_decoder();
  spec.spelling = TokenSpelling::kByteLevel;
  return make_pipeline(std::move(spec), SpecialGuess::kEndOfTurn);
}

}  // namespace
}  // namespace skua::text

namespace skua {

Result<std::unique_ptr<Tokenizer>> load_vocab_and_merges(const VocabMergesFiles& files) {
  return text::load_pair(files);
}

}  // namespace skua
