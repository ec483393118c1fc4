// Cases of the cache and of attention: the graph writes k and v, then attends.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "backend/cases.h"

namespace skua::test {
namespace {

struct Shape {
  int32_t n_heads = 4;
  int32_t n_kv_heads = 2;
  int32_t k_dim = 16;
  int32_t v_dim = 16;
  int32_t window = 0;
  float softcap = 0.0f;
  int32_t chunk = 0;
  double sinks = 0.0;  // size of the heads' sinks; 0 = none
  DType cache = DType::kF32;
};

/// Input ids: k = 0, v = 1, q = 2.
CaseBuilder graph_of(const std::string& name, const Shape& shape) {
  CaseBuilder b("attention " + name + " (" + std::to_string(shape.n_heads) + "/" +
                std::to_string(shape.n_kv_heads) + " heads, " + std::to_string(shape.k_dim) + "/" +
                std::to_string(shape.v_dim) + ", window " + std::to_string(shape.window) + ", chunk " +
                std::to_string(shape.chunk) + (shape.sinks > 0 ? ", sinks" : "") + ")");
  const int32_t kept = std::max(shape.window, shape.chunk);
  const SlotId slot = b.slot({kept > 0 ? SlotKind::kWindow : SlotKind::kFull, 0, shape.n_kv_heads,
                              shape.k_dim, shape.v_dim, kept, shape.cache});
  const ValueId k = b.input(int64_t{shape.n_kv_heads} * shape.k_dim);
  const ValueId v = b.input(int64_t{shape.n_kv_heads} * shape.v_dim);
  const ValueId q = b.input(int64_t{shape.n_heads} * shape.k_dim);
  b.node(KvWrite{slot}, {k, v});
  Attention attention{slot,         shape.n_heads, static_cast<float>(1.0 / std::sqrt(shape.k_dim)),
                      shape.window, shape.softcap, shape.chunk};
  if (shape.sinks > 0)
    attention.sinks = b.weight(random_weight({FormatKind::kF32}, 1, shape.n_heads, shape.sinks, 99));
  b.node(attention, {q});
  return b;
}

std::vector<int32_t> pages(int32_t first, int32_t n) {
  std::vector<int32_t> out(static_cast<size_t>(n));
  std::iota(out.begin(), out.end(), first);
  return out;
}

/// One sequence, processed in chunks of the given lengths.
OpCase chunks(const std::string& name, const Shape& shape, const std::vector<int32_t>& lengths,
              double scale = 1.0) {
  CaseBuilder b = graph_of(name, shape);
  const int32_t total = std::accumulate(lengths.begin(), lengths.end(), 0);
  const std::vector<int32_t> table = pages(0, total / kPageTokens + 1);
  int32_t kv_len = 0;
  uint64_t seed = 100;
  for (int32_t length : lengths) b.step({{length, kv_len += length, table}}, seed++, scale);
  return b.take();
}

/// Three sequences of unlike lengths, one without tokens, one without anything; then a step that decodes two.
OpCase strangers(const Shape& shape) {
  CaseBuilder b = graph_of("several sequences", shape);
  b.step({{70, 70, {3, 1}}, {0, 0, {}}, {5, 5, {0}}, {129, 129, {2, 6, 4}}}, 200);
  b.step({{1, 6, {0}}, {0, 70, {3, 1}}, {3, 132, {2, 6, 4}}, {0, 0, {}}}, 201);
  return b.take();
}

/// Two sequences share the pages of a prefix of 64 tokens and go on with their own.
OpCase shared_prefix(const Shape& shape) {
  CaseBuilder b = graph_of("shared pages", shape);
  b.step({{64, 64, {5}}}, 210);
  b.step({{7, 71, {5, 1}}, {30, 94, {5, 3}}}, 211);
  b.step({{1, 72, {5, 1}}, {1, 95, {5, 3}}}, 212);
  return b.take();
}

/// Pages wholly behind the window are gone.
OpCase freed_pages(const Shape& shape) {
  CaseBuilder b = graph_of("pages behind the window freed", shape);
  b.step({{200, 200, {0, 1, 2, 3}}}, 220);
  b.step({{1, 201, {-1, -1, 2, 3}}}, 221);
  b.step({{3, 204, {-1, -1, 2, 3}}}, 222);
  return b.take();
}

/// Nothing of the middle sequence is resident: its rows have no key and give 0.
OpCase not_resident(const Shape& shape) {
  CaseBuilder b = graph_of("no resident page", shape);
  b.step({{2, 2, {1}}, {3, 3, {-1}}, {1, 1, {0}}}, 230);
  return b.take();
}

/// A cache of 16-bit numbers.
void add_half_cases(DType cache, std::vector<OpCase>& out) {
  const Shape plain{.cache = cache};
  for (const std::vector<int32_t>& lengths : {std::vector<int32_t>{1}, {63, 1, 1, 1}, {130, 3}}) {
    out.push_back(chunks("16 bits", plain, lengths));
  }
  out.push_back(chunks("16 bits, 300 tokens",
                       {.n_heads = 9, .n_kv_heads = 3, .k_dim = 64, .v_dim = 64, .cache = cache},
                       {290, 9, 1}));
  out.push_back(chunks("16 bits, odd sizes",
                       {.n_heads = 5, .n_kv_heads = 1, .k_dim = 7, .v_dim = 21, .cache = cache}, {67, 1}));
  out.push_back(chunks("16 bits, large scores", plain, {70, 2}, 60.0));
  out.push_back(strangers({.window = 20, .cache = cache}));
  out.push_back(shared_prefix(plain));
  out.push_back(freed_pages({.window = 60, .cache = cache}));
}

}  // namespace

std::vector<OpCase> attention_cases() {
  const Shape plain;
  std::vector<OpCase> out;
  for (const std::vector<int32_t>& lengths :
       {std::vector<int32_t>{1}, {0}, {2, 1, 1}, {63, 1, 1, 1}, {64}, {65}, {130, 3}, {17, 48, 64, 2}}) {
    out.push_back(chunks("chunks", plain, lengths));
  }
  out.push_back(chunks("300 tokens", {.n_heads = 9, .n_kv_heads = 3, .k_dim = 64, .v_dim = 64}, {290, 9, 1}));
  out.push_back(chunks("odd sizes", {.n_heads = 3, .n_kv_heads = 1, .k_dim = 7, .v_dim = 5}, {67, 1}));
  out.push_back(chunks("one head", {.n_heads = 1, .n_kv_heads = 1, .k_dim = 1, .v_dim = 1}, {3, 1}));
  out.push_back(chunks("wide heads", {.n_heads = 2, .n_kv_heads = 1, .k_dim = 256, .v_dim = 256}, {70, 1}));
  out.push_back(
      chunks("v narrower than k", {.n_heads = 5, .n_kv_heads = 5, .k_dim = 24, .v_dim = 16}, {66, 2}));
  out.push_back(chunks("softcap", {.softcap = 5.0f}, {80, 1}, 6.0));
  out.push_back(chunks("large scores", plain, {70, 2}, 60.0));
  out.push_back(chunks("zeros", plain, {70, 1}, 0.0));
  for (int32_t window : {1, 8, 64, 65, 128, 1000}) {
    Shape shape;
    shape.window = window;
    out.push_back(chunks("window", shape, {6, 1, 1, 1, 1, 60, 130, 1}));
  }
  out.push_back(chunks("window 128 to position 500", {.window = 128}, {400, 100, 1}));
  out.push_back(
      chunks("window over several splits", {.n_heads = 2, .n_kv_heads = 1, .window = 600}, {700, 130, 1, 9}));
  for (int32_t chunk : {1, 8, 63, 64, 65, 300}) {
    out.push_back(chunks("chunked", {.chunk = chunk}, {6, 1, 1, 1, 1, 60, 130, 1}));
  }
  out.push_back(chunks("chunked within a window", {.window = 20, .chunk = 50}, {40, 1, 90, 1}));
  for (double sinks : {1.0, 40.0}) {
    out.push_back(chunks("sinks", {.sinks = sinks}, {66, 2, 1}));
    out.push_back(chunks("sinks over several splits", {.n_heads = 5, .n_kv_heads = 1, .sinks = sinks},
                         {290, 9, 1, 300}, 4.0));
    out.push_back(chunks("sinks", {.window = 8, .softcap = 5.0f, .sinks = sinks}, {6, 1, 1, 1, 80, 1}));
  }
  for (const DType cache : {DType::kF16, DType::kBF16}) add_half_cases(cache, out);
  out.push_back(strangers({.chunk = 32, .sinks = 2.0}));
  out.push_back(not_resident({.sinks = 2.0}));
  out.push_back(strangers(plain));
  out.push_back(strangers({.window = 20}));
  out.push_back(shared_prefix(plain));
  out.push_back(freed_pages({.window = 60}));
  out.push_back(not_resident(plain));
  return out;
}

}  // namespace skua::test
