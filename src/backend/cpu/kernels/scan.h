// How a scan (recurrent op) walks the pages of its slot: the one place that decides where a state starts
// from. What a page holds, and why copies and rollbacks need nothing else: CacheSlot in ir/graph.h.
//
// A scan handles one block of the state (a head) of one sequence:
//   void keep(int64_t t, float* row) const;
//     copies this block's part of token t's inputs to a page's row; parts that several blocks share (B of a
//     group) are copied by exactly one of them, and no block reads a row that this step keeps
//   void replay(float* state, const float* rows, int64_t n) const;
//     adds n kept rows (`row` apart, starting at `rows`) to the state
//   void run(float* state, int64_t t, int64_t n) const;
//     adds tokens t .. t+n-1 of the batch to the state and writes their outputs; n <= kPageTokens
// replay() and run() must add a token by the same operations in the same order. The state's order within its
// `state` floats is the scan's own. It is worked on where it lies in the page.
#pragma once

#include "backend/cpu/kernels/call.h"

namespace skua::cpu::SKUA_ISA {

/// The pages of one sequence in a recurrent slot.
struct ScanPages {
  const ScanSlot& slot;
  const int32_t* table;  // of the sequence
  float* slab;

  /// Start of page number `stretch`, or null if it is not resident.
  float* page(int64_t stretch) const {
    if (stretch < 0 || stretch >= slot.max_pages || table[stretch] < 0) return nullptr;
    return slab + table[stretch] * slot.page_floats;
  }
  float* row(float* page, int64_t i) const { return page + i * slot.row; }
  float* count(float* page, int64_t block) const { return page + slot.counts + block; }
  float* state(float* page, int64_t block) const { return page + slot.states + block * slot.state; }
};

inline void copy_state(float* to, const float* from, int64_t n) {
  if (from == nullptr) {
    for (int64_t i = 0; i < n; ++i) to[i] = 0.0f;
  } else if (to != from) {
    __builtin_memcpy(to, from, static_cast<size_t>(n) * sizeof(float));
  }
}

/// One block over this step's tokens of one sequence. `spare` [state] stands in for pages that are not
/// resident.
template <typename Scan>
inline void scan_block(const ScanPages& pages, const StepSeq& seq, int64_t block, float* spare,
                       const Scan& scan) {
  if (seq.q_len <= 0) return;
  const int64_t first = int64_t{seq.kv_len} - seq.q_len;
  int64_t stretch = first / kPageTokens, place = first % kPageTokens;
  float* border = pages.page(stretch - 1);
  const float* before = border == nullptr ? nullptr : pages.state(border, block);
  for (int64_t done = 0; done < seq.q_len; ++stretch, place = 0) {
    float* page = pages.page(stretch);
    float* state = page == nullptr ? spare : pages.state(page, block);
    const bool goes_on =
        place > 0 && page != nullptr && *pages.count(page, block) == static_cast<float>(place);
    if (!goes_on) {
      copy_state(state, before, pages.slot.state);
      if (place > 0 && page != nullptr) scan.replay(state, pages.row(page, 0), place);
    }
    const int64_t n = min_of(kPageTokens - place, seq.q_len - done);
    for (int64_t i = 0; page != nullptr && i < n; ++i)
      scan.keep(seq.q_begin + done + i, pages.row(page, place + i));
    scan.run(state, seq.q_begin + done, n);
    if (page != nullptr) *pages.count(page, block) = static_cast<float>(place + n);
    before = state;
    done += n;
  }
}

/// make(thread, block) gives the scan of a block; every sequence and block is walked, each by one thread.
template <typename Args, typename Make>
inline void scan_all(const Call<Args>& call, const Make& make) {
  const Args& args = call.args;
  const auto* seqs = reinterpret_cast<const StepSeq*>(call.operands[1]);
  const auto* tables = reinterpret_cast<const int32_t*>(call.operands[2]);
  auto* slab = reinterpret_cast<float*>(call.operands[args.slab]);
  const int64_t n_blocks = args.slot.n_blocks;
  call.pool.run_units(call.header().n_seqs * n_blocks, [&](int thread, int64_t unit) {
    const int64_t seq = unit / n_blocks, block = unit % n_blocks;
    const ScanPages pages{args.slot, tables + seq * args.slot.max_pages, slab};
    scan_block(pages, seqs[seq], block, reinterpret_cast<float*>(call.workspace(thread)),
               make(thread, block));
  });
}

}  // namespace skua::cpu::SKUA_ISA
