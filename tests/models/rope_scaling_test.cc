#include "models/rope_scaling.h"

#include <gtest/gtest.h>

#include <cmath>

namespace skua {
namespace {

RopeAngles angles(const char* json, int32_t rot_dim) {
  const auto parsed = parse_json(json);
  EXPECT_TRUE(parsed.ok());
  auto out = rope_angles_from(*parsed, rot_dim, 10000.0);
  EXPECT_TRUE(out.ok()) << out.status().message();
  return *out;
}

std::string error(const char* json) {
  const auto out = rope_angles_from(*parse_json(json), 8, 10000.0);
  return out.ok() ? "" : out.status().message();
}

TEST(RopeScaling, DefaultIsThetaToTheMinusTwoIOverD) {
  const RopeAngles a = angles("{}", 8);
  ASSERT_EQ(a.inv_freq.size(), 4u);
  EXPECT_DOUBLE_EQ(a.inv_freq[0], 1.0);
  EXPECT_DOUBLE_EQ(a.inv_freq[1], 0.1);
  EXPECT_DOUBLE_EQ(a.inv_freq[3], 0.001);
}

// Fault B052: of 64 bands, 0 to 28 stay, 29 to 34 blend, 35 to 63 are divided by 8.
TEST(RopeScaling, Llama3BandsOfAHeadOf128) {
  const RopeAngles plain = angles(R"({"rope_theta": 500000.0})", 128);
  const RopeAngles scaled = angles(
      R"({"rope_theta": 500000.0, "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 8192})",
      128);
  for (int i = 0; i < 64; ++i) {
    const double ratio = plain.inv_freq[static_cast<size_t>(i)] / scaled.inv_freq[static_cast<size_t>(i)];
    const double low = i <= 28 ? 1.0 : i <= 34 ? 1.0 + 1e-9 : 8.0 - 1e-12;
    const double high = i <= 28 ? 1.0 : i <= 34 ? 8.0 - 1e-9 : 8.0 + 1e-12;
    EXPECT_GE(ratio, low) << i;
    EXPECT_LE(ratio, high) << i;
  }
}

TEST(RopeScaling, LinearDividesAndBothSpellingsOfTheTypeAreRead) {
  EXPECT_DOUBLE_EQ(angles(R"({"rope_type": "linear", "factor": 8})", 8).inv_freq[0], 0.125);
  EXPECT_DOUBLE_EQ(angles(R"({"type": "linear", "rope_type": "linear", "factor": 8})", 8).inv_freq[0], 0.125);
}

TEST(RopeScaling, RefusesWhatItDoesNotKnow) {
  EXPECT_NE(error(R"({"rope_type": "wobble"})").find("\"wobble\" is not known"), std::string::npos);
  EXPECT_NE(error(R"({"rope_type": "linear"})").find("\"factor\" must be a positive number"),
            std::string::npos);
  EXPECT_NE(error(R"({"rope_type": "linear", "factor": -1})"), "");
  EXPECT_NE(error(R"({"rope_theta": "x"})"), "");
  EXPECT_NE(error(R"({"rope_type": "default", "extrapolate": 3})").find("extrapolate"), std::string::npos);
  EXPECT_FALSE(rope_angles_from(Json::object(), 7, 1e4).ok());
}

// Beyond max_position_embeddings the base grows with the served context; up to it nothing changes.
TEST(RopeScaling, DynamicFollowsTheServedContext) {
  const char* kUpTo = R"({"rope_type": "dynamic", "factor": 4.0, "max_position_embeddings": 100,
      "skua_served_context": 100})";
  const char* kBeyond = R"({"rope_type": "dynamic", "factor": 4.0, "max_position_embeddings": 100,
      "skua_served_context": 150})";
  EXPECT_EQ(angles(kUpTo, 8).inv_freq, angles("{}", 8).inv_freq);
  const double theta = 10000.0 * std::pow(4.0 * 1.5 - 3.0, 8.0 / 6.0);
  EXPECT_DOUBLE_EQ(angles(kBeyond, 8).inv_freq[1], std::pow(theta, -0.25));
  EXPECT_NE(error(R"({"rope_type": "dynamic", "factor": 4.0})").find("max_position_embeddings"),
            std::string::npos);
  EXPECT_NE(error(R"({"rope_type": "dynamic", "factor": 4.0, "max_position_embeddings": 100, "alpha": 9})")
                .find("alpha"),
            std::string::npos);
}

TEST(RopeScaling, OnlyFamiliesThatKnowItRotateInPart) {
  const Json half = *parse_json(R"({"partial_rotary_factor": 0.5})");
  EXPECT_EQ(rope_angles_from(half, 8, 1e4, PartialRotation::kKnown)->inv_freq.size(), 2u);
  EXPECT_NE(error(R"({"partial_rotary_factor": 0.5})").find("partial_rotary_factor"), std::string::npos);
  EXPECT_EQ(angles(R"({"partial_rotary_factor": 1.0})", 8).inv_freq.size(), 4u);
}

TEST(RopeScaling, AFractionOfTheHeadGivesBackItsDimensions) {
  for (int32_t head_dim = 1; head_dim <= 600; ++head_dim) {
    for (int32_t rotated = 1; rotated <= head_dim; ++rotated) {
      const double fraction = rotary_fraction(rotated, head_dim);
      ASSERT_EQ(static_cast<int32_t>(head_dim * fraction), rotated) << head_dim;
      ASSERT_LE(fraction, 1.0);
    }
  }
}

}  // namespace
}  // namespace skua
