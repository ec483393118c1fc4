// Rotations far from position 0, where a mistake in a band or in the reduction of large angles shows (fault
// B052): llama3 scaling at positions 8,192 and 131,071, on every backend, against long double.
#include <gtest/gtest.h>

#include <cmath>

#include "backend/backends.h"
#include "backend/op_harness.h"
#include "models/rope_scaling.h"

namespace skua::test {
namespace {

constexpr const char* kPlain = R"({"rope_theta": 500000.0})";
constexpr const char* kLlama3 = R"({"rope_theta": 500000.0, "rope_type": "llama3", "factor": 8.0,
  "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192})";

RopeAngles angles_of(const char* parameters) {
  auto out = rope_angles_from(*parse_json(parameters), 128, 10000.0);
  EXPECT_TRUE(out.ok()) << out.status().message();
  return *out;
}

/// Cosines, then sines, of one position.
std::vector<double> rotate(Backend& backend, const RopeAngles& angles, int32_t position) {
  CaseBuilder b("angles");
  const ValueId out = b.node(angles, {});
  b.step(1, 1).positions = {position};
  const auto result = run_case(backend, b.take());
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? join(*result, out) : std::vector<double>(128);
}

class RopePositions : public testing::TestWithParam<BackendUnderTest> {
 protected:
  std::unique_ptr<Backend> backend_ = GetParam().make(1);
};

TEST_P(RopePositions, FarAnglesAreExactToTheLastFloatBit) {
  const RopeAngles scaled = angles_of(kLlama3);
  for (int32_t position : {0, 1, 8191, 8192, 131071}) {
    const std::vector<double> y = rotate(*backend_, scaled, position);
    for (size_t i = 0; i < 64; ++i) {
      const long double angle = static_cast<long double>(position) * scaled.inv_freq[i];
      EXPECT_NEAR(y[i], static_cast<double>(std::cos(angle)), 0x1p-24) << position << ", band " << i;
      EXPECT_NEAR(y[64 + i], static_cast<double>(std::sin(angle)), 0x1p-24) << position << ", band " << i;
    }
  }
}

TEST_P(RopePositions, Llama3ScalingTurnsTheRightBandsAtPosition8192) {
  const std::vector<double> plain = rotate(*backend_, angles_of(kPlain), 8192);
  const std::vector<double> scaled = rotate(*backend_, angles_of(kLlama3), 8192);
  double similarity = 0;
  for (size_t i = 0; i < 64; ++i) {
    const double cosine =
        plain[i] * scaled[i] + plain[64 + i] * scaled[64 + i];  // of the angle between the two
    similarity += cosine / 64;
    if (i <= 28) {
      EXPECT_EQ(plain[i], scaled[i]) << "band " << i << " must not change";
    } else if (i < 45) {
      EXPECT_LT(std::abs(cosine), 0.9999) << "band " << i << " must change";
    }
  }
  EXPECT_NEAR(similarity, 0.769, 0.001);
}

INSTANTIATE_TEST_SUITE_P(All, RopePositions, testing::ValuesIn(backends_under_test()),
                         [](const testing::TestParamInfo<BackendUnderTest>& param) {
                           return param.param.name;
                         });

}  // namespace
}  // namespace skua::test
