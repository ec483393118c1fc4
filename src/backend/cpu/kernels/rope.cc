// Rotary positions, and writing keys and values to their cache pages.
#include "backend/cpu/kernels/cache_element.h"
#include "backend/cpu/kernels/call.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/math.h"

namespace skua::cpu::SKUA_ISA {
namespace {

constexpr int64_t kGrain = 16;  // tokens below which a second thread does not pay

/// Rotates one head. `angles`: n_pairs cosines, then n_pairs sines. y[a] = x[a] c - x[b] s,
/// y[b] = x[b] c + x[a] s, the first product rounded, the second fused.
void rotate_head(const RopeArgs& args, const float* angles, const float* x, float* y) {
  const float* cosines = angles;
  const float* sines = angles + args.n_pairs;
  const int64_t n = args.n_pairs;
  if (args.style == RopeStyle::kHalf) {
    for (int64_t i = 0; i < n; i += 16) {
      const int64_t count = min_of(n - i, int64_t{16});
      const V16 c = load_part(cosines + i, count), s = load_part(sines + i, count);
      const V16 a = load_part(x + i, count), b = load_part(x + n + i, count);
      store_part(y + i, fnma(b, s, a * c), count);
      store_part(y + n + i, fma(a, s, b * c), count);
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      const float a = x[2 * i], b = x[2 * i + 1], c = cosines[i], s = sines[i];
      y[2 * i] = __builtin_fmaf(-b, s, a * c);
      y[2 * i + 1] = __builtin_fmaf(a, s, b * c);
    }
  }
  for (int64_t i = 2 * n; i < args.head_dim; ++i) y[i] = x[i];
}

/// Where a token's keys and values go. Element: what the cache holds.
template <typename Element>
struct CacheWriter {
  const SlotShape& shape;
  const int32_t* token_seq;
  const StepSeq* seqs;
  const int32_t* pages;
  Element* slab;
  uint64_t* all_saturated;
  uint64_t saturated = 0;  // of one range of tokens: each range has its own copy

  explicit CacheWriter(const Call<KvWriteArgs>& call)
      : shape(call.args.slot),
        token_seq(reinterpret_cast<const int32_t*>(call.operands[1])),
        seqs(reinterpret_cast<const StepSeq*>(call.operands[2])),
        pages(reinterpret_cast<const int32_t*>(call.operands[3])),
        slab(reinterpret_cast<Element*>(call.operands[call.args.slab])),
        all_saturated(&call.saturated) {}

  /// The page of token t and its place there; null when the page is not resident.
  Element* page_of(int64_t t, int64_t* place) const {
    const StepSeq& seq = seqs[token_seq[t]];
    const int64_t pos = int64_t{seq.kv_len} - seq.q_len + (t - seq.q_begin);
    if (pos < 0 || pos >= seq.kv_len || pos / kPageTokens >= shape.max_pages) return nullptr;
    const int32_t page = pages[token_seq[t] * shape.max_pages + pos / kPageTokens];
    *place = pos % kPageTokens;
    return page < 0 ? nullptr : slab + page * shape.page_elements();
  }

  void put_row(Element* to, const float* from, int64_t n) {
    if constexpr (sizeof(Element) == sizeof(float)) {
      __builtin_memcpy(to, from, static_cast<size_t>(n) * sizeof(float));
    } else {
      for (int64_t i = 0; i < n; ++i) put_cached(from[i], to + i, &saturated);
    }
  }
  void put_k(Element* page, int64_t place, int64_t head, const float* k) {
    if (shape.order == PageOrder::kLatent)
      return put_row(page + place * shape.latent_row() + shape.v_dim, k, shape.k_dim);
    Element* to = page + shape.k_begin(head) + place;
    for (int64_t i = 0; i < shape.k_dim; ++i) put_cached(k[i], to + i * kPageTokens, &saturated);
  }
  void put_v(Element* page, int64_t place, int64_t head, const float* v) {
    const bool latent = shape.order == PageOrder::kLatent;
    put_row(page + (latent ? place * shape.latent_row() : shape.v_begin(head) + place * shape.v_dim), v,
            shape.v_dim);
  }
  void count() const {
    if (saturated > 0) __atomic_fetch_add(all_saturated, saturated, __ATOMIC_RELAXED);
  }
};

template <typename Element>
void write_all(const Call<KvWriteArgs>& call) {
  const SlotShape& shape = call.args.slot;
  call.ranges(call.n_rows(), kGrain, [&](int64_t begin, int64_t end) {
    CacheWriter<Element> writer(call);
    for (int64_t t = begin; t < end; ++t) {
      int64_t place = 0;
      Element* page = writer.page_of(t, &place);
      if (page == nullptr) continue;
      for (int64_t head = 0; head < shape.n_kv_heads; ++head) {
        writer.put_k(page, place, head, call.input(0) + (t * shape.n_kv_heads + head) * shape.k_dim);
        writer.put_v(page, place, head, call.input(1) + (t * shape.n_kv_heads + head) * shape.v_dim);
      }
    }
    writer.count();
  });
}

template <typename Element>
void rotate_and_write_all(const Call<KvWriteArgs>& call) {
  const SlotShape& shape = call.args.slot;
  call.thread_ranges(call.n_rows(), kGrain, [&](int thread, int64_t begin, int64_t end) {
    CacheWriter<Element> writer(call);
    auto* rotated = reinterpret_cast<float*>(call.workspace(thread));
    for (int64_t t = begin; t < end; ++t) {
      int64_t place = 0;
      Element* page = writer.page_of(t, &place);
      if (page == nullptr) continue;
      const float* angles = call.input(1) + t * 2 * call.args.rope.n_pairs;
      for (int64_t head = 0; head < shape.n_kv_heads; ++head) {
        rotate_head(call.args.rope, angles, call.input(0) + (t * shape.n_kv_heads + head) * shape.k_dim,
                    rotated);
        writer.put_k(page, place, head, rotated);
        writer.put_v(page, place, head, call.input(2) + (t * shape.n_kv_heads + head) * shape.v_dim);
      }
    }
    writer.count();
  });
}

}  // namespace

void rope_angles(const KernelCall& kernel_call) {
  const Call<RopeAnglesArgs> call(kernel_call);
  const auto* positions = reinterpret_cast<const int32_t*>(call.operands[1]);
  const auto n = static_cast<int64_t>(call.args.inv_freq.size());
  call.ranges(call.n_rows(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      float* y = call.output(0) + t * 2 * n;
      for (int64_t i = 0; i < n; ++i) {
        double sine, cosine;
        sin_cos(static_cast<double>(positions[t]) * call.args.inv_freq[static_cast<size_t>(i)], &sine,
                &cosine);
        y[i] = static_cast<float>(cosine * call.args.attention_factor);
        y[n + i] = static_cast<float>(sine * call.args.attention_factor);
      }
    }
  });
}

void rope(const KernelCall& kernel_call) {
  const Call<RopeArgs> call(kernel_call);
  const RopeArgs& args = call.args;
  const int64_t width = args.n_heads * args.head_dim;
  call.ranges(call.n_rows(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const float* angles = call.input(1) + t * 2 * args.n_pairs;
      for (int64_t head = 0; head < args.n_heads; ++head) {
        const int64_t at = t * width + head * args.head_dim;
        rotate_head(args, angles, call.input(0) + at, call.output(0) + at);
      }
    }
  });
}

void kv_write(const KernelCall& kernel_call) {
  const Call<KvWriteArgs> call(kernel_call);
  const DType element = call.args.slot.element;
  if (element == DType::kF16) return write_all<F16>(call);
  if (element == DType::kBF16) return write_all<BF16>(call);
  write_all<float>(call);
}

void rope_kv_write(const KernelCall& kernel_call) {
  const Call<KvWriteArgs> call(kernel_call);
  const DType element = call.args.slot.element;
  if (element == DType::kF16) return rotate_and_write_all<F16>(call);
  if (element == DType::kBF16) return rotate_and_write_all<BF16>(call);
  rotate_and_write_all<float>(call);
}

}  // namespace skua::cpu::SKUA_ISA
