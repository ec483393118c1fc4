// Cases of rotary embeddings.
#include <cmath>
#include <string>

#include "backend/cases.h"

namespace skua::test {
namespace {

RopeAngles angles_of(int32_t rot_dim, double theta, double factor) {
  RopeAngles out;
  out.attention_factor = factor;
  for (int32_t i = 0; i < rot_dim / 2; ++i) out.inv_freq.push_back(std::pow(theta, -2.0 * i / rot_dim));
  return out;
}

OpCase angle_case(int32_t rot_dim, double theta, double factor, std::vector<int32_t> positions) {
  CaseBuilder b("rope_angles " + std::to_string(rot_dim) + " x " + std::to_string(positions.size()));
  b.node(angles_of(rot_dim, theta, factor), {});
  b.step(static_cast<int32_t>(positions.size()), 1).positions = std::move(positions);
  return b.take();
}

OpCase rope_case(RopeStyle style, int32_t n_heads, int32_t head_dim, int32_t rot_dim,
                 std::vector<int32_t> positions) {
  CaseBuilder b(std::string("rope ") + (style == RopeStyle::kHalf ? "half " : "interleaved ") +
                std::to_string(n_heads) + " x " + std::to_string(head_dim) + "/" + std::to_string(rot_dim));
  const ValueId x = b.input(int64_t{n_heads} * head_dim);
  const ValueId angles = b.node(angles_of(rot_dim, 10000.0, 1.0), {});
  b.node(Rope{n_heads, head_dim, style}, {x, angles});
  b.step(static_cast<int32_t>(positions.size()), 2, 3.0).positions = std::move(positions);
  return b.take();
}

}  // namespace

std::vector<OpCase> rope_cases() {
  const std::vector<int32_t> far = {0, 1, 8191, 8192, 131071, 1000000};
  std::vector<OpCase> out;
  out.push_back(angle_case(128, 500000.0, 1.0, far));
  out.push_back(angle_case(64, 10000.0, 1.0, {}));
  out.push_back(angle_case(2, 1e6, 1.3465735902799727, {7}));
  out.push_back(angle_case(24, 10000.0, 0.7, far));
  for (RopeStyle style : {RopeStyle::kHalf, RopeStyle::kInterleaved}) {
    out.push_back(rope_case(style, 9, 64, 64, far));
    out.push_back(rope_case(style, 1, 2, 2, {3}));
    out.push_back(rope_case(style, 3, 24, 24, {5, 9, 70}));
    out.push_back(rope_case(style, 2, 80, 20, {1, 2, 3}));
    out.push_back(rope_case(style, 2, 7, 6, {11, 12}));
    out.push_back(rope_case(style, 4, 32, 32, {}));
  }
  return out;
}

}  // namespace skua::test
