// Table of the named pre-tokenizers. Each expression is the one in the tokenizer.json that the family
// publishes; the names are those of ggml-org/llama.cpp (src/llama-vocab.cpp, convert_hf_to_gguf_update.py).
#include "text/sources/gguf_pre.h"

#include "text/pre_tokenizers/pre_tokenizers.h"

namespace skua::text {
namespace {

// GPT-2's own rule is what a ByteLevel step with use_regex does.
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kO200k =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kDigitGroups = R"(\p{N}{1,3})";
constexpr std::string_view kCjkRuns = "[一-龥\u3040-ゟ゠-ヿ]+";
constexpr std::string_view kEastAsianRuns = "[一-龥ࠀ-一가-퟿]+";
constexpr std::string_view kDeepSeek3 =
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| "
    "?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

const std::vector<GgufPre>& table() {
  static const std::vector<GgufPre> made = {
      {.name = "default"},
      {.name = "gpt-2"},
      {.name = "gpt2"},
      {.name = "mpt"},
      {.name = "olmo"},
      {.name = "jais"},
      {.name = "phi-2"},
      {.name = "exaone", .digits_single = true},
      {.name = "smollm", .digits_single = true},
      {.name = "starcoder", .digits_single = true},
      {.name = "refact", .digits_single = true},
      {.name = "command-r", .digits_single = true},
      {.name = "codeshell", .digits_single = true},
      {.name = "llama3", .splits = {kLlama3}, .ignore_merges = true, .add_bos = true},
      {.name = "llama-v3", .splits = {kLlama3}, .ignore_merges = true, .add_bos = true},
      {.name = "llama-bpe", .splits = {kLlama3}, .ignore_merges = true, .add_bos = true},
      {.name = "falcon3", .splits = {kLlama3}, .ignore_merges = true, .add_bos = true},
      {.name = "dbrx", .splits = {kLlama3}},
      {.name = "smaug-bpe", .splits = {kLlama3}},
      {.name = "glm4", .splits = {kLlama3}},
      {.name = "chatglm-bpe", .splits = {kLlama3}},
      {.name = "qwen2", .splits = {kQwen2}, .nfc = true},
      {.name = "deepseek-r1-qwen", .splits = {kQwen2}, .nfc = true},
      {.name = "megrez", .splits = {kQwen2}, .nfc = true},
      {.name = "stablelm2", .splits = {kQwen2}},
      {.name = "hunyuan", .splits = {kQwen2}},
      {.name = "qwen35", .splits = {kQwen35}, .nfc = true},
      {.name = "gpt-4o", .splits = {kO200k}},
      {.name = "llama4", .splits = {kO200k}},
      {.name = "tekken", .splits = {kTekken}, .ignore_merges = true, .add_bos = true},
      {.name = "deepseek-coder",
       .splits = {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", kEastAsianRuns, "\\p{N}"}},
      {.name = "falcon", .falcon = true},
      {.name = "deepseek-v3", .splits = {kDigitGroups, kCjkRuns, kDeepSeek3}},
  };
  return made;
}

}  // namespace

Result<const GgufPre*> find_gguf_pre(std::string_view name) {
  std::string known;
  for (const GgufPre& pre : table()) {
    if (pre.name == name) return &pre;
    known += (known.empty() ? "" : ", ") + std::string(pre.name);
  }
  return unsupported("[gguf] unknown pre-tokenizer \"" + std::string(name) + "\"; known: " + known);
}

namespace {

// Runs of punctuation, GPT-2's rule, runs of digits, and those in threes.
Result<std::unique_ptr<PreTokenizer>> make_falcon() {
  std::vector<std::unique_ptr<PreTokenizer>> parts;
  parts.push_back(make_punctuation(Behavior::kContiguous));
  SKUA_ASSIGN_OR_RETURN(auto bytes, make_byte_level({.add_prefix_space = false, .use_regex = true}));
  parts.push_back(std::move(bytes));
  parts.push_back(make_digits(Behavior::kContiguous));
  SKUA_ASSIGN_OR_RETURN(Pattern threes, Pattern::regex("[0-9][0-9][0-9]"));
  parts.push_back(make_split(std::move(threes), Behavior::kIsolated, Invert::kNo));
  return make_sequence(std::move(parts));
}

}  // namespace

Result<std::unique_ptr<PreTokenizer>> make_gguf_pre_tokenizer(const GgufPre& pre) {
  if (pre.falcon) return make_falcon();
  std::vector<std::unique_ptr<PreTokenizer>> parts;
  if (pre.digits_single) parts.push_back(make_digits(Behavior::kIsolated));
  for (const std::string_view expression : pre.splits) {
    SKUA_ASSIGN_OR_RETURN(Pattern pattern, Pattern::regex(expression));
    parts.push_back(make_split(std::move(pattern), Behavior::kIsolated, Invert::kNo));
  }
  SKUA_ASSIGN_OR_RETURN(auto bytes,
                        make_byte_level({.add_prefix_space = false, .use_regex = pre.splits.empty()}));
  parts.push_back(std::move(bytes));
  return make_sequence(std::move(parts));
}

}  // namespace skua::text
