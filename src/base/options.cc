// The table of options and the values that came in. Reading a command line is the program's business.
#include "base/options.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/check.h"

namespace skua {
namespace {

using enum OptionType;
constexpr double kMaxCount = 16777216;

// Designated initialisers leave out what an option does not have.
constexpr OptionInfo kOptions[] = {
    {.id = Opt::kModel,
     .name = "model",
     .aliases = "-m",
     .value = "MODEL",
     .low = 1,
     .help = "a model file or folder, a name in the store, or ORG/NAME in a Hugging Face cache"},
    {.id = Opt::kPrompt, .name = "prompt", .aliases = "-p", .value = "TEXT", .help = "the message to answer"},
    {.id = Opt::kRaw,
     .name = "raw",
     .type = kFlag,
     .help = "continue the text as it is, without the chat template"},
    {.id = Opt::kSystem,
     .name = "system",
     .aliases = "--system-prompt",
     .value = "TEXT",
     .help = "system message put before the conversation"},
    {.id = Opt::kMessages,
     .name = "messages",
     .aliases = "-f",
     .value = "FILE",
     .low = 1,
     .help = "JSON file: a list of {\"role\", \"content\"}, or an object with \"messages\" and \"tools\""},
    {.id = Opt::kMaxTokens,
     .name = "max-tokens",
     .aliases = "-n,--n-predict,--predict",
     .value = "N",
     .type = kInteger,
     .initial = "-1",
     .low = 1,
     .high = kMaxCount,
     .special = "-1",
     .meaning = "until the reply or the context ends",
     .help = "most tokens of a reply"},
    {.id = Opt::kTemperature,
     .name = "temperature",
     .aliases = "--temp",
     .value = "X",
     .type = kNumber,
     .initial = "0",
     .low = 0,
     .high = 100,
     .help = "how freely tokens are drawn; 0 always takes the likeliest"},
    {.id = Opt::kTopK,
     .name = "top-k",
     .value = "N",
     .type = kInteger,
     .initial = "40",
     .low = 0,
     .high = kMaxCount,
     .help = "draw among the N likeliest tokens; 0 is off"},
    {.id = Opt::kTopP,
     .name = "top-p",
     .value = "X",
     .type = kNumber,
     .initial = "0.95",
     .low = 0,
     .high = 1,
     .help = "draw among the likeliest tokens that together have probability X; 1 is off"},
    {.id = Opt::kMinP,
     .name = "min-p",
     .value = "X",
     .type = kNumber,
     .initial = "0.05",
     .low = 0,
     .high = 1,
     .help = "leave out tokens less likely than X times the likeliest; 0 is off"},
    {.id = Opt::kRepetitionPenalty,
     .name = "repetition-penalty",
     .aliases = "--repeat-penalty",
     .value = "X",
     .type = kNumber,
     .initial = "1",
     .low = 0.01,
     .high = 100,
     .help = "makes tokens of the last --repeat-last-n less likely; 1 is off"},
    {.id = Opt::kRepeatLastN,
     .name = "repeat-last-n",
     .value = "N",
     .type = kInteger,
     .initial = "64",
     .low = 0,
     .high = kMaxCount,
     .special = "-1",
     .meaning = "all",
     .help = "tokens that the repetition penalty looks at"},
    {.id = Opt::kSeed,
     .name = "seed",
     .aliases = "-s",
     .value = "N",
     .type = kSeed,
     .initial = "0",
     .special = "random",
     .meaning = "another one each time",
     .help = "same seed, same prompt and same options: same reply"},
    {.id = Opt::kStop,
     .name = "stop",
     .aliases = "-r,--reverse-prompt",
     .value = "TEXT",
     .type = kTextList,
     .low = 1,
     .high = 4096,
     .help = "end the reply before this text; may be given several times"},
    {.id = Opt::kContext,
     .name = "context",
     .aliases = "-c,--ctx-size,--num-ctx",
     .value = "N",
     .type = kInteger,
     .initial = "0",
     .low = 1,
     .high = kMaxCount,
     .special = "0",
     .meaning = "what the model allows, at most 8192",
     .help = "tokens that prompt and reply may have together"},
    {.id = Opt::kThreads,
     .name = "threads",
     .aliases = "-t",
     .value = "N",
     .type = kInteger,
     .initial = "0",
     .low = 1,
     .high = 1024,
     .special = "0",
     .meaning = "one per CPU",
     .help = "threads to compute with"},
    {.id = Opt::kBackend,
     .name = "backend",
     .value = "NAME",
     .type = kChoice,
     .initial = "cpu",
     .choices = "cpu,ref",
     .help = "what computes; ref is the slow float64 reference"},
    {.id = Opt::kCompute,
     .name = "compute",
     .value = "TYPE",
     .type = kChoice,
     .initial = "auto",
     .choices = "auto,native,f32,f64,rounded",
     .help = "arithmetic: f32 or native (integer dots of rounded activations) on cpu, auto being native "
             "where that costs "
             "little; f64 or rounded on ref"},
    {.id = Opt::kIsa,
     .name = "isa",
     .value = "NAME",
     .type = kChoice,
     .initial = "auto",
     .choices = "auto,avx2,avx512",
     .help = "instructions of the cpu backend"},
    {.id = Opt::kMlaPrefill,
     .name = "mla-prefill",
     .value = "HOW",
     .type = kChoice,
     .initial = "exact",
     .choices = "exact,fast",
     .help =
         "latent attention over prompts: exact is absorbed everywhere, one arithmetic; fast decompresses "
         "keys and values for steps with many tokens of a prompt. With fast a reply still does not depend "
         "on threads, on the run, on speculation, or on sequences that decode beside it; it may depend on "
         "how the prompt was cut into steps (other prompts at the same time, preemption) and on prefix "
         "hits. Saved states of the two do not mix"},
    {.id = Opt::kCacheType,
     .name = "cache-type",
     .value = "TYPE",
     .type = kChoice,
     .initial = "f32",
     .choices = "f32,f16,bf16",
     .help =
         "how keys and values of heads are kept (cpu): f16 and bf16 take half the memory and less time at "
         "long contexts, and round; f16 is the finer one but ends at 65504: what lies beyond is kept as "
         "65504, and counted. Latent rows and recurrent states stay f32. Saved states of two types do not "
         "mix"},
    {.id = Opt::kAllowUnknownConfig,
     .name = "allow-unknown-config",
     .type = kFlag,
     .help = "load a model though its config has keys that skua does not know"},
    {.id = Opt::kHome,
     .name = "home",
     .value = "DIR",
     .low = 1,
     .help = "folder of the model store (default: $XDG_DATA_HOME/skua, else ~/.local/share/skua)"},
    {.id = Opt::kJson, .name = "json", .type = kFlag, .help = "print JSON"},
    {.id = Opt::kTensors, .name = "tensors", .type = kFlag, .help = "list every tensor"},
    {.id = Opt::kPlan, .name = "plan", .type = kFlag, .help = "print the plan of one step"},
    {.id = Opt::kDot, .name = "dot", .type = kFlag, .help = "print the plan as a graph for Graphviz"},
    {.id = Opt::kTokens,
     .name = "tokens",
     .value = "N",
     .type = kInteger,
     .initial = "1",
     .low = 1,
     .high = 65536,
     .help = "tokens of the step that --plan and --dot show"},
    {.id = Opt::kPromptTokens,
     .name = "prompt-tokens",
     .aliases = "-p,--prompt,--n-prompt",
     .value = "N",
     .type = kInteger,
     .initial = "512",
     .low = 1,
     .high = kMaxCount,
     .help = "tokens of the prompt"},
    {.id = Opt::kGenTokens,
     .name = "gen-tokens",
     .aliases = "-n,--gen,--n-gen",
     .value = "N",
     .type = kInteger,
     .initial = "64",
     .low = 2,
     .high = kMaxCount,
     .help = "tokens to generate"},
    {.id = Opt::kRepeat,
     .name = "repeat",
     .aliases = "-r,--repetitions",
     .value = "N",
     .type = kInteger,
     .initial = "3",
     .low = 1,
     .high = 1000,
     .help = "runs; the median counts"},
    {.id = Opt::kSequences,
     .name = "sequences",
     .value = "N",
     .type = kInteger,
     .initial = "1",
     .low = 1,
     .high = 256,
     .help = "with more than 1, also measures this many replies made together"},
    {.id = Opt::kPlain,
     .name = "plain",
     .type = kFlag,
     .help = "the text as a user types it: no token is added, and markup is spelled out"},
    {.id = Opt::kFileLimits,
     .name = "file-limits",
     .type = kFlag,
     .help = "apply the truncation and padding that tokenizer.json asks for"},
    {.id = Opt::kOutput,
     .name = "output",
     .aliases = "-o",
     .value = "FILE",
     .low = 1,
     .help = "where the replies go; what it holds from an earlier run is not done again (default: stdout)"},
    {.id = Opt::kParallel,
     .name = "parallel",
     .aliases = "--n-parallel",
     .value = "N",
     .type = kInteger,
     .initial = "32",
     .low = 1,
     .high = 256,
     .help = "replies made at the same time"},
    {.id = Opt::kCacheTokens,
     .name = "cache-tokens",
     .value = "N",
     .type = kInteger,
     .initial = "0",
     .low = 1,
     .high = kMaxCount,
     .special = "0",
     .meaning = "whole contexts",
     .help = "tokens that the key and value cache holds, of all replies together"},
    {.id = Opt::kSpeculate,
     .name = "speculate",
     .value = "HOW",
     .type = kChoice,
     .initial = "auto",
     .choices = "auto,off,lookup,draft",
     .help = "guess tokens ahead, from the text so far or with a draft model; never changes a reply"},
    {.id = Opt::kDraft,
     .name = "draft",
     .aliases = "--model-draft",
     .value = "MODEL",
     .low = 1,
     .help = "a smaller model with the same vocabulary that guesses for the first"},
    {.id = Opt::kMaxDraft,
     .name = "max-draft",
     .aliases = "--draft-max",
     .value = "N",
     .type = kInteger,
     .initial = "8",
     .low = 1,
     .high = 15,
     .help = "tokens guessed at a time"},
    {.id = Opt::kTrace,
     .name = "trace",
     .value = "FILE",
     .low = 1,
     .help = "write a timeline of steps and requests for Perfetto or chrome://tracing"},
    {.id = Opt::kFile,
     .name = "file",
     .aliases = "-f",
     .value = "FILE",
     .low = 1,
     .help = "the text to read (default: stdin)"},
    {.id = Opt::kWindow,
     .name = "window",
     .value = "N",
     .type = kInteger,
     .initial = "1024",
     .low = 2,
     .high = kMaxCount,
     .help = "tokens that the model sees at once"},
    {.id = Opt::kDocuments,
     .name = "documents",
     .type = kFlag,
     .help = "blank lines part documents: put the model's end token in their place, tokenize each by itself"},
    {.id = Opt::kAgainst,
     .name = "against",
     .value = "TYPE",
     .type = kChoice,
     .initial = "none",
     .choices = "none,f32,native",
     .help = "run once more with this --compute and print the loss against it, and for how many tokens both "
             "think the same one likeliest"},
    {.id = Opt::kQuant,
     .name = "quant",
     .value = "BITS",
     .type = kChoice,
     .initial = "4",
     .choices = "2,3,4,5,6,8,none",
     .help = "bits of a weight (MLX affine), or none for bf16"},
    {.id = Opt::kGroup,
     .name = "group",
     .value = "N",
     .type = kChoice,
     .initial = "64",
     .choices = "32,64,128",
     .help = "weights that share a scale and an offset"},
    {.id = Opt::kOut,
     .name = "out",
     .value = "DIR",
     .low = 1,
     .help = "the folder to make; it must not exist"},
    {.id = Opt::kRule,
     .name = "rule",
     .value = "PART=BITS",
     .type = kTextList,
     .help = "other bits (PART=8, PART=6:32) or none (PART=none) for modules whose path holds PART; the last "
             "one that "
             "fits counts"},
    {.id = Opt::kInMemory,
     .name = "in-memory",
     .type = kFlag,
     .help =
         "MODEL is a config or the name of a known geometry; weights are random, as skua synth makes them"},
    {.id = Opt::kVerbose,
     .name = "verbose",
     .aliases = "-v",
     .type = kFlag,
     .help = "say on stderr what ran: backend, kernels, memory, what was loaded"},
};
static_assert(std::size(kOptions) == static_cast<size_t>(Opt::kCount));

std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

template <typename T>
std::optional<T> parse(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> out;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    out.push_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return out;
}

/// "1", "0" or nothing.
std::string_view flag_value(std::string_view text) {
  for (std::string_view yes : {"1", "true", "on", "yes"})
    if (text == yes) return "1";
  for (std::string_view no : {"0", "false", "off", "no"})
    if (text == no) return "0";
  return "";
}

bool is_allowed(const OptionInfo& option, std::string_view text) {
  if (!option.special.empty() && text == option.special) return true;
  const auto in_range = [&](auto value) {
    return value && static_cast<double>(*value) >= option.low && static_cast<double>(*value) <= option.high;
  };
  switch (option.type) {
    case kText:
    case kTextList:
      return static_cast<double>(text.size()) >= option.low &&
             (option.high == 0 || static_cast<double>(text.size()) <= option.high);
    case kInteger:
      return in_range(parse<int64_t>(text));
    case kNumber:
      return in_range(parse<double>(text));
    case kSeed:
      return parse<uint64_t>(text).has_value();
    case kChoice: {
      const auto choices = split(option.choices);
      return std::find(choices.begin(), choices.end(), text) != choices.end();
    }
    case kFlag:
      return !flag_value(text).empty();
  }
  return false;
}

std::string short_number(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::general).ptr;
  return value == static_cast<double>(static_cast<int64_t>(value))
             ? std::to_string(static_cast<int64_t>(value))
             : std::string(text, end);
}

}  // namespace

std::span<const OptionInfo> all_options() { return kOptions; }

const OptionInfo& option_info(Opt id) {
  SKUA_CHECK(id < Opt::kCount);
  const OptionInfo& option = kOptions[static_cast<size_t>(id)];
  SKUA_CHECK(option.id == id);
  return option;
}

const OptionInfo* find_option(std::string_view name) {
  std::string wanted(name);
  std::replace(wanted.begin(), wanted.end(), '_', '-');
  const std::string bare = wanted.substr(std::min(wanted.find_first_not_of('-'), wanted.size()));
  for (const OptionInfo& option : kOptions)
    if (option.name == bare) return &option;
  for (const OptionInfo& option : kOptions) {
    for (std::string_view alias : split(option.aliases)) {
      if (alias == wanted || (alias.starts_with("--") && alias.substr(2) == bare)) return &option;
    }
  }
  return nullptr;
}

std::string variable_name(const OptionInfo& option) {
  std::string out = "SKUA_" + std::string(option.name);
  for (char& c : out) c = c == '-' ? '_' : (c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
  return out;
}

std::string allowed_values(const OptionInfo& option) {
  std::string out;
  switch (option.type) {
    case kText:
    case kTextList:
      if (option.high > 0)
        return "a text of " + short_number(option.low) + " to " + short_number(option.high) + " bytes";
      return option.low > 0 ? "a text that is not empty" : "a text";
    case kInteger:
    case kNumber:
      out = (option.type == kInteger ? "a whole number from " : "a number from ") + short_number(option.low) +
            " to " + short_number(option.high);
      break;
    case kSeed:
      out = "a whole number from 0 to 18446744073709551615";
      break;
    case kChoice:
      out = "one of";
      for (std::string_view choice : split(option.choices))
        out += (out == "one of" ? " " : ", ") + std::string(choice);
      break;
    case kFlag:
      out = "1, 0, true, false, on, off, yes or no";
      break;
  }
  if (!option.special.empty()) {
    out += ", or " + std::string(option.special) + " (" + std::string(option.meaning) + ")";
  }
  return out;
}

Status OptionValues::set(Opt id, std::string_view text, OptionSource source, std::string_view shown_as) {
  const OptionInfo& option = option_info(id);
  if (!is_allowed(option, text)) {
    constexpr size_t kShown = 200;
    const std::string shown =
        text.size() <= kShown ? "'" + std::string(text) + "'" : std::to_string(text.size()) + " bytes";
    return invalid_argument(std::string(shown_as) + ": expected " + allowed_values(option) + ", got " +
                            shown);
  }
  Value& value = values_[static_cast<size_t>(id)];
  if (option.type != kTextList || value.source != source) value.texts.clear();
  value.texts.emplace_back(option.type == kFlag ? flag_value(text) : text);
  value.source = source;
  return ok_status();
}

Status OptionValues::set_from_environment(std::span<const Opt> ids) {
  for (Opt id : ids) {
    const std::string name = variable_name(option_info(id));
    const auto text = environment(name);
    if (!text || source(id) > OptionSource::kEnvironment) continue;
    SKUA_RETURN_IF_ERROR(set(id, *text, OptionSource::kEnvironment, name));
  }
  return ok_status();
}

std::string OptionValues::text(Opt id) const {
  const OptionInfo& option = option_info(id);
  SKUA_CHECK(option.type != kTextList);
  return at(id).texts.empty() ? std::string(option.initial) : at(id).texts.front();
}

const std::vector<std::string>& OptionValues::texts(Opt id) const {
  SKUA_CHECK(option_info(id).type == kTextList);
  return at(id).texts;
}

int64_t OptionValues::integer(Opt id) const {
  SKUA_CHECK(option_info(id).type == kInteger);
  return parse<int64_t>(text(id)).value();
}

double OptionValues::number(Opt id) const {
  SKUA_CHECK(option_info(id).type == kNumber);
  return parse<double>(text(id)).value();
}

bool OptionValues::flag(Opt id) const {
  SKUA_CHECK(option_info(id).type == kFlag);
  return text(id) == "1";
}

std::optional<uint64_t> OptionValues::seed(Opt id) const {
  SKUA_CHECK(option_info(id).type == kSeed);
  return parse<uint64_t>(text(id));
}

ModelFolders model_folders(const OptionValues& values) {
  namespace fs = std::filesystem;
  const fs::path user = environment("HOME").value_or(".");
  ModelFolders out;
  if (values.given(Opt::kHome)) {
    out.home = values.text(Opt::kHome);
  } else {
    const auto data = environment("XDG_DATA_HOME");
    out.home = (data ? fs::path(*data) : user / ".local" / "share") / "skua";
  }
  if (const auto hub = environment("HF_HUB_CACHE")) out.hub_caches.emplace_back(*hub);
  if (const auto home = environment("HF_HOME")) out.hub_caches.push_back(fs::path(*home) / "hub");
  if (out.hub_caches.empty()) {
    const auto cache = environment("XDG_CACHE_HOME");
    out.hub_caches.push_back((cache ? fs::path(*cache) : user / ".cache") / "huggingface" / "hub");
  }
  return out;
}

}  // namespace skua
