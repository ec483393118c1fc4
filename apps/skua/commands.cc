// Which commands there are and which options each one takes.
#include "skua/commands.h"

namespace skua {
namespace {

const std::vector<Opt> kWhere = {Opt::kHome, Opt::kVerbose};
const std::vector<Opt> kCompute = {Opt::kThreads,    Opt::kBackend,   Opt::kCompute,           Opt::kIsa,
                                   Opt::kMlaPrefill, Opt::kCacheType, Opt::kAllowUnknownConfig};
const std::vector<Opt> kSampling = {Opt::kMaxTokens,   Opt::kTemperature, Opt::kTopK,
                                    Opt::kTopP,        Opt::kMinP,        Opt::kRepetitionPenalty,
                                    Opt::kRepeatLastN, Opt::kSeed,        Opt::kStop};

const std::vector<Opt> kGuess = {Opt::kCacheTokens, Opt::kSpeculate, Opt::kDraft, Opt::kMaxDraft,
                                 Opt::kTrace};

std::vector<Opt> join(std::initializer_list<std::vector<Opt>> parts) {
  std::vector<Opt> out;
  for (const auto& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

const std::vector<Opt> kEngine = join({{Opt::kContext}, kCompute});
const std::vector<Opt> kGenerate = join({kSampling, kEngine, kGuess, kWhere});

constexpr std::string_view kRunDetails =
    "With a text (-p or TEXT) it answers once. Without one it opens a chat; type /? there for help.\n"
    "When stdin is no terminal, what it holds is put after the text. stdout gets the reply and one line\n"
    "feed, stderr the rates. With -m, every argument is TEXT. Without MODEL the default model answers.\n";
constexpr std::string_view kBatchDetails =
    "Each line of FILE (or stdin) is an object with \"prompt\" (a text) or \"messages\" (a list), and may "
    "have\n"
    "\"id\" and sampling options (max_tokens, temperature, seed, stop, ...). Each reply is one line with "
    "its\n"
    "index, text, finish_reason and usage, or an error; in the order in which replies end. With --output, "
    "an\n"
    "interrupted run goes on where it was; lines with errors are tried again.\n";
constexpr std::string_view kModelDetails =
    "MODEL is a file or folder, a name that skua list shows, or ORG/NAME in a Hugging Face cache.\n";
constexpr std::string_view kBenchDetails =
    "MODEL is a file or folder, a name that skua list shows, or ORG/NAME in a Hugging Face cache.\n"
    "skua bench mla measures no model but attention over latent rows: decoding decompressed, absorbed, "
    "absorbed\n"
    "with splits dealt to threads, and over 2048 chosen rows, at contexts of 4096, 16384 and 32768 and "
    "batches of\n"
    "1 and 4; and 512 tokens of a prompt, exact and fast. --context and --sequences choose one; --threads, "
    "--isa,\n"
    "--repeat and --json count too. Every row is checked against float64 before it is timed. A model that "
    "is\n"
    "called mla needs -m.\n";
constexpr std::string_view kSynthDetails =
    "CONFIG is a config.json, a folder with one, or the name of a known geometry (a wrong name lists them).\n"
    "Equal seeds give equal bytes.\n";
const std::vector<OptionWords> kSynthWords = {
    {Opt::kSeed, "same seed, same config and same options: same weights"}};
const std::vector<OptionWords> kBenchWords = {
    {Opt::kSeed, "of --in-memory: same seed, same weights"},
    {Opt::kQuant, "of --in-memory: bits of a weight (MLX affine), or none for bf16"},
    {Opt::kGroup, "of --in-memory: weights that share a scale and an offset"}};
const std::vector<OptionWords> kQuantizeWords = {
    {Opt::kQuant, "bits of a weight (MLX affine); --rule gives single modules others", "2,3,4,5,6,8"}};
constexpr std::string_view kPerplexityDetails =
    "MODEL is a file or folder, a name that skua list shows, or ORG/NAME in a Hugging Face cache.\n"
    "Windows of --window tokens follow each other, each read from an empty cache; every token of a window\n"
    "foretells the next one, and what fills no window at the end is not judged. A text of several documents\n"
    "is one text unless --documents is there: a perplexity that was published for documents parted by end\n"
    "tokens, as those of models trained that way are, is met only with it.\n";
constexpr std::string_view kTextDetails = "Without TEXT it reads stdin, to the byte.\n";

}  // namespace

std::span<const Command> all_commands() {
  static const std::vector<Command> commands = {
      {"run", "[MODEL] [TEXT...]", "Answers a message, or opens a chat.", kRunDetails, 1000000,
       join({{Opt::kModel, Opt::kPrompt, Opt::kRaw, Opt::kSystem}, kGenerate}), run_command},
      {"batch", "[FILE.jsonl]", "Answers many prompts, one JSON line each.", kBatchDetails, 1,
       join({{Opt::kModel, Opt::kOutput, Opt::kParallel, Opt::kRaw, Opt::kSystem}, kGenerate}),
       batch_command},
      {"inspect", "[MODEL]", "Shows what a model is: config, tensors, memory, plan.", kModelDetails, 1,
       join({{Opt::kModel, Opt::kTensors, Opt::kPlan, Opt::kDot, Opt::kTokens, Opt::kJson}, kEngine, kWhere}),
       inspect_command},
      {"bench", "[MODEL]", "Measures prompt and decode speed.", kBenchDetails, 1,
       join({{Opt::kModel, Opt::kPromptTokens, Opt::kGenTokens, Opt::kRepeat, Opt::kSequences, Opt::kJson,
              Opt::kInMemory, Opt::kQuant, Opt::kGroup, Opt::kSeed},
             kEngine,
             kWhere}),
       bench_command, kBenchWords},
      {"perplexity", "[MODEL]", "Measures how well a model foretells a text.", kPerplexityDetails, 1,
       join({{Opt::kModel, Opt::kFile, Opt::kWindow, Opt::kDocuments, Opt::kAgainst, Opt::kJson},
             kCompute,
             kWhere}),
       perplexity_command},
      {"synth", "CONFIG", "Makes a checkpoint of random weights.", kSynthDetails, 1,
       join({{Opt::kQuant, Opt::kGroup, Opt::kOut, Opt::kSeed, Opt::kAllowUnknownConfig}, kWhere}),
       synth_command, kSynthWords},
      {"quantize", "[MODEL]", "Writes a model as MLX affine safetensors.", kModelDetails, 1,
       join({{Opt::kModel, Opt::kQuant, Opt::kGroup, Opt::kRule, Opt::kOut, Opt::kAllowUnknownConfig},
             kWhere}),
       quantize_command, kQuantizeWords},
      {"tokenize", "[MODEL] [TEXT...]", "Shows the tokens of a text.", kTextDetails, 1000000,
       join({{Opt::kModel, Opt::kPlain, Opt::kFileLimits, Opt::kJson}, kWhere}), tokenize_command},
      {"apply-template", "[MODEL] [TEXT...]", "Shows the prompt that a chat template makes of messages.",
       "The messages are those of --messages, or --system and -p or TEXT. The object of --messages may hold\n"
       "tools, documents, chat_template_kwargs (variables of the template, such as\n"
       "{\"enable_thinking\": false}), add_generation_prompt, and continue_final_message: true, which "
       "leaves\n"
       "the last message open for the model to go on.\n",
       1000000, join({{Opt::kModel, Opt::kPrompt, Opt::kSystem, Opt::kMessages, Opt::kJson}, kWhere}),
       apply_template_command},
      {"arch", "", "Lists the families of models that can be run.",
       "CPU NATIVE: weights of 4 bits with rounded activations. --json says what is missing where it says "
       "no.\n",
       0, join({{Opt::kJson}, kWhere}), arch_command},
      {"list", "", "Lists the models on this machine.", "", 0, join({{Opt::kJson}, kWhere}), list_command},
  };
  return commands;
}

}  // namespace skua
