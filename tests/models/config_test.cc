#include <gtest/gtest.h>

#include "models/families.h"

namespace skua {
namespace {

constexpr const char* kLlama = R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 16,
  "intermediate_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 64,
  "rms_norm_eps": 1e-5, "max_position_embeddings": 128, "eos_token_id": [2, 3], "bos_token_id": 1})";

Json with(const char* key, Json value, const char* base = kLlama) {
  Json config = *parse_json(base);
  config.set(key, std::move(value));
  return config;
}

std::string parse_error(const Json& config) {
  const auto model = parse_model(config, ConfigPolicy::kStrict);
  if (!model.ok()) return model.status().message();
  const auto graph = (*model)->build(Numerics{});
  return graph.ok() ? "" : graph.status().message();
}

TEST(Config, ReadsSizesAndTokenIds) {
  const auto model = parse_model(*parse_json(kLlama), ConfigPolicy::kStrict);
  ASSERT_TRUE(model.ok()) << model.status().message();
  const ModelInfo& info = (*model)->info();
  EXPECT_EQ(info.head_dim, 4);
  EXPECT_EQ(info.end_ids, (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(info.bos_id, 1);
  const auto graph = (*model)->build(Numerics{});
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->slots.size(), 2u);
}

TEST(Config, EveryRegisteredTypeParsesOnlyItsOwnName) {
  for (const Family* family : families()) {
    for (std::string_view type : family->model_types) {
      const auto found = find_family(type);
      ASSERT_TRUE(found.ok());
      EXPECT_EQ(*found, family) << type;
    }
  }
}

TEST(Config, UnknownModelTypeListsTheKnownOnes) {
  const std::string error = parse_error(with("model_type", "abacus"));
  EXPECT_NE(error.find("\"abacus\" is not known; known are"), std::string::npos) << error;
  EXPECT_NE(error.find("qwen3"), std::string::npos);
  EXPECT_NE(parse_error(with("model_type", Json(3))), "");
  EXPECT_NE(parse_error(Json::object()), "");
}

TEST(Config, UnknownKeysAreRefusedUnlessAllowed) {
  const Json config = with("attention_multiplier", Json(2.0));
  const std::string error = parse_error(config);
  EXPECT_NE(error.find("attention_multiplier"), std::string::npos) << error;
  EXPECT_TRUE(parse_model(config, ConfigPolicy::kAllowUnknown).ok());
  EXPECT_EQ(parse_error(with("attention_multiplier", Json())), "");  // null says nothing
}

TEST(Config, WrongKindsAndRangesNameTheKey) {
  for (const char* key : {"num_hidden_layers", "hidden_size", "vocab_size", "num_attention_heads"}) {
    for (const Json& bad : {Json(0), Json(-1), Json("x"), Json(1.5), Json(int64_t{1} << 40), Json()}) {
      const std::string error = parse_error(with(key, bad));
      EXPECT_NE(error.find(key), std::string::npos) << key << " " << bad.dump() << ": " << error;
    }
  }
  for (const Json& bad : {Json(-1.0), Json(1e308), Json("x")}) {
    EXPECT_NE(parse_error(with("rms_norm_eps", bad)).find("rms_norm_eps"), std::string::npos) << bad.dump();
  }
  EXPECT_NE(parse_error(with("hidden_act", "swoosh")).find("swoosh"), std::string::npos);
  EXPECT_NE(parse_error(with("eos_token_id", "x")).find("eos_token_id"), std::string::npos);
}

TEST(Config, SizesThatDoNotFitTogetherAreErrorsNotCrashes) {
  EXPECT_NE(parse_error(with("num_key_value_heads", Json(3))), "");
  EXPECT_NE(parse_error(with("hidden_size", Json(17))), "");
  EXPECT_NE(parse_error(with("head_dim", Json(5))), "");  // odd: cannot be rotated
}

TEST(Config, SlidingLayersNeedAWindow) {
  Json config = *parse_json(R"({"model_type": "qwen2", "num_hidden_layers": 2, "hidden_size": 16,
    "intermediate_size": 32, "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 64, "use_sliding_window": true,
    "max_window_layers": 1, "sliding_window": null})");
  EXPECT_NE(parse_error(config).find("sliding_window is missing"), std::string::npos);
  config.set("sliding_window", Json(8));
  const auto model = parse_model(config, ConfigPolicy::kStrict);
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto graph = (*model)->build(Numerics{});
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->slots[0].kind, SlotKind::kFull);
  EXPECT_EQ(graph->slots[1].window, 8);
  config.set("layer_types", Json::array());
  EXPECT_NE(parse_error(config).find("layer_types names 0 layers"), std::string::npos);
}

// Fault B053: the linear factor applies to global layers only; both spellings of the type may stand together.
TEST(Config, Gemma3ScalesGlobalLayersOnly) {
  const Json config = *parse_json(R"({"model_type": "gemma3_text", "num_hidden_layers": 6, "hidden_size": 16,
    "intermediate_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "vocab_size": 64,
    "sliding_window": 16, "sliding_window_pattern": 6, "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0,
    "rope_scaling": {"type": "linear", "rope_type": "linear", "factor": 8.0}})");
  const auto model = parse_model(config, ConfigPolicy::kStrict);
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto graph = (*model)->build(Numerics{});
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const auto& global = std::get<RopeAngles>(graph->nodes[1].op);
  const auto& sliding = std::get<RopeAngles>(graph->nodes[2].op);
  EXPECT_DOUBLE_EQ(global.inv_freq[0], 0.125);
  EXPECT_DOUBLE_EQ(sliding.inv_freq[0], 1.0);
  EXPECT_DOUBLE_EQ(sliding.inv_freq[1], 0.1);
  for (const CacheSlot& slot : graph->slots) EXPECT_EQ(slot.window, slot.layer == 5 ? 0 : 16);
}

}  // namespace
}  // namespace skua
