// XXH3 (64 bits) behind our own name. The only file that includes xxhash.
#include "base/checksum.h"

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

namespace skua {

struct Checksum::State {
  alignas(64) XXH3_state_t xxh;
};

Checksum::Checksum() : state_(std::make_unique<State>()) { XXH3_64bits_reset(&state_->xxh); }
Checksum::~Checksum() = default;

void Checksum::add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(&state_->xxh, bytes.data(), bytes.size());
}
void Checksum::add(std::string_view text) { XXH3_64bits_update(&state_->xxh, text.data(), text.size()); }
uint64_t Checksum::value() const { return XXH3_64bits_digest(&state_->xxh); }

}  // namespace skua
