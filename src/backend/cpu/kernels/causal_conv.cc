// Depthwise causal convolution. Per output one chain: bias, then the taps from the oldest row to the newest.
// Rows of this step come from the input, older ones from the slot's pages; this step's rows are kept there.
#include "backend/cpu/kernels/decode.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/math.h"
#include "backend/cpu/kernels/rows.h"

namespace skua::cpu::SKUA_ISA {
namespace {

constexpr int64_t kGrain = 1024;  // channels below which a second thread does not pay

struct Conv {
  const ConvArgs& args;
  const float* x;
  float* y;
  const float* bias;  // null = none
  const int32_t* token_seq;
  const StepSeq* seqs;
  const int32_t* tables;
  float* slab;

  float* slot_row(int64_t seq, int64_t position) const {
    const int64_t stretch = position / kPageTokens;
    if (position < 0 || stretch >= args.max_pages) return nullptr;
    const int32_t page = tables[seq * args.max_pages + stretch];
    return page < 0 ? nullptr : slab + (page * kPageTokens + position % kPageTokens) * args.width;
  }

  /// Channels [begin, end) of token t; `taps` holds n_taps rows of them.
  void token(int64_t t, int64_t begin, int64_t end, const float* taps) const {
    const int64_t n = end - begin;
    const int32_t seq = token_seq[t];
    const int64_t position = int64_t{seqs[seq].kv_len} - seqs[seq].q_len + (t - seqs[seq].q_begin);
    float* out = y + t * args.width + begin;
    for (int64_t c = 0; c < n; c += 16) {
      const int64_t count = min_of(n - c, int64_t{16});
      V16 sum = bias == nullptr ? zero() : load_part(bias + begin + c, count);
      for (int64_t j = 0; j < args.n_taps; ++j) {
        const int64_t back = args.n_taps - 1 - j;
        const float* row =
            t - back >= seqs[seq].q_begin ? x + (t - back) * args.width : slot_row(seq, position - back);
        if (row == nullptr) continue;
        sum = fma(load_part(taps + j * n + c, count), load_part(row + begin + c, count), sum);
      }
      store_part(out + c, args.silu ? silu_times(sum, splat(1.0f)) : sum, count);
    }
    float* kept = slot_row(seq, position);
    if (kept == nullptr) return;
    __builtin_memcpy(kept + begin, x + t * args.width + begin, static_cast<size_t>(n) * sizeof(float));
  }
};

}  // namespace

void causal_conv(const KernelCall& kernel_call) {
  const Call<ConvArgs> call(kernel_call);
  const ConvArgs& args = call.args;
  const auto* bias = args.bias < 0 ? nullptr : reinterpret_cast<const float*>(call.operands[args.bias]);
  const Conv conv{.args = args,
                  .x = call.input(0),
                  .y = call.output(0),
                  .bias = bias,
                  .token_seq = reinterpret_cast<const int32_t*>(call.operands[1]),
                  .seqs = reinterpret_cast<const StepSeq*>(call.operands[2]),
                  .tables = reinterpret_cast<const int32_t*>(call.operands[3]),
                  .slab = reinterpret_cast<float*>(call.operands[args.slab])};
  const PlaneView weight{call.weight(0), &args.taps};
  const DecodeFn decode = decoder(args.taps.format);
  const auto element = static_cast<int64_t>(args.tap_bytes);
  // Threads share the channels, so that each decodes its taps once.
  call.thread_ranges(args.width, kGrain, [&](int thread, int64_t begin, int64_t end) {
    auto* taps = reinterpret_cast<float*>(call.workspace(thread));
    for (int64_t j = 0; j < args.n_taps; ++j) {
      decode({weight.row(0, j) + begin * element, nullptr, nullptr, 0}, end - begin,
             taps + j * (end - begin));
    }
    for (int64_t t = 0; t < call.n_rows(); ++t) conv.token(t, begin, end, taps);
  });
}

}  // namespace skua::cpu::SKUA_ISA
