// CausalConv: each channel's last K inputs, weighed. Rows of this step come from the input, older ones from
// the slot; rows before the sequence are 0, and so are those whose page is not resident.
#include "backend/ref/parts.h"

namespace skua::ref {
namespace {

/// The slot's row of a position, or nullptr.
double* slot_row(const Call& call, int32_t seq, int64_t position) {
  const int64_t max_pages = call.args.capacity.max_pages;
  const int32_t* pages = call.ints(StepInput::kPageTable) + int64_t{seq} * max_pages;
  const int64_t stretch = position / kPageTokens;
  if (position < 0 || stretch >= max_pages || pages[stretch] < 0) return nullptr;
  return call.slab() + int64_t{pages[stretch]} * page_elements(call.args.slot) +
         position % kPageTokens * call.args.slot.row;
}

}  // namespace

void causal_conv(const Call& call) {
  const auto& op = call.op<CausalConv>();
  const Rows x = call.input(0), y = call.output(0);
  const int64_t n_taps = call.args.slot.window;
  std::vector<std::vector<double>> taps;
  for (int64_t j = 0; j < n_taps; ++j) taps.push_back(call.weight_row(0, j));
  std::vector<double> bias(static_cast<size_t>(x.width), 0.0);
  if (op.bias) bias = call.weight_row(1, 0);
  for_each(call.pool, x.n, [&](int64_t t) {
    const int32_t seq_index = call.ints(StepInput::kTokenSeq)[t];
    const StepSeq& seq = call.seqs()[seq_index];
    const int64_t position = cache_position(seq, t);
    std::vector<double> sum = bias;
    for (int64_t j = 0; j < n_taps; ++j) {
      const int64_t back = n_taps - 1 - j;
      const bool own = t - back >= seq.q_begin;
      const double* row = own ? x.row(t - back) : slot_row(call, seq_index, position - back);
      if (row == nullptr) continue;
      for (int64_t c = 0; c < x.width; ++c)
        sum[static_cast<size_t>(c)] += taps[static_cast<size_t>(j)][static_cast<size_t>(c)] * row[c];
    }
    for (int64_t c = 0; c < x.width; ++c) {
      const double value = sum[static_cast<size_t>(c)];
      y.store(t, c, op.then == CausalConv::Then::kSilu ? activate(Act::kSilu, value) : value);
    }
    double* kept = slot_row(call, seq_index, position);
    if (kept == nullptr) return;
    for (int64_t c = 0; c < x.width; ++c) kept[c] = round_to(call.args.slot.storage, x.row(t)[c]);
  });
}

}  // namespace skua::ref
