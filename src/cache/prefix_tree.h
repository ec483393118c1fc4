// Which token sequences lie in the cache already. A tree whose nodes are pages: the path from the root spells
// the tokens. Exact to the token: the last page of a hit may be shared in part, and is then copied by whoever
// extends it. Holds its pages by reference; nodes without children are let go, least recently used first.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "cache/layout.h"
#include "cache/page_table.h"

namespace skua {

/// The longest resident prefix of some ids.
struct PrefixMatch {
  int32_t n_tokens = 0;                      // tokens whose keys and values are there
  std::vector<std::vector<int32_t>> shared;  // by group: pages of the full stretches; -1 behind a window
  std::vector<int32_t> tail;  // by group: page that holds the rest, to be copied; empty if there is none
};

class PrefixTree {
 public:
  /// `pools` (by group) must outlive the tree.
  PrefixTree(std::vector<PagePool>* pools, std::vector<CacheGroup> groups);
  ~PrefixTree();
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  /// Looks up `ids`, at most `max_tokens` of them. Every group must hold what a query at the next position
  /// can see. The pages stay the tree's; take references (PageTable::adopt) before the next call that may
  /// evict.
  PrefixMatch match(std::span<const int32_t> ids, int32_t max_tokens);

  /// Remembers that the first `n_cached` of `ids` lie in these tables. Takes a reference on every page it
  /// keeps.
  void insert(std::span<const int32_t> ids, int32_t n_cached, std::span<const PageTable> tables,
              uint64_t step);

  /// Lets go of the least recently used node without children. False when the tree is empty.
  bool evict_one(uint64_t step);

  void clear(uint64_t step);

  /// Pages of a group that nobody but the tree holds.
  int32_t n_evictable(uint32_t group) const;

  size_t n_nodes() const { return n_nodes_; }

 private:
  struct Node {
    std::vector<int32_t> ids;    // 1 to kPageTokens; fewer than kPageTokens only without children
    std::vector<int32_t> pages;  // by group; -1 = not resident
    Node* parent = nullptr;
    std::vector<std::unique_ptr<Node>> children;
    uint64_t last_used = 0;
  };

  Node* child(const Node& parent, std::span<const int32_t> ids) const;
  const Node* best_tail(const Node& parent, std::span<const int32_t> ids, int32_t& n_common) const;
  bool resident(const std::vector<const Node*>& path, const Node* tail, int32_t n_tokens) const;
  void add_node(Node& parent, std::span<const int32_t> ids, size_t stretch, std::span<const PageTable> tables,
                uint64_t step);
  void remove(Node* node, uint64_t step);

  std::vector<PagePool>* pools_;
  std::vector<CacheGroup> groups_;
  Node root_;
  size_t n_nodes_ = 0;
  uint64_t clock_ = 0;
};

}  // namespace skua
