// Host memory for buffers and packed weights.
#pragma once

#include <memory>
#include <mutex>
#include <string_view>

#include "backend/backend.h"

namespace skua::cpu {

/// Maps `bytes` of memory, aligned to 64 bytes; large ones ask for huge pages. Error: kResourceExhausted,
/// naming `what` and the bytes.
Result<std::shared_ptr<DeviceBuffer>> map_buffer(uint64_t bytes, std::string_view what);

/// Hands out slices of large mappings, so that many small weights lie on few huge pages. Slices keep their
/// mapping alive. Safe to call from several threads.
class WeightHeap {
 public:
  /// A slice at a 64-byte border. Error: kResourceExhausted.
  Result<std::shared_ptr<DeviceBuffer>> take(uint64_t bytes, std::string_view what);

 private:
  std::mutex mutex_;
  std::shared_ptr<DeviceBuffer> chunk_;
  uint64_t used_ = 0;
};

}  // namespace skua::cpu
