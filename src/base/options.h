// Every option of the product, declared once: name, short forms, type, default, allowed values, help. The
// variable of an option is SKUA_ and its name in capitals. A command line beats a variable, which beats the
// default. The only place that reads the environment.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace skua {

/// Order of the table in options.cc.
enum class Opt : uint8_t {
  kModel,
  kPrompt,
  kRaw,
  kSystem,
  kMessages,
  kMaxTokens,
  kTemperature,
  kTopK,
  kTopP,
  kMinP,
  kRepetitionPenalty,
  kRepeatLastN,
  kSeed,
  kStop,
  kContext,
  kThreads,
  kBackend,
  kCompute,
  kIsa,
  kMlaPrefill,
  kCacheType,
  kAllowUnknownConfig,
  kHome,
  kJson,
  kTensors,
  kPlan,
  kDot,
  kTokens,
  kPromptTokens,
  kGenTokens,
  kRepeat,
  kSequences,
  kPlain,
  kFileLimits,
  kOutput,
  kParallel,
  kCacheTokens,
  kSpeculate,
  kDraft,
  kMaxDraft,
  kTrace,
  kFile,
  kWindow,
  kDocuments,
  kAgainst,
  kQuant,
  kGroup,
  kOut,
  kRule,
  kInMemory,
  kVerbose,
  kCount,
};

enum class OptionType : uint8_t { kText, kTextList, kInteger, kSeed, kNumber, kChoice, kFlag };

struct OptionInfo {
  Opt id = Opt::kCount;
  std::string_view name;     // "max-tokens": --max-tokens, SKUA_MAX_TOKENS
  std::string_view aliases;  // "-n,--n-predict"; names that other programs use
  std::string_view value;    // what stands for the value in the help: "N"; empty for flags
  OptionType type = OptionType::kText;
  std::string_view initial;  // the default, as text; empty = none
  double low = 0, high = 0;  // numbers: allowed range, both included; texts: bytes, high 0 = no limit
  std::string_view special;  // one more allowed value: "-1", "random"
  std::string_view meaning;  // of `special`: "no limit"
  std::string_view choices;  // kChoice: "auto,f32"
  std::string_view help;
};

const OptionInfo& option_info(Opt id);
std::span<const OptionInfo> all_options();

/// The option called `name`: with or without dashes, '_' for '-', or an alias. nullptr if there is none.
const OptionInfo* find_option(std::string_view name);

/// "SKUA_MAX_TOKENS".
std::string variable_name(const OptionInfo& option);

/// What may be given: "a whole number from 1 to 1024, or 0 (one per CPU)".
std::string allowed_values(const OptionInfo& option);

/// Where a value came from, weakest first.
enum class OptionSource : uint8_t { kDefault, kEnvironment, kCommandLine };

/// The values of all options. Starts with the defaults.
class OptionValues {
 public:
  OptionValues() = default;

  /// Sets one option from text; a list gets one more entry (the first from a stronger source replaces those
  /// before). `shown_as` names the option in errors ("--threads", "SKUA_THREADS"). Errors: kInvalidArgument
  /// naming option, value and what is allowed.
  Status set(Opt id, std::string_view text, OptionSource source, std::string_view shown_as);

  /// Takes the variables of these options; an empty variable counts as none. Errors: as set().
  Status set_from_environment(std::span<const Opt> ids);

  OptionSource source(Opt id) const { return at(id).source; }
  bool given(Opt id) const { return source(id) != OptionSource::kDefault; }

  // Accessors: the type must fit (SKUA_CHECK).
  std::string text(Opt id) const;  // any type but lists; empty if there is no value
  const std::vector<std::string>& texts(Opt id) const;
  int64_t integer(Opt id) const;  // kInteger; the special value if it is a number
  double number(Opt id) const;
  bool flag(Opt id) const;
  std::optional<uint64_t> seed(Opt id) const;  // nothing for the special value

 private:
  struct Value {
    std::vector<std::string> texts;
    OptionSource source = OptionSource::kDefault;
  };
  const Value& at(Opt id) const { return values_[static_cast<size_t>(id)]; }
  std::array<Value, static_cast<size_t>(Opt::kCount)> values_;
};

/// The folders where models lie.
struct ModelFolders {
  std::filesystem::path home;  // --home, else $XDG_DATA_HOME/skua, else ~/.local/share/skua
  std::vector<std::filesystem::path> hub_caches;  // $HF_HUB_CACHE, $HF_HOME/hub, or ~/.cache/huggingface/hub
};
ModelFolders model_folders(const OptionValues& values);

}  // namespace skua
