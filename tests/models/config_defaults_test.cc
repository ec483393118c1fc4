// A key that a config leaves out is what the family's reference takes for it, or refused: the same key has
// other defaults in other families (rms_norm_eps, tie_word_embeddings, sliding_window, ...).
// config_defaults.json holds what transformers 5.17 takes, by golden case (tools/parity/config_defaults.py).
#include <gtest/gtest.h>

#include "models/golden_configs.h"
#include "models/spelling.h"

namespace skua {
namespace {

const Json& reference_defaults() {
  static const Json all = [] {
    std::ifstream file(SKUA_TEST_DATA "/models/config_defaults.json");
    std::stringstream text;
    text << file.rdbuf();
    auto parsed = parse_json(text.str());
    SKUA_CHECK(parsed.ok());
    return std::move(*parsed);
  }();
  return all;
}

/// Keys whose default has no say.
struct Idle {
  const char* reason;
  std::set<std::string> model_types;
  std::string key;
};
const Idle kIdle[] = {
    {"latent attention has as many key heads as heads",
     {"deepseek_v3", "glm4_moe_lite", "minicpm3", "youtu"},
     "num_key_value_heads"},
    {"rope_parameters say it", {"phi3"}, "original_max_position_embeddings"},
    {"num_layers decides", {"longcat_flash"}, "num_hidden_layers"},
};

bool idle(const GoldenConfig& golden, const std::string& key) {
  const std::string type = golden.config.find("model_type")->as_string();
  return kNoSay.contains(key) || std::any_of(std::begin(kIdle), std::end(kIdle), [&](const Idle& idle) {
           return idle.key == key && idle.model_types.contains(type);
         });
}

Json without(const Json& config, const std::string& key) {
  Json out = Json::object();
  for (const auto& [other, value] : config.members())
    if (other != key) out.set(other, value);
  return out;
}

class ConfigDefaults : public testing::TestWithParam<GoldenConfig> {};

TEST_P(ConfigDefaults, AMissingKeyIsTheReferencesDefaultOrRefused) {
  const Json* defaults = reference_defaults().find(GetParam().name);
  ASSERT_NE(defaults, nullptr) << "no line for " << GetParam().name << " in config_defaults.json";
  int n_judged = 0;
  for (const auto& [key, value] : defaults->members()) {
    if (idle(GetParam(), key)) continue;
    Json given = GetParam().config;
    given.set(key, value);
    const std::string missing = text_of(without(GetParam().config, key)), expected = text_of(given);
    const bool refused = missing.starts_with("error: ");
    EXPECT_TRUE(refused || missing == expected)
        << key << " is " << value.dump().substr(0, 80)
        << " in the reference where it is missing; here it is not"
        << (expected.starts_with("error: ") ? ", and that is refused: " + expected : "");
    n_judged += refused ? 0 : 1;
  }
  EXPECT_GT(n_judged, 3);
}

INSTANTIATE_TEST_SUITE_P(All, ConfigDefaults, testing::ValuesIn(golden_configs()),
                         [](const testing::TestParamInfo<GoldenConfig>& param) { return param.param.name; });

}  // namespace
}  // namespace skua
