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
  int32_t n_tokens = 0;                      // tokens whose keys, values and state are there
  int32_t n_known = 0;                       // tokens that the tree spells, whatever is resident
  std::vector<std::vector<int32_t>> shared;  // by group: pages of the full stretches; -1 where not needed
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
  /// keeps. The sequence may go on writing behind them.
  void insert(std::span<const int32_t> ids, int32_t n_cached, std::span<const PageTable> tables,
              uint64_t step);

  /// Lets go of the least recently used node without children. False when the tree is empty.
  bool evict_one(uint64_t step);

  /// Lets go of a group's page in the least recently used node that alone holds one; the node stays. False if
  /// there is none.
  bool evict_page(uint32_t group, uint64_t step);

  void clear(uint64_t step);

  /// Pages of a group that nobody but the tree holds.
  int32_t n_evictable(uint32_t group) const;

  size_t n_nodes() const { return n_nodes_; }

 private:
  struct Node {
    std::vector<int32_t> ids;    // 1 to kPageTokens; fewer than kPageTokens only without children
    std::vector<int32_t> pages;  // by group; -1 = not resident
    std::vector<int32_t> valid;  // by group: tokens of `ids` that the page is known to hold
    Node* parent = nullptr;
    std::vector<std::unique_ptr<Node>> children;
    uint64_t last_used = 0;
  };

  Node* child(const Node& parent, std::span<const int32_t> ids) const;
  Node* begins_with(const Node& parent, std::span<const int32_t> ids) const;
  /// The child whose page can serve most of `ids`, and how many; null if none serves any.
  Node* best_tail(const Node& parent, std::span<const int32_t> ids, int32_t& n_usable) const;
  bool resident(std::span<Node* const> path, int32_t n_tokens) const;
  PrefixMatch found(std::span<Node* const> path, Node* tail, int32_t n_tail);
  void take_page(Node& node, size_t group, int32_t page, int32_t n_valid, uint64_t step);
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
