#include "base/json.h"

#include <gtest/gtest.h>

namespace skua {
namespace {

TEST(Json, KeepsOrderAndKinds) {
  const auto json = parse_json(R"({"b": 1, "a": [true, null, 0.1, "é"], "u": 18446744073709551615})");
  ASSERT_TRUE(json.ok()) << json.status().message();
  EXPECT_EQ(json->dump(), R"({"b":1,"a":[true,null,0.1,"é"],"u":18446744073709551615})");
  EXPECT_EQ(json->find("u")->as_uint(), UINT64_MAX);
}

TEST(Json, RefusesDeepNestingAndDuplicates) {
  EXPECT_FALSE(parse_json(std::string(100000, '[')).ok());
  EXPECT_FALSE(parse_json(std::string(65, '[') + std::string(65, ']')).ok());
  EXPECT_TRUE(parse_json(std::string(60, '[') + std::string(60, ']')).ok());
  EXPECT_FALSE(parse_json(R"({"a":1,"a":2})").ok());
  EXPECT_FALSE(parse_json(R"({"a":1e400})").ok());
  EXPECT_FALSE(parse_json("\"\xff\"").ok());
}

TEST(Json, DumpReplacesBadUtf8AndNan) {
  Json json = Json::array();
  json.push_back(Json(std::string("\xff")));
  json.push_back(Json(0.0 / 0.0));
  EXPECT_EQ(json.dump(), "[\"\xEF\xBF\xBD\",null]");
}

}  // namespace
}  // namespace skua
