// Any value in place of any key of a config is an error or another model, never a crash or an endless loop.
#include <gtest/gtest.h>

#include "engine/family_models.h"

namespace skua::test {
namespace {

class ConfigMutation : public testing::TestWithParam<FamilyModel> {};

/// Values that no family expects everywhere.
std::vector<Json> odd_values() {
  std::vector<Json> out = {Json(0),    Json(-1),  Json(3),    Json(2147483647), Json(int64_t{1} << 40),
                           Json(1.5),  Json(0.0), Json(true), Json(false),      Json("x"),
                           Json(1e308)};
  for (const char* text : {"[]", "[0]", "[true]", "{}", "[[1]]", R"({"rope_type": 7})"})
    out.push_back(*parse_json(text));
  return out;
}

TEST_P(ConfigMutation, IsAnErrorOrAnotherModel) {
  const Json config = *parse_json(GetParam().config);
  int64_t n_refused = 0, n_built = 0;
  for (const auto& [key, value] : config.members()) {
    for (const Json& odd : odd_values()) {
      Json changed = config;
      changed.set(key, odd);
      const auto model = parse_model(changed, ConfigPolicy::kAllowUnknown);
      const auto graph = model.ok() ? (*model)->build(Numerics{}) : Result<Graph>(model.status());
      if (!graph.ok()) {
        ++n_refused;
        EXPECT_FALSE(graph.status().message().empty()) << key << " " << odd.dump();
        continue;
      }
      ++n_built;
      EXPECT_FALSE(graph->nodes.empty());
    }
  }
  EXPECT_GT(n_refused, 50) << GetParam().name;
  EXPECT_GT(n_built, 0) << GetParam().name;
}

INSTANTIATE_TEST_SUITE_P(All, ConfigMutation, testing::ValuesIn(family_models()),
                         [](const testing::TestParamInfo<FamilyModel>& param) { return param.param.name; });

}  // namespace
}  // namespace skua::test
