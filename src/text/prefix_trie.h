// Which strings of a set does a text begin with? Built once, then only read.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace skua::text {

class PrefixTrie {
 public:
  PrefixTrie() = default;
  /// `entries`: strings with their values (>= 0). Of equal strings, the last counts. Empty strings are left
  /// out.
  explicit PrefixTrie(std::vector<std::pair<std::string_view, int32_t>> entries);

  /// Calls found(length, value) for every string that text[pos...] begins with, shortest first.
  template <typename Found>
  void each_prefix(std::string_view text, size_t pos, Found found) const {
    if (nodes_.empty()) return;
    uint32_t node = 0;
    for (size_t i = pos; i < text.size(); ++i) {
      node = child(node, static_cast<uint8_t>(text[i]));
      if (node == 0) return;
      if (nodes_[node].value >= 0) found(i + 1 - pos, nodes_[node].value);
    }
  }

 private:
  struct Node {
    uint32_t first_child = 0;  // children lie side by side, by label
    uint16_t n_children = 0;
    uint8_t label = 0;
    int32_t value = -1;
  };

  // The child of `node` with `label`; 0 (the root) when there is none.
  uint32_t child(uint32_t node, uint8_t label) const {
    const Node& parent = nodes_[node];
    if (node == 0) return root_[label];
    uint32_t low = parent.first_child, high = low + parent.n_children;
    while (high - low > 4) {
      const uint32_t middle = (low + high) / 2;
      if (nodes_[middle].label <= label) {
        low = middle;
      } else {
        high = middle;
      }
    }
    for (; low < high; ++low) {
      if (nodes_[low].label == label) return low;
    }
    return 0;
  }

  std::vector<Node> nodes_;
  uint32_t root_[256] = {};
};

}  // namespace skua::text
