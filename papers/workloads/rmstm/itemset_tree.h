// itemset_tree.h -- candidate sets of items in a hash tree: inner nodes choose a child by the next
// item, leaves hold lists. Threads insert at the same time, each under the lock of a leaf; then
// they go through the tree with baskets.
//
// Source     Agrawal & Srikant, VLDB 1994, section 2.1.2; parallel as in MineBench's Apriori.
//
// Invariants
//   I1  A leaf becomes an inner node once, under its lock; nothing else changes its children.
//   I2  A candidate is in the leaf that its items lead to, whatever the order of insertions.
// Memory order
//   [R] release store of children_ -- synchronizes with [A]: whoever goes down finds whole nodes.
//   [A] acquire load of children_.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "baskets.h"
#include "program.h"

namespace workloads::rmstm {

constexpr std::size_t most_items = 6;

struct itemset {
  std::array<std::uint32_t, most_items> items{};
  std::uint32_t size = 0;
  friend auto operator<=>(const itemset&, const itemset&) = default;

  [[nodiscard]] std::string text() const {
    std::string result;
    for (std::uint32_t i = 0; i < size; ++i)
      result += (i == 0 ? "" : " ") + std::to_string(items[i]);
    return result;
  }
};

template <class Sections>
class itemset_tree {
 public:
  struct candidate {
    itemset set;
    std::uint64_t count = 0;
    candidate* next = nullptr;
  };
  // On lines of its own, as its lock is.
  struct alignas(64) node {
    typename Sections::lock lock;
    std::atomic<std::array<node, 16>*> children{nullptr};
    candidate* first = nullptr;
    std::uint32_t size = 0;
  };
  using children = std::array<node, 16>;

  // One thread's memory for insertions.
  struct memory {
    explicit memory(bool inside) : candidates(inside), nodes(inside) {}
    fresh<candidate> candidates;
    fresh<children> nodes;
  };

  itemset_tree() = default;
  ~itemset_tree() { clear(root_); }
  itemset_tree(const itemset_tree&) = delete;
  itemset_tree& operator=(const itemset_tree&) = delete;

  // Requires: the set is not here yet.
  void insert(const itemset& set, memory& from) {
    from.candidates.prepare();
    from.nodes.prepare();
    node* at = &root_;
    for (std::uint32_t depth = 0;; ++depth) {
      children* below = at->children.load(std::memory_order_acquire);  // [A]
      if (below == nullptr) {
        const auto held = Sections::hold(at->lock);
        below = at->children.load(std::memory_order_relaxed);
        if (below == nullptr) {
          candidate* const added = from.candidates.take();
          added->set = set;
          push(*at, added);
          if (at->size > leaf_limit && depth < set.size) split(*at, depth, from.nodes.take());
          return;
        }
      }
      at = &(*below)[child_of(set.items[depth])];
    }
  }

  // Calls at_leaf(leaf, basket's purchases, position) for each way that the basket's items lead
  // down to a leaf: the position is behind the last item that was used, the depth what they number.
  template <class AtLeaf>
  void walk(const basket& b, AtLeaf at_leaf) {
    std::array<std::uint32_t, most_items> path{};
    descend(root_, b, path, 0, 0, at_leaf);
  }

  // Whether the set begins with the path's items and has the rest of its in the basket, from there.
  static bool is_within(const itemset& set, const std::array<std::uint32_t, most_items>& path,
                        std::uint32_t depth, const basket& b, std::size_t position) {
    for (std::uint32_t i = 0; i < depth; ++i)
      if (set.items[i] != path[i]) return false;
    for (std::uint32_t i = depth; i < set.size; ++i) {
      while (position < b.purchases.size() && b.purchases[position].item < set.items[i]) ++position;
      if (position == b.purchases.size() || b.purchases[position].item != set.items[i])
        return false;
    }
    return true;
  }

  // Requires: nobody writes.
  [[nodiscard]] std::vector<const candidate*> all() const {
    std::vector<const candidate*> result;
    collect(root_, result);
    return result;
  }

 private:
  static constexpr std::uint32_t leaf_limit = 8;

  static std::size_t child_of(std::uint32_t item) { return item * 0x9e3779b1u >> 28; }
  static void push(node& leaf, candidate* added) {
    added->next = leaf.first;
    leaf.first = added;
    ++leaf.size;
  }
  // Requires: the leaf is locked.
  static void split(node& leaf, std::uint32_t depth, children* below) {
    while (leaf.first != nullptr) {
      candidate* const moved = leaf.first;
      leaf.first = moved->next;
      push((*below)[child_of(moved->set.items[depth])], moved);
    }
    leaf.size = 0;
    leaf.children.store(below, std::memory_order_release);  // [R]
  }

  template <class AtLeaf>
  static void descend(node& at, const basket& b, std::array<std::uint32_t, most_items>& path,
                      std::uint32_t depth, std::size_t position, AtLeaf& at_leaf) {
    children* const below = at.children.load(std::memory_order_relaxed);
    if (below == nullptr) {
      if (at.first != nullptr) at_leaf(at, path, depth, position);
      return;
    }
    for (std::size_t i = position; i < b.purchases.size(); ++i) {
      path[depth] = b.purchases[i].item;
      descend((*below)[child_of(path[depth])], b, path, depth + 1, i + 1, at_leaf);
    }
  }

  static void collect(const node& at, std::vector<const candidate*>& to) {
    for (const candidate* c = at.first; c != nullptr; c = c->next) to.push_back(c);
    if (const children* const below = at.children.load(std::memory_order_relaxed))
      for (const node& each : *below) collect(each, to);
  }
  static void clear(node& at) {
    while (at.first != nullptr) delete std::exchange(at.first, at.first->next);
    children* const below = at.children.load(std::memory_order_relaxed);
    if (below == nullptr) return;
    for (node& each : *below) clear(each);
    delete below;
  }

  node root_;
};

}  // namespace workloads::rmstm
