// Cases of recurrent ops: convolutions and scans over pages, in chunks, among strangers, after rollbacks and
// in copies of pages.
#include <numeric>
#include <string>

#include "backend/cases.h"

namespace skua::test {
namespace {

std::vector<int32_t> pages(int32_t first, int32_t n) {
  std::vector<int32_t> out(static_cast<size_t>(n));
  std::iota(out.begin(), out.end(), first);
  return out;
}

struct ConvShape {
  int64_t width = 40;
  int32_t n_taps = 4;
  DType taps = DType::kBF16;
  bool bias = true;
  CausalConv::Then then = CausalConv::Then::kSilu;
};

CaseBuilder conv(const std::string& name, const ConvShape& shape) {
  CaseBuilder b("causal_conv " + name + " (" + std::to_string(shape.width) + " channels, " +
                std::to_string(shape.n_taps) + " taps)");
  CacheSlot slot;
  slot.kind = SlotKind::kConv;
  slot.window = shape.n_taps;
  slot.row = shape.width;
  CausalConv op{b.slot(slot),
                b.weight(random_weight(plain_format(shape.taps), shape.n_taps, shape.width, 1.0, 9)),
                std::nullopt, shape.then};
  if (shape.bias) op.bias = b.weight(random_weight({FormatKind::kF32}, 1, shape.width, 0.5, 10));
  b.node(op, {b.input(shape.width)});
  return b;
}

struct SsmShape {
  int32_t n_heads = 4;
  int32_t head_dim = 16;
  int32_t n_groups = 2;
  int32_t state_dim = 8;
  float dt_min = 0.0f;
  float dt_max = std::numeric_limits<float>::infinity();
};

CaseBuilder ssm(const std::string& name, const SsmShape& shape) {
  CaseBuilder b("ssm2 " + name + " (" + std::to_string(shape.n_heads) + " heads of " +
                std::to_string(shape.head_dim) + ", " + std::to_string(shape.n_groups) + " groups, state " +
                std::to_string(shape.state_dim) + ")");
  const int64_t d_inner = int64_t{shape.n_heads} * shape.head_dim;
  const int64_t bc = int64_t{shape.n_groups} * shape.state_dim;
  CacheSlot slot;
  slot.kind = SlotKind::kRecurrent;
  slot.row = d_inner + bc + shape.n_heads;
  slot.n_blocks = shape.n_heads;
  slot.state = int64_t{shape.state_dim} * shape.head_dim;
  const auto vector = [&](uint64_t seed) {
    return b.weight(random_weight({FormatKind::kF32}, 1, shape.n_heads, 1.0, seed));
  };
  const WeightId a_log = vector(11), d = vector(12), dt_bias = vector(13);
  Ssm2 op{b.slot(slot),    a_log,        d,           dt_bias, shape.n_heads, shape.head_dim, shape.n_groups,
          shape.state_dim, shape.dt_min, shape.dt_max};
  const ValueId xbc = b.input(d_inner + 2 * bc), dt = b.input(shape.n_heads);
  b.node(op, {xbc, dt});
  return b;
}

struct DeltaShape {
  int32_t n_k_heads = 2;
  int32_t n_v_heads = 4;
  int32_t k_dim = 16;
  int32_t v_dim = 32;
};

CaseBuilder delta(const std::string& name, const DeltaShape& shape) {
  CaseBuilder b("gated_delta " + name + " (" + std::to_string(shape.n_v_heads) + " on " +
                std::to_string(shape.n_k_heads) + " heads of " + std::to_string(shape.k_dim) + " x " +
                std::to_string(shape.v_dim) + ")");
  GatedDelta op;
  op.n_k_heads = shape.n_k_heads;
  op.n_v_heads = shape.n_v_heads;
  op.k_dim = shape.k_dim;
  op.v_dim = shape.v_dim;
  op.slot = b.slot(delta_slot(op, 0));
  const auto vector = [&](double mean, uint64_t seed) {
    std::vector<double> values = random_weight({FormatKind::kF32}, 1, shape.n_v_heads, 1.0, seed).row(0);
    for (double& v : values) v = round_to(DType::kF32, v + mean);
    return b.weight(plain_weight(DType::kF32, 1, shape.n_v_heads, values));
  };
  op.a_log = vector(0.0, 14);
  op.dt_bias = vector(-2.0, 15);  // states that last
  const int64_t k = int64_t{shape.n_k_heads} * shape.k_dim, v = int64_t{shape.n_v_heads} * shape.v_dim;
  const ValueId query = b.input(k), key = b.input(k), value = b.input(v);
  const ValueId decay = b.input(shape.n_v_heads), beta = b.input(shape.n_v_heads);
  b.node(op, {query, key, value, decay, beta});
  return b;
}

struct Ssm1Shape {
  int64_t d_inner = 40;
  int64_t d_state = 8;
  DType rates = DType::kBF16;
};

CaseBuilder ssm1(const std::string& name, const Ssm1Shape& shape) {
  CaseBuilder b("ssm1 " + name + " (" + std::to_string(shape.d_inner) + " x " +
                std::to_string(shape.d_state) + ")");
  Ssm1 op;
  op.slot = b.slot(ssm1_slot(shape.d_inner, shape.d_state, 0));
  op.a_log = b.weight(random_weight(plain_format(shape.rates), shape.d_state, shape.d_inner, 1.0, 16));
  op.dt_bias = b.weight(random_weight({FormatKind::kF32}, 1, shape.d_inner, 2.0, 17));
  op.d = b.weight(random_weight({FormatKind::kF32}, 1, shape.d_inner, 1.0, 18));
  const ValueId x = b.input(shape.d_inner), dt = b.input(shape.d_inner);
  const ValueId input = b.input(shape.d_state), output = b.input(shape.d_state);
  b.node(op, {x, dt, input, output});
  return b;
}

/// One sequence in chunks of the given lengths.
OpCase chunks(CaseBuilder b, const std::vector<int32_t>& lengths, double scale = 1.0) {
  const int32_t total = std::accumulate(lengths.begin(), lengths.end(), 0);
  const std::vector<int32_t> table = pages(0, total / kPageTokens + 1);
  int32_t kv_len = 0;
  uint64_t seed = 300;
  for (int32_t length : lengths) b.step({{length, kv_len += length, table}}, seed++, scale);
  return b.take();
}

/// Several sequences, some without tokens, then a step that goes on with some of them.
OpCase strangers(CaseBuilder b) {
  b.step({{70, 70, {3, 1}}, {0, 0, {}}, {5, 5, {0}}, {129, 129, {2, 6, 4}}}, 310);
  b.step({{1, 6, {0}}, {0, 70, {3, 1}}, {3, 132, {2, 6, 4}}, {0, 0, {}}}, 311);
  b.step({{60, 130, {3, 1, 7}}, {2, 8, {0}}}, 312);
  return b.take();
}

/// Drafts are refused: positions are run again with other inputs, within a page and over its border.
OpCase rolled_back(CaseBuilder b) {
  const std::vector<int32_t> table = pages(0, 4);
  b.step({{40, 40, table}}, 320);
  b.step({{9, 49, table}}, 321);
  b.step({{5, 45, table}}, 322);   // of the 9 none is kept
  b.step({{6, 47, table}}, 323);   // 41 are kept
  b.step({{16, 63, table}}, 324);  // all are kept
  b.step({{8, 71, table}}, 325);   // over the border
  b.step({{8, 70, table}}, 326);   // back to 62
  b.step({{2, 64, table}}, 327);   // back to 62, ends at the border
  b.step({{7, 71, table}}, 328);
  b.step({{70, 134, table}}, 329);  // back to 64: a page's first row
  b.step({{1, 131, table}}, 330);   // back to 130
  return b.take();
}

/// Two sequences share full pages and go on with their own; pages behind are gone.
OpCase shared_and_dropped(CaseBuilder b) {
  b.step({{128, 128, {5, 6}}}, 340);
  b.step({{7, 135, {-1, 6, 1}}, {30, 158, {-1, 6, 3}}}, 341);
  b.step({{1, 136, {-1, 6, 1}}, {40, 198, {-1, 6, 3, 4}}}, 342);
  b.step({{2, 200, {-1, -1, 3, 4}}, {1, 137, {-1, 6, 1}}}, 343);
  return b.take();
}

template <typename Make>
void add_walks(std::vector<OpCase>& out, const Make& make) {
  for (const std::vector<int32_t>& lengths : {std::vector<int32_t>{1},
                                              {0},
                                              {2, 1, 1},
                                              {63, 1, 1, 1},
                                              {64},
                                              {65, 63, 1},
                                              {130, 3},
                                              {17, 48, 64, 2}}) {
    out.push_back(chunks(make("chunks"), lengths));
  }
  out.push_back(chunks(make("zeros"), {70, 1}, 0.0));
  out.push_back(chunks(make("large inputs"), {70, 3}, 30.0));
  out.push_back(strangers(make("several sequences")));
  out.push_back(rolled_back(make("refused drafts")));
  out.push_back(shared_and_dropped(make("shared pages")));
}

}  // namespace

std::vector<OpCase> scan_cases() {
  std::vector<OpCase> out;
  add_walks(out, [](const char* name) { return conv(name, {}); });
  for (const ConvShape& shape : {ConvShape{1, 1, DType::kF32, false, CausalConv::Then::kNothing},
                                 {17, 2, DType::kF16, false, CausalConv::Then::kSilu},
                                 {3000, 3, DType::kBF16, true, CausalConv::Then::kNothing},
                                 {33, 70, DType::kF32, true, CausalConv::Then::kSilu}}) {
    out.push_back(chunks(conv("shapes", shape), {67, 1, 5, 130}));
  }
  add_walks(out, [](const char* name) { return ssm(name, {}); });
  for (const SsmShape& shape :
       {SsmShape{1, 1, 1, 1}, {3, 7, 1, 5}, {6, 33, 3, 19}, {2, 64, 1, 128}, {4, 16, 4, 8, 0.3f, 0.9f}}) {
    out.push_back(chunks(ssm("shapes", shape), {67, 1, 5, 66}));
  }
  add_walks(out, [](const char* name) { return ssm1(name, {}); });
  for (const Ssm1Shape& shape :
       {Ssm1Shape{1, 1, DType::kF32}, {16, 16, DType::kF16}, {35, 3, DType::kF32}, {64, 130, DType::kBF16}}) {
    out.push_back(chunks(ssm1("shapes", shape), {67, 1, 5, 66}));
    out.push_back(rolled_back(ssm1("shapes, refused drafts", shape)));
  }
  add_walks(out, [](const char* name) { return delta(name, {}); });
  for (const DeltaShape& shape :
       {DeltaShape{1, 1, 1, 1}, {3, 3, 7, 5}, {1, 6, 33, 19}, {1, 2, 128, 128}, {2, 2, 6, 50}}) {
    out.push_back(chunks(delta("shapes", shape), {67, 1, 5, 66}));
    out.push_back(rolled_back(delta("shapes, refused drafts", shape)));
  }
  return out;
}

}  // namespace skua::test
