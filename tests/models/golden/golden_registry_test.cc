// Every family has a golden case, and skua arch reads its facts off it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "skua/arch_facts.h"

namespace skua {
namespace {

/// Families for which the reference could give no golden case, and who judges them instead.
struct Exempt {
  const char* family;
  const char* judge;
};
constexpr Exempt kExempt[] = {
    {"deepseek_v32",
     "an independent float64 forward pass, and equality with V3 where the indexer keeps all"}};

std::string judge_of(const std::string& family) {
  for (const Exempt& exempt : kExempt) {
    if (family == exempt.family) return exempt.judge;
  }
  return "";
}

TEST(Registry, EveryFamilyHasAGoldenCase) {
  for (const std::string& name : families_without_golden(families(), golden_configs())) {
    const std::string judge = judge_of(name);
    EXPECT_FALSE(judge.empty()) << "family " << name << " has no case in tests/models/golden";
    if (!judge.empty()) std::printf("  %s: no golden case; judged by %s\n", name.c_str(), judge.c_str());
  }
}

TEST(Registry, AFamilyWhoseGoldenCaseIsGoneIsNamed) {
  std::vector<GoldenConfig> left(golden_configs().begin(), golden_configs().end());
  const auto is_youtu = [](const GoldenConfig& golden) { return golden.name == "youtu"; };
  ASSERT_EQ(std::erase_if(left, is_youtu), 1u);
  EXPECT_THAT(families_without_golden(families(), left), testing::Contains("youtu"));
  EXPECT_THAT(families_without_golden(families(), golden_configs()),
              testing::Not(testing::Contains("youtu")));
}

TEST(Arch, ReadsKindsAndBackendsOffTheGoldenCases) {
  const std::vector<FamilyFacts> all = family_facts(families(), golden_configs());
  ASSERT_EQ(all.size(), families().size());
  const auto kinds = [&](std::string_view name) -> std::set<std::string> {
    for (const FamilyFacts& facts : all) {
      if (facts.family->name == name) return facts.kinds;
    }
    return {};
  };
  using testing::UnorderedElementsAre;
  EXPECT_THAT(kinds("llama"), UnorderedElementsAre("dense"));
  EXPECT_THAT(kinds("gpt_oss"), UnorderedElementsAre("moe", "sliding"));
  EXPECT_THAT(kinds("llama4"), UnorderedElementsAre("moe", "chunked"));
  EXPECT_THAT(kinds("gemma4"), UnorderedElementsAre("moe", "dense", "sliding"));
  EXPECT_THAT(kinds("deepseek_v3"), UnorderedElementsAre("moe", "mla"));
  for (const FamilyFacts& facts : all) {
    if (facts.goldens.empty()) continue;
    for (const char* way : {"ref", "cpu f32"}) EXPECT_EQ(facts.missing.at(way), "") << facts.family->name;
  }
}

TEST(Arch, AKernelThatIsMissingShowsAsMissing) {
  const auto v3 = std::find_if(golden_configs().begin(), golden_configs().end(),
                               [](const GoldenConfig& golden) { return golden.name == "deepseek_v3"; });
  ASSERT_NE(v3, golden_configs().end());
  std::string config(v3->config);  // with more groups of experts than the CPU's router takes
  for (const auto& [from, to] : {std::pair{"\"n_group\": 4", "\"n_group\": 128"},
                                 {"\"n_routed_experts\": 8", "\"n_routed_experts\": 256"}}) {
    const size_t at = config.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    config.replace(at, std::string_view(from).size(), to);
  }
  const GoldenConfig odd{"odd", config};
  int seen = 0;
  for (const FamilyFacts& facts : family_facts(families(), {&odd, 1})) {
    if (facts.goldens.empty()) continue;
    ++seen;
    EXPECT_EQ(facts.missing.at("ref"), "") << facts.family->name;
    EXPECT_THAT(facts.missing.at("cpu f32"), testing::HasSubstr("128 groups")) << facts.family->name;
  }
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace skua
