// What is common to all checkpoints.
#include "checkpoint/checkpoint.h"

#include <algorithm>

namespace skua {

const TensorEntry* Checkpoint::find(std::string_view name) const {
  const auto entries = tensors();
  const auto at =
      std::lower_bound(entries.begin(), entries.end(), name,
                       [](const TensorEntry& entry, std::string_view key) { return entry.name < key; });
  return at == entries.end() || at->name != name ? nullptr : &*at;
}

}  // namespace skua
