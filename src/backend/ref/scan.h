// Inside backend/ref: how a scan (recurrent op) walks the pages of its slot. See CacheSlot (ir/graph.h) for
// what a page holds and when its state can be gone on from.
//
// A scan is an object that handles one block of the state:
//   void keep(int64_t t, double* row) const;              copies its part of token t's inputs to a page's row
//   void replay(double* state, const double* row) const;  adds a kept row to the state
//   void step(double* state, int64_t t) const;            adds token t of the batch and writes its outputs
// step() and replay() must do the same arithmetic; the state is rounded to the slot's storage by both.
#pragma once

#include <algorithm>
#include <vector>

#include "backend/ref/parts.h"

namespace skua::ref {

/// The pages of one sequence in a recurrent slot.
class RecurrentView {
 public:
  RecurrentView(const Call& call, int32_t seq)
      : slot_(call.args.slot),
        layout_(call.args.slot),
        slab_(call.slab()),
        max_pages_(call.args.capacity.max_pages),
        pages_(call.ints(StepInput::kPageTable) + int64_t{seq} * max_pages_) {}

  /// Start of page number `stretch`, or nullptr if it is not resident.
  double* page(int64_t stretch) const {
    if (stretch < 0 || stretch >= max_pages_ || pages_[stretch] < 0) return nullptr;
    return slab_ + int64_t{pages_[stretch]} * layout_.end;
  }
  double* row(double* page, int64_t i) const { return page + i * slot_.row; }
  double& count(double* page, int64_t block) const { return page[layout_.counts + block]; }
  double* state(double* page, int64_t block) const { return page + layout_.states + block * slot_.state; }

 private:
  const CacheSlot& slot_;
  RecurrentPage layout_;
  double* slab_;
  int64_t max_pages_;
  const int32_t* pages_;
};

/// One block of the state over this step's tokens of one sequence.
template <typename Scan>
void scan_block(const Call& call, int32_t seq_index, int64_t block, const Scan& scan) {
  const StepSeq& seq = call.seqs()[seq_index];
  const RecurrentView view(call, seq_index);
  std::vector<double> state(static_cast<size_t>(call.args.slot.state), 0.0);
  const auto load = [&](double* page) {
    const double* from = view.state(page, block);
    state.assign(from, from + state.size());
  };
  const int64_t first = int64_t{seq.kv_len} - seq.q_len;
  double* border = view.page(first / kPageTokens - 1);
  double* own = view.page(first / kPageTokens);
  const int64_t n_behind = first % kPageTokens;  // rows of the first page that earlier steps wrote
  if (n_behind > 0 && own != nullptr && view.count(own, block) == static_cast<double>(n_behind)) {
    load(own);
  } else {
    if (border != nullptr) load(border);
    for (int64_t i = 0; i < n_behind && own != nullptr; ++i) scan.replay(state.data(), view.row(own, i));
  }
  for (int64_t i = 0; i < seq.q_len; ++i) {
    double* page = view.page((first + i) / kPageTokens);
    const int64_t place = (first + i) % kPageTokens;
    if (page != nullptr) scan.keep(seq.q_begin + i, view.row(page, place));
    scan.step(state.data(), seq.q_begin + i);
    if (page == nullptr || (place + 1 < kPageTokens && i + 1 < seq.q_len)) continue;
    std::copy(state.begin(), state.end(), view.state(page, block));
    view.count(page, block) = static_cast<double>(place + 1);
  }
}

/// make(block) gives the scan of a block; every sequence and block is walked.
template <typename Make>
void scan_all(const Call& call, const Make& make) {
  const int64_t n_blocks = call.args.slot.n_blocks;
  for_each(call.pool, int64_t{call.header.n_seqs} * n_blocks, [&](int64_t unit) {
    const int64_t block = unit % n_blocks;
    scan_block(call, static_cast<int32_t>(unit / n_blocks), block, make(block));
  });
}

}  // namespace skua::ref
