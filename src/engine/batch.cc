// Appending runs of tokens to a batch.
#include "engine/batch.h"

#include "base/check.h"

namespace skua {

void append(Batch& batch, std::span<const int32_t> ids, int32_t n_cached, int32_t n_rows,
            std::vector<std::span<const int32_t>> pages) {
  const auto q_begin = static_cast<int32_t>(batch.ids.size());
  const auto q_len = static_cast<int32_t>(ids.size());
  SKUA_CHECK_LE(n_rows, q_len);
  for (int32_t i = 0; i < q_len; ++i) {
    batch.ids.push_back(ids[static_cast<size_t>(i)]);
    batch.positions.push_back(n_cached + i);
    if (i >= q_len - n_rows) batch.rows.push_back(q_begin + i);
  }
  batch.seqs.push_back({q_begin, q_len, n_cached + q_len, std::move(pages)});
}

}  // namespace skua
