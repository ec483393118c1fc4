// What the loop needs of a model: run a batch, give logits, move cache pages. Runner is the real one; the
// simulator's has scripted logits and no model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "cache/cache_manager.h"
#include "engine/batch.h"

namespace skua {

class StepRunner {
 public:
  virtual ~StepRunner() = default;

  /// Runs one step and returns when its logits can be read. Errors: kInvalidArgument (sizes), kInternal.
  virtual Status run(const Batch& batch) = 0;

  /// Logits of the last run, row-major [batch.rows, n_vocab]; valid until the next one.
  virtual Result<std::span<const float>> logits() = 0;

  /// Copies a page in the slab of every slot of its group. Runs at once, between steps.
  virtual Status copy_page(const PageCopy& copy) = 0;

  virtual CacheManager& cache() = 0;

  /// Bytes of one page of a group, over the slabs of all its slots, and moving them to and from host memory.
  virtual uint64_t page_bytes(uint32_t group) const = 0;
  virtual Status read_page(uint32_t group, int32_t page, std::span<std::byte> to) = 0;
  virtual Status write_page(uint32_t group, int32_t page, std::span<const std::byte> from) = 0;

  /// A number that differs when the cache would hold other bytes for the same tokens: weights, layout,
  /// arithmetic.
  virtual uint64_t fingerprint() = 0;

  /// How keys and values of heads are kept: "f32", "f16", "bf16".
  virtual std::string_view cache_type() const = 0;

  /// Number of the newest completed step.
  virtual uint64_t step() const = 0;
};

}  // namespace skua
