// Cases of ops that look at one row at a time.
#include <string>

#include "backend/cases.h"

namespace skua::test {
namespace {

constexpr Format kF32Format{FormatKind::kF32};

OpCase embed(const Format& format, int32_t n_tokens, int64_t width, float scale) {
  constexpr int64_t kVocab = 11;
  CaseBuilder b("embed " + format_name(format) + " " + std::to_string(n_tokens) + " x " +
                std::to_string(width));
  b.node(Embed{b.weight(random_weight(format, kVocab, width, 1.0, 5)), scale}, {});
  CaseStep& step = b.step(n_tokens, 6);
  for (int32_t t = 0; t < n_tokens; ++t) step.ids.push_back(t * 7 % static_cast<int32_t>(kVocab));
  return b.take();
}

OpCase norm(int32_t n_tokens, int64_t size, int32_t groups, float offset, double scale, float eps) {
  CaseBuilder b("rms_norm " + std::to_string(n_tokens) + " x " + std::to_string(groups) + " x " +
                std::to_string(size) + " scale " + std::to_string(scale));
  const ValueId x = b.input(size * groups);
  b.node(RmsNorm{b.weight(random_weight(kF32Format, 1, size, 1.0, 8)), eps, offset, groups}, {x});
  b.step(n_tokens, 9, scale);
  return b.take();
}

/// Which vectors a layer norm has; `wide` ones cover the whole row.
enum class Vectors { kNone, kWeight, kBoth, kBothWide };

OpCase layer_norm(int32_t n_tokens, int64_t size, int32_t groups, Vectors vectors, double scale) {
  CaseBuilder b("layer_norm " + std::to_string(n_tokens) + " x " + std::to_string(groups) + " x " +
                std::to_string(size) + " scale " + std::to_string(scale) + " vectors " +
                std::to_string(static_cast<int>(vectors)));
  const ValueId x = b.input(size * groups);
  const int64_t width = vectors == Vectors::kBothWide ? size * groups : size;
  LayerNorm op{.eps = 1e-5f, .n_groups = groups};
  if (vectors != Vectors::kNone) op.weight = b.weight(random_weight(kF32Format, 1, width, 1.0, 8));
  if (vectors >= Vectors::kBoth) op.bias = b.weight(random_weight(kF32Format, 1, width, 1.0, 9));
  b.node(op, {x});
  b.step(n_tokens, 14, scale);
  return b.take();
}

OpCase bare_norm(int32_t n_tokens, int64_t size, int32_t groups) {
  CaseBuilder b("rms_norm without weight " + std::to_string(n_tokens) + " x " + std::to_string(groups) +
                " x " + std::to_string(size));
  const ValueId x = b.input(size * groups);
  b.node(RmsNorm{std::nullopt, 1e-6f, 0.0f, groups}, {x});
  b.step(n_tokens, 15);
  return b.take();
}

OpCase positions_embed(int32_t n_tokens, int64_t width, int32_t offset) {
  CaseBuilder b("embed positions " + std::to_string(n_tokens) + " x " + std::to_string(width));
  b.node(Embed{b.weight(random_weight(kF32Format, 40, width, 1.0, 5)), 1.0f, EmbedIndex::kPositions, offset},
         {});
  CaseStep& step = b.step(n_tokens, 6);
  for (int32_t t = 0; t < n_tokens; ++t) step.positions.push_back((t * 11 + 5) % (40 - offset));
  return b.take();
}

OpCase ids_past_the_table(int32_t n_tokens, int64_t width) {
  CaseBuilder b("embed ids past the table " + std::to_string(n_tokens) + " x " + std::to_string(width));
  b.node(Embed{b.weight(random_weight(kF32Format, 7, width, 1.0, 5)), 2.0f, EmbedIndex::kIdsOrZero, 0}, {});
  CaseStep& step = b.step(n_tokens, 6);
  for (int32_t t = 0; t < n_tokens; ++t) step.ids.push_back(t);  // the table has 7 rows
  return b.take();
}

OpCase position_scale(int32_t n_tokens, int64_t width, int32_t offset) {
  CaseBuilder b("position_scale " + std::to_string(n_tokens) + " x " + std::to_string(width) + " from " +
                std::to_string(offset));
  const ValueId x = b.input(width);
  b.node(PositionScale{8, {1.0f, 1.069f, 1.11f}, offset}, {x});
  CaseStep& step = b.step(n_tokens, 16);
  for (int32_t t = 0; t < n_tokens; ++t) step.positions.push_back(t * 7);  // reaches past the last factor
  return b.take();
}

OpCase scale_by(int32_t n_tokens, int64_t width, int64_t weights) {
  CaseBuilder b("scale_by " + std::to_string(n_tokens) + " x " + std::to_string(width) + " by " +
                std::to_string(weights));
  const ValueId x = b.input(width);
  b.node(ScaleBy{b.weight(random_weight(kF32Format, 1, weights, 1.0, 8))}, {x});
  b.step(n_tokens, 17);
  return b.take();
}

OpCase scale_columns(int32_t n_tokens, int64_t width) {
  CaseBuilder b("scale_columns " + std::to_string(n_tokens) + " x " + std::to_string(width));
  ScaleColumns op;
  for (int64_t i = 0; i < width; ++i) op.factors.push_back(0.5f + 0.25f * static_cast<float>(i));
  b.node(op, {b.input(width)});
  b.step(n_tokens, 18);
  return b.take();
}

/// A norm of slices with a weight of the whole row.
OpCase wide_group_norm(int32_t n_tokens, int64_t width, int32_t n_groups) {
  CaseBuilder b("rms_norm, own weights for " + std::to_string(n_groups) + " groups of " +
                std::to_string(width));
  const WeightId w = b.weight(random_weight(kF32Format, 1, width * n_groups, 1.0, 19));
  b.node(RmsNorm{w, 1e-5f, 0.0f, n_groups}, {b.input(width * n_groups)});
  b.step(n_tokens, 20);
  return b.take();
}

OpCase weighted_sum(int32_t n_tokens, int64_t width, int64_t begin, float offset, int n_streams) {
  CaseBuilder b("weighted_sum " + std::to_string(n_tokens) + " x " + std::to_string(width) + " of " +
                std::to_string(n_streams));
  std::vector<ValueId> inputs{b.input(begin + n_streams + 1)};
  for (int i = 0; i < n_streams; ++i) inputs.push_back(b.input(width));
  b.node(WeightedSum{begin, offset}, inputs);
  b.step(n_tokens, 20);
  return b.take();
}

OpCase slice(int32_t n_tokens, int64_t width, int64_t begin, int64_t n) {
  CaseBuilder b("slice " + std::to_string(begin) + " + " + std::to_string(n) + " of " +
                std::to_string(width));
  const ValueId x = b.input(width);
  b.node(Slice{begin, n}, {x});
  b.step(n_tokens, 18);
  return b.take();
}

OpCase xielu(int32_t n_tokens, int64_t width, double scale, double eps) {
  CaseBuilder b("xielu " + std::to_string(n_tokens) + " x " + std::to_string(width) + " scale " +
                std::to_string(scale));
  const ValueId x = b.input(width);
  const auto number = [&](double v) { return b.weight(plain_weight(DType::kF32, 1, 1, {v})); };
  b.node(XIelu{number(0.21), number(-1.05), number(0.5), number(eps)}, {x});
  b.step(n_tokens, 19, scale);
  return b.take();
}

OpCase add_norm(int32_t n_tokens, int64_t size, float offset) {
  CaseBuilder b("add_rms_norm " + std::to_string(n_tokens) + " x " + std::to_string(size));
  const ValueId a = b.input(size);
  const ValueId c = b.input(size);
  b.node(AddRmsNorm{{b.weight(random_weight({FormatKind::kBF16}, 1, size, 1.0, 8)), 1e-5f, offset, 1}},
         {a, c});
  b.step(n_tokens, 10, 3.0);
  return b.take();
}

OpCase binary(const std::string& name, Op op, int32_t n_tokens, int64_t width, double scale) {
  CaseBuilder b(name + " " + std::to_string(n_tokens) + " x " + std::to_string(width) + " scale " +
                std::to_string(scale));
  const ValueId a = b.input(width);
  const ValueId c = b.input(width);
  b.node(std::move(op), {a, c});
  b.step(n_tokens, 11, scale);
  return b.take();
}

OpCase unary(const std::string& name, Op op, int32_t n_tokens, int64_t width, double scale) {
  CaseBuilder b(name + " " + std::to_string(n_tokens) + " x " + std::to_string(width) + " scale " +
                std::to_string(scale));
  const ValueId x = b.input(width);
  b.node(std::move(op), {x});
  b.step(n_tokens, 12, scale);
  return b.take();
}

OpCase gather(int32_t n_tokens, std::vector<int32_t> rows) {
  CaseBuilder b("gather_rows " + std::to_string(rows.size()) + " of " + std::to_string(n_tokens));
  const ValueId x = b.input(37);
  b.node(GatherRows{}, {x});
  b.step(n_tokens, 13).rows = std::move(rows);
  return b.take();
}

std::vector<OpCase> norm_cases() {
  std::vector<OpCase> out;
  for (const auto& [tokens, size] :
       {std::pair{0, 64}, {1, 1}, {1, 7}, {3, 65}, {2, 576}, {5, 1030}, {1, 4096}}) {
    out.push_back(norm(tokens, size, 1, 0.0f, 1.0, 1e-6f));
    out.push_back(add_norm(tokens, size, tokens % 2 == 1 ? 1.0f : 0.0f));
    for (Vectors vectors : {Vectors::kNone, Vectors::kWeight, Vectors::kBoth}) {
      out.push_back(layer_norm(tokens, size, 1, vectors, 1.0));
    }
  }
  out.push_back(norm(3, 32, 9, 0.0f, 1.0, 1e-5f));
  out.push_back(norm(4, 5, 3, 1.0f, 1.0, 1e-5f));
  out.push_back(bare_norm(1, 1, 1));
  out.push_back(bare_norm(3, 37, 5));
  out.push_back(layer_norm(3, 32, 9, Vectors::kBoth, 1.0));
  out.push_back(layer_norm(4, 5, 3, Vectors::kBothWide, 1.0));
  out.push_back(layer_norm(2, 100, 1, Vectors::kBoth, 1e15));
  out.push_back(layer_norm(2, 100, 1, Vectors::kBoth, 1e-12));
  out.push_back(layer_norm(2, 100, 1, Vectors::kBoth, 0.0));  // all zero
  out.push_back(norm(2, 100, 1, 1.0f, 1e15, 1e-6f));
  out.push_back(norm(2, 100, 1, 1.0f, 1e-12, 1e-6f));
  out.push_back(norm(2, 100, 1, 0.0f, 0.0, 1e-6f));  // all zero
  return out;
}

}  // namespace

std::vector<OpCase> row_cases() {
  std::vector<OpCase> out;
  for (const Format& format : all_formats())
    out.push_back(embed(format, 5, 2 * std::max<int64_t>(block_cols(format), 32), 1.0f));
  out.push_back(embed(kF32Format, 0, 33, 1.0f));
  out.push_back(embed(kF32Format, 1, 1, 1.0f));
  out.push_back(embed({FormatKind::kBF16}, 20, 65, 8.0311f));

  out.push_back(ids_past_the_table(12, 33));
  out.push_back(positions_embed(9, 33, 0));
  out.push_back(positions_embed(9, 33, 2));
  for (OpCase& norm_case : norm_cases()) out.push_back(std::move(norm_case));
  for (const auto& [tokens, width] : {std::pair{0, 8}, {1, 1}, {1, 9}, {3, 64}, {5, 129}}) {
    out.push_back(binary("add", Add{}, tokens, width, 1.0));
    out.push_back(binary("mul", Mul{}, tokens, width, 1.0));
    out.push_back(scale_by(tokens, width, 1));
    out.push_back(scale_by(tokens, width, width));
    out.push_back(scale_columns(tokens, width));
    out.push_back(wide_group_norm(tokens, width, 3));
    for (const int32_t offset : {0, 1}) out.push_back(position_scale(tokens, width, offset));
    out.push_back(weighted_sum(tokens, width, 0, 1.0f, 1));
    out.push_back(weighted_sum(tokens, width, 3, 0.0f, 4));
    for (double scale : {1.0, 1e-4}) {
      out.push_back(unary("cutoff", Cutoff{1.6448536f}, tokens, width, scale));
      out.push_back(binary("match_magnitude", MatchMagnitude{1e-5f}, tokens, width, scale));
    }
    out.push_back(slice(tokens, width, width / 3, width - width / 3));
    out.push_back(xielu(tokens, width, 1.0, -1e-6));
    out.push_back(xielu(tokens, width, 12.0, -0.03));
    for (Act act : {Act::kSilu, Act::kGeluTanh, Act::kGeluErf, Act::kRelu, Act::kRelu2}) {
      for (double scale : {1.0, 12.0}) {
        out.push_back(unary("activate " + std::string(act_name(act)), Activate{act}, tokens, width, scale));
        out.push_back(binary("act_mul " + std::string(act_name(act)), ActMul{act}, tokens, width, scale));
      }
    }
    out.push_back(unary("softcap", Softcap{30.0f}, tokens, width, 100.0));
    out.push_back(unary("scale", Scale{0.0625f}, tokens, width, 3.0));
  }
  for (Act act : {Act::kSilu, Act::kGeluTanh, Act::kGeluErf}) {
    out.push_back(binary("act_mul " + std::string(act_name(act)), ActMul{act}, 40, 257, 1e-3));
    out.push_back(binary("act_mul " + std::string(act_name(act)), ActMul{act}, 40, 257, 200.0));
  }
  out.push_back(unary("softcap", Softcap{50.0f}, 30, 257, 1e-3));
  out.push_back(unary("softcap", Softcap{50.0f}, 3, 257, 1e6));
  out.push_back(unary("scale", Scale{1.5f}, 2, 70, 3e38));  // overflows to infinity in places
  out.push_back(binary("add", Add{}, 2, 70, 3e38));

  out.push_back(gather(1, {0}));
  out.push_back(gather(9, {8, 0, 3, 3}));
  out.push_back(gather(4, {}));
  return out;
}

}  // namespace skua::test
