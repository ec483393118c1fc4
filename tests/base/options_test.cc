// The table of options, and values from command lines and variables.
#include "base/options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

namespace skua {
namespace {

Status set(OptionValues& values, Opt id, const std::string& text) {
  return values.set(id, text, OptionSource::kCommandLine, "--" + std::string(option_info(id).name));
}

/// A variable for as long as the object lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST(Options, TableFollowsTheEnumAndNamesDiffer) {
  std::set<std::string> names;
  for (const OptionInfo& option : all_options()) {
    EXPECT_EQ(&option_info(option.id), &option);
    EXPECT_TRUE(names.insert(variable_name(option)).second) << option.name;
    EXPECT_FALSE(option.help.empty()) << option.name;
    EXPECT_EQ(option.value.empty(), option.type == OptionType::kFlag) << option.name;
  }
}

TEST(Options, EveryDefaultIsAllowed) {
  for (const OptionInfo& option : all_options()) {
    if (option.initial.empty()) continue;
    OptionValues values;
    const Status status = set(values, option.id, std::string(option.initial));
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

TEST(Options, BadValuesNameOptionValueAndRange) {
  OptionValues values;
  const auto message = [&](Opt id, const std::string& text) { return set(values, id, text).message(); };
  EXPECT_EQ(message(Opt::kThreads, "abc"),
            "--threads: expected a whole number from 1 to 1024, or 0 (one per CPU), got 'abc'");
  EXPECT_EQ(message(Opt::kTopP, "1.5"), "--top-p: expected a number from 0 to 1, got '1.5'");
  EXPECT_EQ(message(Opt::kBackend, "gpu"), "--backend: expected one of cpu, ref, got 'gpu'");
  EXPECT_EQ(message(Opt::kRepetitionPenalty, "0"),
            "--repetition-penalty: expected a number from 0.01 to 100, got '0'");
  for (const char* text : {"", " 1", "1 ", "1x", "1.5", "-1", "99999999999999999999", "0x10", "+1"})
    EXPECT_FALSE(set(values, Opt::kThreads, text).ok()) << text;
  for (const char* text : {"nan", "inf", "-0.1", "", "0,5", "1e9"})
    EXPECT_FALSE(set(values, Opt::kTemperature, text).ok()) << text;
  for (const char* text : {"-1", "18446744073709551616", "", "Random"})
    EXPECT_FALSE(set(values, Opt::kSeed, text).ok()) << text;
  EXPECT_FALSE(set(values, Opt::kMaxTokens, "0").ok());
  EXPECT_FALSE(values.given(Opt::kThreads));
}

TEST(Options, ValuesAreReadBack) {
  OptionValues values;
  EXPECT_EQ(values.integer(Opt::kMaxTokens), -1);
  EXPECT_EQ(values.number(Opt::kTemperature), 0);
  EXPECT_EQ(values.seed(Opt::kSeed), 0u);
  EXPECT_FALSE(values.flag(Opt::kVerbose));
  ASSERT_TRUE(set(values, Opt::kSeed, "18446744073709551615").ok());
  EXPECT_EQ(values.seed(Opt::kSeed), UINT64_MAX);
  ASSERT_TRUE(set(values, Opt::kSeed, "random").ok());
  EXPECT_EQ(values.seed(Opt::kSeed), std::nullopt);
  ASSERT_TRUE(set(values, Opt::kTemperature, "1e-1").ok());
  EXPECT_EQ(values.number(Opt::kTemperature), 0.1);
  ASSERT_TRUE(set(values, Opt::kVerbose, "on").ok());
  EXPECT_TRUE(values.flag(Opt::kVerbose));
}

TEST(Options, CommandLineBeatsVariableAndListsDoNotMix) {
  const Variable stop("SKUA_STOP", "from variable"), threads("SKUA_THREADS", "3"), top_k("SKUA_TOP_K", "");
  const Opt ids[] = {Opt::kStop, Opt::kThreads, Opt::kTopK};
  OptionValues values;
  ASSERT_TRUE(set(values, Opt::kThreads, "2").ok());
  ASSERT_TRUE(values.set_from_environment(ids).ok());
  EXPECT_EQ(values.integer(Opt::kThreads), 2);
  EXPECT_EQ(values.texts(Opt::kStop), std::vector<std::string>{"from variable"});
  EXPECT_FALSE(values.given(Opt::kTopK)) << "an empty variable counts as none";
  ASSERT_TRUE(set(values, Opt::kStop, "a").ok());
  ASSERT_TRUE(set(values, Opt::kStop, "b").ok());
  EXPECT_EQ(values.texts(Opt::kStop), (std::vector<std::string>{"a", "b"}));
}

TEST(Options, BadVariableIsNamed) {
  const Variable variable("SKUA_MIN_P", "much");
  const Opt ids[] = {Opt::kMinP};
  OptionValues values;
  EXPECT_EQ(values.set_from_environment(ids).message(),
            "SKUA_MIN_P: expected a number from 0 to 1, got 'much'");
}

TEST(Options, FoundByNameAndAlias) {
  ASSERT_NE(find_option("temp"), nullptr);
  EXPECT_EQ(find_option("temp")->id, Opt::kTemperature);
  EXPECT_EQ(find_option("--top_k")->id, Opt::kTopK);
  EXPECT_EQ(find_option("num_ctx")->id, Opt::kContext);
  EXPECT_EQ(find_option("-t")->id, Opt::kThreads);
  EXPECT_EQ(find_option("prompt")->id, Opt::kPrompt);
  EXPECT_EQ(find_option("t"), nullptr);
  EXPECT_EQ(find_option(""), nullptr);
  EXPECT_EQ(find_option("--"), nullptr);
}

TEST(Options, FoldersFollowTheVariables) {
  const Variable user("HOME", "/u"), data("XDG_DATA_HOME", ""), cache("XDG_CACHE_HOME", ""),
      hub("HF_HUB_CACHE", ""), home("HF_HOME", "");
  OptionValues values;
  EXPECT_EQ(model_folders(values).home, "/u/.local/share/skua");
  EXPECT_EQ(model_folders(values).hub_caches,
            std::vector<std::filesystem::path>{"/u/.cache/huggingface/hub"});
  const Variable data2("XDG_DATA_HOME", "/d"), hub2("HF_HUB_CACHE", "/hub"), home2("HF_HOME", "/hf");
  EXPECT_EQ(model_folders(values).home, "/d/skua");
  EXPECT_EQ(model_folders(values).hub_caches, (std::vector<std::filesystem::path>{"/hub", "/hf/hub"}));
  ASSERT_TRUE(set(values, Opt::kHome, "/store").ok());
  EXPECT_EQ(model_folders(values).home, "/store");
}

}  // namespace
}  // namespace skua
