// Table of the named pre-tokenizers. Each expression is the one in the tokenizer.json that the family
// publishes; the names are those of ggml-org/llama.cpp (src/llama-vocab.cpp, convert_hf_to_gguf_update.py).
#include "text/sources/gguf_pre.h"

#include "text/pre_tokenizers/pre_tokenizers.h"

namespace skua::text {
namespace {

// GPT-2's own rule is what a ByteLevel step with use_regex does; written out where something follows it.
constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
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

constexpr std::string_view kDeepSeekLetters =
    R"(\s?)"
    R"([A-Za-z\x{b5}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{1ba}\x{1bc}-\x{1bf}\x{1c4}-\x{293}\x{295}-\x{2af})"
    R"(\x{370}-\x{373}\x{376}\x{377}\x{37b}-\x{37d}\x{37f}\x{386}\x{388}-\x{38a}\x{38c}\x{38e}-\x{3a1})"
    R"(\x{3a3}-\x{3f5}\x{3f7}-\x{481}\x{48a}-\x{52f}\x{531}-\x{556}\x{10a0}-\x{10c5}\x{13a0}-\x{13f5})"
    R"(\x{13f8}-\x{13fd}\x{1c90}-\x{1cba}\x{1cbd}-\x{1cbf}\x{1d00}-\x{1d2b}\x{1d6b}-\x{1d77}\x{1d79}-)"
    R"(\x{1d9a}\x{1e00}-\x{1f15}\x{1f18}-\x{1f1d}\x{1f20}-\x{1f45}\x{1f48}-\x{1f4d}\x{1f50}-\x{1f57})"
    R"(\x{1f59}\x{1f5b}\x{1f5d}\x{1f5f}-\x{1f7d}\x{1f80}-\x{1fb4}\x{1fb6}-\x{1fbc}\x{1fbe}\x{1fc2}-\x{1fc4})"
    R"(\x{1fc6}-\x{1fcc}\x{1fd0}-\x{1fd3}\x{1fd6}-\x{1fdb}\x{1fe0}-\x{1fec}\x{1ff2}-\x{1ff4}\x{1ff6}-)"
    R"(\x{1ffc}\x{2102}\x{2107}\x{210a}-\x{2113}\x{2115}\x{2119}-\x{211d}\x{2124}\x{2126}\x{2128}\x{212a}-)"
    R"(\x{212d}\x{212f}-\x{2134}\x{2139}\x{213c}-\x{213f}\x{2145}-\x{2149}\x{214e}\x{2183}\x{2184}\x{2c00}-)"
    R"(\x{2c7b}\x{2c7e}-\x{2ce4}\x{2ceb}-\x{2cee}\x{2cf2}\x{2cf3}\x{a640}-\x{a66d}\x{a680}-\x{a69b}\x{a722})"
    R"(-\x{a76f}\x{a771}-\x{a787}\x{a78b}-\x{a78e}\x{ab70}-\x{abbf}\x{fb00}-\x{fb06}\x{fb13}-\x{fb17})"
    R"(\x{ff21}-\x{ff3a}\x{ff41}-\x{ff5a}\x{10400}-\x{1044f}\x{104b0}-\x{104d3}\x{104d8}-\x{104fb}\x{10c80})"
    R"(-\x{10cb2}\x{10cc0}-\x{10cf2}\x{118a0}-\x{118df}\x{1e900}-\x{1e943}]+)";
constexpr std::string_view kDeepSeekPunctuation =
    R"(\s?[!-/:-~\x{ff01}-\x{ff0f}\x{ff1a}-\x{ff5e}\x{2018}-\x{201f}\x{3000}-\x{3002}]+)";
constexpr std::string_view kBloom = R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{ff0c}\x{3001}\x{964}\x{6d4}\x{60c})]+)";
constexpr std::string_view kKimiK2 =
    R"([\p{Han}]+|[^\r\n\p{L}\p{N}]?(?:(?!\p{Han})[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])*(?:(?!\p{Han})[\p{Ll}\p{Lm}\p{Lo}\p{M}])+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?(?:(?!\p{Han})[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])+(?:(?!\p{Han})[\p{Ll}\p{Lm}\p{Lo}\p{M}])*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kBailing =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view kSeedCoder =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kUfakzeka =
    R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kExaoneMoe =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view kJais2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})";
constexpr std::string_view kMiniCpm5 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kO200kSingleDigits =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kYoutuRuns =
    R"([\x{ac00}-\x{d7a3}\x{3131}-\x{318e}]+|[\x{ff01}\x{2026}\x{201c}\x{201d}\x{2018}\x{2019}\x{2014}\x{ff1a}\x{ff1b}\x{ff0c}\x{3001}-\x{303f}\x{fe30}-\x{fe4f}]+|[\x{3105}-\x{312f}]+|[\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)";
constexpr std::string_view kAfmoeRuns =
    R"([\x{4e00}-\x{9fff}\x{3400}-\x{4dbf}\x{8c48}-\x{faff}\x{3040}-\x{309f}\x{30a0}-\x{30ff}\x{ff65}-\x{ff9f}\x{2f00}-\x{2fdf}\x{e40}-\x{e7f}\x{e80}-\x{eff}\x{1780}-\x{17ff}\x{1000}-\x{109f}\x{aa60}-\x{aa7f}\x{a9e0}-\x{a9ff}\x{ac00}-\x{d7af}\x{1100}-\x{11ff}]+)";
constexpr std::string_view kSpark =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+)";
// Runs of digits, then a cut before every three that are left: groups count from the right.
constexpr std::string_view kDigitRuns = R"(\p{N}+)";
constexpr std::string_view kDigitThrees = R"((?=(\d{3})+(?!\d)))";
constexpr std::string_view kNumberThrees = R"((?=(?:\p{N}{3})+(?!\p{N})))";
constexpr std::string_view kLineRuns = R"([^\n]+|[\n]+)";

// Names that are known and refused, with the reason.
constexpr std::pair<std::string_view, std::string_view> kRefused[] = {
    {"pixtral", "sources disagree on whether Llama 3's splitter is meant or Tekken's"},
    {"gemma4", "its vocabulary is spelled in characters, not in bytes"},
    {"granite-embed-multi-311m", "its vocabulary is spelled in characters, not in bytes"},
    {"sarvam-moe", "its vocabulary is spelled in characters, not in bytes"},
    {"whitespace", "its vocabulary is spelled in characters, not in bytes"},
    {"kormo", "whether it brings texts to NFC first is not known"},
    {"f2llmv2", "it belongs to embedding models"},
    {"granite-embed-multi-97m", "it belongs to embedding models"},
    {"jina-v5-nano", "it belongs to embedding models"},
    {"jina-es", "it belongs to embedding models"},
    {"jina-de", "it belongs to embedding models"},
    {"jina-v1-en", "it belongs to embedding models"},
    {"jina-v2-es", "it belongs to embedding models"},
    {"jina-v2-de", "it belongs to embedding models"},
    {"jina-v2-code", "it belongs to embedding models"},
    {"modern-bert", "it belongs to embedding models"},
    {"roberta-bpe", "it belongs to embedding models"},
};

// GPT-2's rule, alone or with digits apart.
std::vector<GgufPre> gpt2_kin() {
  return {
      {.name = "default", .splits = {R"([\p{P}\$\+<=>\^~\|]+)", kGpt2, kDigitRuns, "[0-9][0-9][0-9]"}},
      {.name = "gpt-2"},
      {.name = "gpt2"},
      {.name = "mpt"},
      {.name = "olmo"},
      {.name = "jais"},
      {.name = "phi-2"},
      {.name = "gigachat"},
      {.name = "a.x-4.0"},
      {.name = "mellum"},
      {.name = "exaone4"},
      {.name = "trillion"},
      {.name = "granite-docling"},
      {.name = "exaone", .digits_single = true},
      {.name = "smollm", .digits_single = true},
      {.name = "starcoder", .digits_single = true},
      {.name = "refact", .digits_single = true},
      {.name = "command-r", .digits_single = true},
      {.name = "codeshell", .digits_single = true},
      {.name = "minerva-7b", .digits_single = true},
      {.name = "mellum2", .digits_single = true},
  };
}

// One expression of the kind that Llama 3 and Qwen 2 use.
std::vector<GgufPre> llama3_kin() {
  return {
      {.name = "llama3", .splits = {kLlama3}, .ignore_merges = true, .add_bos = true},
      {.name = "llama-v3", .splits = {kLlama3}, .ignore_merges = true, .add_bos = true},
      {.name = "llama-bpe", .splits = {kLlama3}, .ignore_merges = true, .add_bos = true},
      {.name = "falcon3", .splits = {kLlama3}, .ignore_merges = true, .add_bos = true},
      {.name = "falcon-h1", .splits = {kLlama3}, .ignore_merges = true, .add_bos = true},
      {.name = "midm-2.0", .splits = {kLlama3}, .ignore_merges = true, .add_bos = true},
      {.name = "lfm2", .splits = {kLlama3}, .ignore_merges = true, .add_bos = true},
      {.name = "dbrx", .splits = {kLlama3}},
      {.name = "smaug-bpe", .splits = {kLlama3}},
      {.name = "glm4", .splits = {kLlama3}, .ignore_merges = true},
      {.name = "glm5", .splits = {kLlama3}, .ignore_merges = true},
      {.name = "chatglm-bpe", .splits = {kLlama3}},
      {.name = "qwen2", .splits = {kQwen2}, .nfc = true},
      {.name = "deepseek-r1-qwen", .splits = {kQwen2}, .nfc = true},
      {.name = "megrez", .splits = {kQwen2}, .nfc = true},
      {.name = "stablelm2", .splits = {kQwen2}},
      {.name = "hunyuan", .splits = {kQwen2}},
      {.name = "solar-open", .splits = {kQwen2}},
      {.name = "grok-2", .splits = {kQwen2}},
      {.name = "laguna", .splits = {kLineRuns, kQwen2}},
      {.name = "ufakzeka", .splits = {kUfakzeka}},
      {.name = "seed-coder", .splits = {kSeedCoder}},
      {.name = "bailingmoe", .splits = {kBailing}},
      {.name = "bailingmoe2", .splits = {kBailing}},
      {.name = "llada-moe", .splits = {kBailing}},
      {.name = "jais-2", .splits = {kJais2}},
      {.name = "exaone-moe", .splits = {kExaoneMoe}},
      {.name = "minicpm5", .splits = {kDigitGroups, kMiniCpm5}, .ignore_merges = true},
      {.name = "kimi-k2", .splits = {kKimiK2}},
      {.name = "qwen35", .splits = {kQwen35}, .nfc = true},
  };
}

// Cased words, and chains of steps.
std::vector<GgufPre> other_kin() {
  return {
      {.name = "gpt-4o", .splits = {kO200k}},
      {.name = "llama4", .splits = {kO200k}},
      {.name = "kanana2", .splits = {kO200k}},
      {.name = "talkie", .splits = {kO200k}},
      {.name = "minimax-m2", .splits = {kO200k}},
      {.name = "tiny_aya", .splits = {R"(\d{1,3}(?=(?:\d{3})*\b))", kO200k}},
      {.name = "cohere2moe", .splits = {R"(\d{1,3}(?=(?:\d{3})*\b))", kO200k}},
      {.name = "youtu", .splits = {kYoutuRuns, kO200kSingleDigits}, .ignore_merges = true},
      {.name = "bloom", .splits = {kBloom}},
      {.name = "poro-chat", .splits = {kBloom}},
      {.name = "gpt3-finnish", .splits = {kBloom}},
      {.name = "viking", .splits = {kBloom, "\\p{N}"}},
      {.name = "superbpe", .splits = {kDigitRuns, kDigitThrees}},
      {.name = "afmoe", .splits = {kDigitRuns, kNumberThrees, kAfmoeRuns, kDeepSeek3}},
      {.name = "chameleon",
       .splits = {"<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", "([\\t\\n]|    |  )", "\\p{N}",
                  R"([\p{P}!-/:-@\[-`{-~])", kGpt2},
       .add_bos = true},
      {.name = "tekken", .splits = {kTekken}, .ignore_merges = true, .add_bos = true},
      {.name = "deepseek-coder",
       .splits = {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", kEastAsianRuns, "\\p{N}"}},
      {.name = "deepseek-llm",
       .splits = {"[\\r\\n]", kDeepSeekLetters, kDeepSeekPunctuation, "\\s+$", kEastAsianRuns, "\\p{N}"}},
      {.name = "falcon", .falcon = true},
      {.name = "deepseek-v3", .splits = {kDigitGroups, kCjkRuns, kDeepSeek3}},
      {.name = "hunyuan-dense", .splits = {kDigitGroups, kCjkRuns, kDeepSeek3}},
      {.name = "joyai-llm", .splits = {kDigitGroups, kCjkRuns, kDeepSeek3}},
      {.name = "hy_v4", .splits = {kDigitGroups, kCjkRuns, kDeepSeek3}},
      {.name = "spark2_5", .splits = {kDigitGroups, kCjkRuns, kSpark, "\\p{N}"}},
  };
}

const std::vector<GgufPre>& table() {
  static const std::vector<GgufPre> made = [] {
    std::vector<GgufPre> all;
    for (const auto& kin : {gpt2_kin(), llama3_kin(), other_kin()})
      all.insert(all.end(), kin.begin(), kin.end());
    return all;
  }();
  return made;
}

}  // namespace

Result<const GgufPre*> find_gguf_pre(std::string_view name) {
  for (const auto& [refused, reason] : kRefused) {
    if (refused != name) continue;
    return unsupported("[gguf] pre-tokenizer \"" + std::string(name) +
                       "\" is not supported: " + std::string(reason));
  }
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
