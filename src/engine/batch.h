// One step's work: tokens of several sequences, several per sequence, and the rows whose logits are wanted.
// Filled by the scheduler (or by hand in tests), read by Runner.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace skua {

/// A run of tokens of one sequence: batch rows [q_begin, q_begin + q_len) at cache positions [kv_len - q_len,
/// kv_len).
struct BatchSeq {
  int32_t q_begin = 0;
  int32_t q_len = 0;
  int32_t kv_len = 0;
  std::vector<std::span<const int32_t>> pages;  // by cache group; must cover kv_len (or -1 behind a window)
};

struct Batch {
  std::vector<int32_t> ids;        // [n_tokens]
  std::vector<int32_t> positions;  // [n_tokens]: rope positions
  std::vector<BatchSeq> seqs;
  std::vector<int32_t> rows;  // token indices whose logits are wanted, in output order
};

/// Appends `ids` as the next tokens of a sequence whose first `n_cached` tokens are in its pages; asks for
/// the logits of the last `n_rows` of them.
void append(Batch& batch, std::span<const int32_t> ids, int32_t n_cached, int32_t n_rows,
            std::vector<std::span<const int32_t>> pages);

}  // namespace skua
