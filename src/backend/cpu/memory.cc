// Anonymous mappings; those of 4 MiB or more start at a huge page and are advised as such.
#include "backend/cpu/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <string>

#include "base/math.h"

namespace skua::cpu {
namespace {

constexpr uint64_t kHugePage = uint64_t{2} << 20;
constexpr uint64_t kChunk = uint64_t{32} << 20;
constexpr uint64_t kAlign = 64;

class Mapping final : public DeviceBuffer {
 public:
  Mapping(void* base, uint64_t mapped, std::byte* data, uint64_t bytes)
      : base_(base), mapped_(mapped), data_(data), bytes_(bytes) {}
  ~Mapping() override { ::munmap(base_, mapped_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  std::byte* data() const override { return data_; }
  uint64_t bytes() const override { return bytes_; }

 private:
  void* base_;
  uint64_t mapped_;
  std::byte* data_;
  uint64_t bytes_;
};

class Slice final : public DeviceBuffer {
 public:
  Slice(std::shared_ptr<DeviceBuffer> parent, uint64_t begin, uint64_t bytes)
      : parent_(std::move(parent)), begin_(begin), bytes_(bytes) {}
  std::byte* data() const override { return parent_->data() + begin_; }
  uint64_t bytes() const override { return bytes_; }

 private:
  std::shared_ptr<DeviceBuffer> parent_;
  uint64_t begin_;
  uint64_t bytes_;
};

Status no_memory(uint64_t bytes, std::string_view what) {
  return resource_exhausted("[cpu] cannot get " + std::to_string(bytes) + " bytes of memory for " +
                            std::string(what));
}

}  // namespace

Result<std::shared_ptr<DeviceBuffer>> map_buffer(uint64_t bytes, std::string_view what) {
  const bool huge = bytes >= 2 * kHugePage;
  const auto mapped = checked_add(std::max<uint64_t>(bytes, 1), huge ? kHugePage : 0);
  if (!mapped) return no_memory(bytes, what);
  void* base = ::mmap(nullptr, *mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return no_memory(bytes, what);
  auto* data = static_cast<std::byte*>(base);
  if (huge) {
    const auto address = reinterpret_cast<uintptr_t>(base);
    data += (kHugePage - address % kHugePage) % kHugePage;
    ::madvise(data, bytes, MADV_HUGEPAGE);  // advice only: its failure changes nothing but speed
  }
  return std::shared_ptr<DeviceBuffer>(std::make_shared<Mapping>(base, *mapped, data, bytes));
}

Result<std::shared_ptr<DeviceBuffer>> WeightHeap::take(uint64_t bytes, std::string_view what) {
  if (bytes >= kChunk / 4) return map_buffer(bytes, what);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!chunk_ || chunk_->bytes() - used_ < bytes) {
    SKUA_ASSIGN_OR_RETURN(chunk_, map_buffer(kChunk, what));
    used_ = 0;
  }
  auto slice = std::make_shared<Slice>(chunk_, used_, bytes);
  used_ = std::min(round_up(used_ + bytes, kAlign), chunk_->bytes());
  return std::shared_ptr<DeviceBuffer>(std::move(slice));
}

}  // namespace skua::cpu
