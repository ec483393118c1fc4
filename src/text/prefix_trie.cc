// Building a PrefixTrie: breadth first over the sorted strings, so that children lie side by side.
#include "text/prefix_trie.h"

#include <algorithm>

namespace skua::text {

PrefixTrie::PrefixTrie(std::vector<std::pair<std::string_view, int32_t>> entries) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  struct Range {
    size_t begin, end;
    size_t depth;
    uint32_t node;
  };
  nodes_.emplace_back();
  std::vector<Range> queue = {{0, entries.size(), 0, 0}};
  for (size_t at = 0; at < queue.size(); ++at) {
    const Range range = queue[at];
    size_t i = range.begin;
    for (; i < range.end && entries[i].first.size() == range.depth; ++i) {
      if (range.depth > 0) nodes_[range.node].value = entries[i].second;
    }
    nodes_[range.node].first_child = static_cast<uint32_t>(nodes_.size());
    while (i < range.end) {
      const auto label = static_cast<uint8_t>(entries[i].first[range.depth]);
      size_t end = i;
      while (end < range.end && static_cast<uint8_t>(entries[end].first[range.depth]) == label) ++end;
      const auto node = static_cast<uint32_t>(nodes_.size());
      nodes_.push_back({0, 0, label, -1});
      ++nodes_[range.node].n_children;
      if (range.node == 0) root_[label] = node;
      queue.push_back({i, end, range.depth + 1, node});
      i = end;
    }
  }
}

}  // namespace skua::text
