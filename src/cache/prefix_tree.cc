// Lookup, insertion and eviction in the tree of cached pages.
#include "cache/prefix_tree.h"

#include <algorithm>

#include "base/check.h"

namespace skua {
namespace {

std::span<const int32_t> stretch_of(std::span<const int32_t> ids, size_t stretch) {
  const size_t begin = std::min(ids.size(), stretch * kPageTokens);
  return ids.subspan(begin, std::min<size_t>(kPageTokens, ids.size() - begin));
}

int32_t common(std::span<const int32_t> a, std::span<const int32_t> b) {
  const size_t n = std::min(a.size(), b.size());
  size_t i = 0;
  while (i < n && a[i] == b[i]) ++i;
  return static_cast<int32_t>(i);
}

}  // namespace

PrefixTree::PrefixTree(std::vector<PagePool>* pools, std::vector<CacheGroup> groups)
    : pools_(pools), groups_(std::move(groups)) {}

PrefixTree::~PrefixTree() = default;

PrefixTree::Node* PrefixTree::child(const Node& parent, std::span<const int32_t> ids) const {
  for (const auto& node : parent.children) {
    if (std::equal(node->ids.begin(), node->ids.end(), ids.begin(), ids.end())) return node.get();
  }
  return nullptr;
}

const PrefixTree::Node* PrefixTree::best_tail(const Node& parent, std::span<const int32_t> ids,
                                              int32_t& n_common) const {
  const Node* best = nullptr;
  n_common = 0;
  for (const auto& node : parent.children) {
    const int32_t n = common(node->ids, ids);
    if (n > n_common) {
      n_common = n;
      best = node.get();
    }
  }
  return best;
}

bool PrefixTree::resident(const std::vector<const Node*>& path, const Node* tail, int32_t n_tokens) const {
  for (size_t group = 0; group < groups_.size(); ++group) {
    const int32_t first = first_needed(groups_[group], n_tokens);
    for (size_t stretch = static_cast<size_t>(first / kPageTokens); stretch < path.size(); ++stretch) {
      if (path[stretch]->pages[group] < 0) return false;
    }
    if (tail != nullptr && tail->pages[group] < 0) return false;
  }
  return true;
}

PrefixMatch PrefixTree::match(std::span<const int32_t> ids, int32_t max_tokens) {
  ids = ids.subspan(0, std::min(ids.size(), static_cast<size_t>(std::max(0, max_tokens))));
  std::vector<const Node*> path;
  Node* at = &root_;
  for (size_t stretch = 0; (stretch + 1) * kPageTokens <= ids.size(); ++stretch) {
    Node* next = child(*at, stretch_of(ids, stretch));
    if (next == nullptr) break;
    path.push_back(next);
    at = next;
  }
  int32_t n_tail = 0;
  const Node* tail = best_tail(*at, stretch_of(ids, path.size()), n_tail);
  if (!resident(path, tail, static_cast<int32_t>(path.size()) * kPageTokens + n_tail)) tail = nullptr;
  while (tail == nullptr && !path.empty() &&
         !resident(path, nullptr, static_cast<int32_t>(path.size()) * kPageTokens)) {
    path.pop_back();
  }
  PrefixMatch out;
  out.n_tokens = static_cast<int32_t>(path.size()) * kPageTokens + (tail == nullptr ? 0 : n_tail);
  if (out.n_tokens == 0) return out;
  out.shared.resize(groups_.size());
  ++clock_;
  for (const Node* node : path) {
    const_cast<Node*>(node)->last_used = clock_;
    for (size_t group = 0; group < groups_.size(); ++group) out.shared[group].push_back(node->pages[group]);
  }
  if (tail != nullptr) {
    const_cast<Node*>(tail)->last_used = clock_;
    out.tail = tail->pages;
  }
  return out;
}

void PrefixTree::add_node(Node& parent, std::span<const int32_t> ids, size_t stretch,
                          std::span<const PageTable> tables, uint64_t step) {
  // A partly filled page that this one continues says nothing that the longer one does not.
  for (size_t i = parent.children.size(); i-- > 0;) {
    Node& old = *parent.children[i];
    if (old.children.empty() && old.ids.size() < ids.size() &&
        common(old.ids, ids) == static_cast<int32_t>(old.ids.size())) {
      remove(&old, step);
    }
  }
  auto node = std::make_unique<Node>();
  node->ids.assign(ids.begin(), ids.end());
  node->parent = &parent;
  node->last_used = clock_;
  for (size_t group = 0; group < groups_.size(); ++group) {
    const int32_t page = tables[group].pages()[stretch];
    if (page >= 0) (*pools_)[group].retain(page);
    node->pages.push_back(page);
  }
  parent.children.push_back(std::move(node));
  ++n_nodes_;
}

void PrefixTree::insert(std::span<const int32_t> ids, int32_t n_cached, std::span<const PageTable> tables,
                        uint64_t step) {
  SKUA_CHECK_EQ(tables.size(), groups_.size());
  ids = ids.subspan(0, static_cast<size_t>(n_cached));
  ++clock_;
  Node* at = &root_;
  for (size_t stretch = 0; stretch * kPageTokens < ids.size(); ++stretch) {
    const auto part = stretch_of(ids, stretch);
    Node* next = child(*at, part);
    if (next == nullptr) {
      // Nothing new if a longer page begins with this partial one.
      if (part.size() < static_cast<size_t>(kPageTokens)) {
        int32_t n_common = 0;
        if (best_tail(*at, part, n_common) != nullptr && n_common == static_cast<int32_t>(part.size()))
          return;
      }
      add_node(*at, part, stretch, tables, step);
      next = at->children.back().get();
    } else {
      // Pages that a window had let go may be resident in this sequence.
      for (size_t group = 0; group < groups_.size(); ++group) {
        const int32_t page = tables[group].pages()[stretch];
        if (next->pages[group] >= 0 || page < 0) continue;
        (*pools_)[group].retain(page);
        next->pages[group] = page;
      }
    }
    next->last_used = clock_;
    at = next;
  }
}

void PrefixTree::remove(Node* node, uint64_t step) {
  SKUA_CHECK(node->children.empty() && node->parent != nullptr);
  for (size_t group = 0; group < groups_.size(); ++group) {
    if (node->pages[group] >= 0) (*pools_)[group].release(node->pages[group], step);
  }
  auto& siblings = node->parent->children;
  const auto own =
      std::find_if(siblings.begin(), siblings.end(), [&](const auto& n) { return n.get() == node; });
  siblings.erase(own);
  --n_nodes_;
}

bool PrefixTree::evict_one(uint64_t step) {
  Node* oldest = nullptr;
  std::vector<Node*> stack{&root_};
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    for (auto& next : node->children) stack.push_back(next.get());
    if (node == &root_ || !node->children.empty()) continue;
    if (oldest == nullptr || node->last_used < oldest->last_used) oldest = node;
  }
  if (oldest == nullptr) return false;
  remove(oldest, step);
  return true;
}

int32_t PrefixTree::n_evictable(uint32_t group) const {
  int32_t n = 0;
  std::vector<const Node*> stack{&root_};
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    for (const auto& next : node->children) stack.push_back(next.get());
    if (node == &root_ || node->pages[group] < 0) continue;
    n += (*pools_)[group].n_refs(node->pages[group]) == 1 ? 1 : 0;
  }
  return n;
}

void PrefixTree::clear(uint64_t step) {
  while (evict_one(step)) {
  }
}

}  // namespace skua
