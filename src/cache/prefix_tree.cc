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

PrefixTree::Node* PrefixTree::begins_with(const Node& parent, std::span<const int32_t> ids) const {
  for (const auto& node : parent.children) {
    if (common(node->ids, ids) == static_cast<int32_t>(ids.size())) return node.get();
  }
  return nullptr;
}

PrefixTree::Node* PrefixTree::best_tail(const Node& parent, std::span<const int32_t> ids,
                                        int32_t& n_usable) const {
  Node* best = nullptr;
  n_usable = 0;
  for (const auto& node : parent.children) {
    int32_t n = std::min(common(node->ids, ids), kPageTokens - 1);
    for (size_t group = 0; group < groups_.size(); ++group)
      n = std::min(n, node->pages[group] < 0 ? 0 : node->valid[group]);
    if (n > n_usable) {
      n_usable = n;
      best = node.get();
    }
  }
  return best;
}

/// True if the pages of these full stretches hold what a token behind the first n_tokens needs of them.
bool PrefixTree::resident(std::span<Node* const> path, int32_t n_tokens) const {
  for (size_t group = 0; group < groups_.size(); ++group) {
    const auto first = static_cast<size_t>(first_needed(groups_[group], n_tokens) / kPageTokens);
    for (size_t stretch = first; stretch < path.size(); ++stretch) {
      if (path[stretch]->pages[group] < 0 || path[stretch]->valid[group] < kPageTokens) return false;
    }
  }
  return true;
}

PrefixMatch PrefixTree::match(std::span<const int32_t> ids, int32_t max_tokens) {
  ids = ids.subspan(0, std::min(ids.size(), static_cast<size_t>(std::max(0, max_tokens))));
  std::vector<Node*> path;
  Node* at = &root_;
  for (size_t stretch = 0; (stretch + 1) * kPageTokens <= ids.size(); ++stretch) {
    Node* next = child(*at, stretch_of(ids, stretch));
    if (next == nullptr) break;
    path.push_back(next);
    at = next;
  }
  int32_t n_more = 0;
  for (const auto& node : at->children)
    n_more = std::max(n_more, common(node->ids, stretch_of(ids, path.size())));
  PrefixMatch out;
  // From the longest on: whole pages with a part of the next one, then without.
  for (size_t depth = path.size() + 1; depth-- > 0;) {
    const auto whole = std::span<Node* const>(path).first(depth);
    const auto n_whole = static_cast<int32_t>(depth) * kPageTokens;
    int32_t n_tail = 0;
    Node* tail = best_tail(depth == 0 ? root_ : *path[depth - 1], stretch_of(ids, depth), n_tail);
    if (tail != nullptr && resident(whole, n_whole + n_tail)) {
      out = found(whole, tail, n_tail);
      break;
    }
    if (depth > 0 && resident(whole, n_whole)) {
      out = found(whole, nullptr, 0);
      break;
    }
  }
  out.n_known = static_cast<int32_t>(path.size()) * kPageTokens + n_more;
  return out;
}

PrefixMatch PrefixTree::found(std::span<Node* const> path, Node* tail, int32_t n_tail) {
  PrefixMatch out;
  out.n_tokens = static_cast<int32_t>(path.size()) * kPageTokens + n_tail;
  out.shared.resize(groups_.size());
  ++clock_;
  for (size_t stretch = 0; stretch < path.size(); ++stretch) {
    path[stretch]->last_used = clock_;
    for (size_t group = 0; group < groups_.size(); ++group) {
      const int32_t first = first_needed(groups_[group], out.n_tokens) / kPageTokens;
      const bool needed = static_cast<int32_t>(stretch) >= first;
      out.shared[group].push_back(needed ? path[stretch]->pages[group] : -1);
    }
  }
  if (tail != nullptr) {
    tail->last_used = clock_;
    out.tail = tail->pages;
  }
  return out;
}

void PrefixTree::take_page(Node& node, size_t group, int32_t page, int32_t n_valid, uint64_t step) {
  if (page < 0 || (node.pages[group] >= 0 && node.valid[group] >= n_valid)) return;
  (*pools_)[group].retain(page);
  if (node.pages[group] >= 0) (*pools_)[group].release(node.pages[group], step);
  node.pages[group] = page;
  node.valid[group] = n_valid;
}

void PrefixTree::add_node(Node& parent, std::span<const int32_t> ids, size_t stretch,
                          std::span<const PageTable> tables, uint64_t step) {
  auto node = std::make_unique<Node>();
  node->ids.assign(ids.begin(), ids.end());
  node->parent = &parent;
  node->last_used = clock_;
  node->pages.assign(groups_.size(), -1);
  node->valid.assign(groups_.size(), 0);
  for (size_t group = 0; group < groups_.size(); ++group)
    take_page(*node, group, tables[group].pages()[stretch], static_cast<int32_t>(ids.size()), step);
  // A partly filled page that this one continues says nothing that the longer one does not, but for what the
  // sequence has let go since.
  for (size_t i = parent.children.size(); i-- > 0;) {
    Node& old = *parent.children[i];
    if (!old.children.empty() || old.ids.size() >= ids.size() ||
        common(old.ids, ids) != static_cast<int32_t>(old.ids.size()))
      continue;
    for (size_t group = 0; group < groups_.size(); ++group)
      take_page(*node, group, old.pages[group], old.valid[group], step);
    remove(&old, step);
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
    // The same page, or (at the end) a longer one that begins alike: it may lack what this sequence still
    // has.
    Node* next = child(*at, part);
    if (next == nullptr && part.size() < static_cast<size_t>(kPageTokens)) next = begins_with(*at, part);
    if (next == nullptr) {
      add_node(*at, part, stretch, tables, step);
      next = at->children.back().get();
    } else {
      for (size_t group = 0; group < groups_.size(); ++group)
        take_page(*next, group, tables[group].pages()[stretch], static_cast<int32_t>(part.size()), step);
    }
    next->last_used = clock_;
    at = next;
  }
}

bool PrefixTree::evict_page(uint32_t group, uint64_t step) {
  Node* oldest = nullptr;
  std::vector<Node*> stack{&root_};
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    for (auto& next : node->children) stack.push_back(next.get());
    if (node == &root_ || node->pages[group] < 0) continue;
    if ((*pools_)[group].n_refs(node->pages[group]) != 1) continue;
    if (oldest == nullptr || node->last_used < oldest->last_used) oldest = node;
  }
  if (oldest == nullptr) return false;
  (*pools_)[group].release(oldest->pages[group], step);
  oldest->pages[group] = -1;
  oldest->valid[group] = 0;
  return true;
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
