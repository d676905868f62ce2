// lock_order.h -- which lock was taken while which other was held; finds cycles.
//
// Source        the lock-order graph of Linux's lockdep and of Helgrind, without their classes.
// Invariants
//   I1  An edge A -> B says: some thread asked for B while it held A. Edges of a lock that is gone
//       are gone.
//   I2  Every edge is in its first lock's list, or free.
// No thread-safety of its own; all zero is an empty graph.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/log/guard_log.h"

namespace syncopate::shim {

class lock_order {
 public:
  struct edge {
    const void *from, *to;
    int thread;
    std::uint64_t from_pc;  // where `from` was locked
    call_site at;           // where `to` was asked for
  };
  static constexpr unsigned longest_cycle = 8;

  // Adds an edge. Returns of how many edges a cycle is that it closes; 0: of none, or the edge was
  // known, or there is no room. The cycle's other edges, as many as `cycle` has room for, follow
  // each other from added.to to added.from.
  unsigned add(const edge& added, const edge* (&cycle)[longest_cycle]) noexcept {
    const std::uint32_t from = node_of(added.from, true), to = node_of(added.to, true);
    if (from == 0 || to == 0) return 0;
    for (std::uint32_t e = nodes_[from].first; e != 0; e = edges_[e].next)
      if (edges_[e].to == to) return 0;
    const unsigned length = find_path(to, from, cycle);
    insert(from, to, added);
    return length == 0 ? 0 : length + 1;
  }

  // The lock is gone. Returns whether anything was known of it.
  bool forget(const void* lock) noexcept {
    const std::uint32_t gone = node_of(lock, false);
    if (gone == 0) return false;
    for (std::uint32_t n = 1; n < most_nodes; ++n)
      if (nodes_[n].lock != nullptr) unlink(n, n == gone ? 0 : gone);
    return true;
  }

 private:
  static constexpr std::uint32_t most_nodes = 4096, most_edges = 16'384;
  // A node stays with its lock for good, since others may lie behind it in their search; it is
  // found again if the lock's address is.
  struct node {
    const void* lock;
    std::uint32_t first, visit;
  };
  struct link {
    edge what;
    std::uint32_t to, next;
  };
  struct step {
    std::uint32_t node, edge;  // the edge to follow next
  };

  std::uint32_t node_of(const void* lock, bool make) noexcept {
    auto at = static_cast<std::uint32_t>(
        reinterpret_cast<std::uintptr_t>(lock) * 0x9e3779b97f4a7c15u >> 52);
    for (unsigned tries = 0; tries < 64; ++tries, ++at) {
      at %= most_nodes;
      if (at == 0) continue;  // 0 is no node
      if (nodes_[at].lock == lock) return at;
      if (nodes_[at].lock != nullptr) continue;
      if (!make) return 0;
      nodes_[at].lock = lock;
      return at;
    }
    return 0;
  }

  void insert(std::uint32_t from, std::uint32_t to, const edge& what) noexcept {
    std::uint32_t fresh = free_;
    if (fresh != 0) free_ = edges_[fresh].next;
    else if (used_ + 1 < most_edges) fresh = ++used_;
    else return;
    edges_[fresh] = {what, to, nodes_[from].first};
    nodes_[from].first = fresh;
  }

  // Frees a node's edges to `only`; to everyone where that is 0.
  void unlink(std::uint32_t node, std::uint32_t only) noexcept {
    std::uint32_t* at = &nodes_[node].first;
    while (*at != 0) {
      const std::uint32_t e = *at;
      if (only != 0 && edges_[e].to != only) {
        at = &edges_[e].next;
        continue;
      }
      *at = edges_[e].next;
      edges_[e].next = free_;
      free_ = e;
    }
  }

  // Depth first, from `start` to `goal`. Returns how many edges lead there; 0: none do.
  unsigned find_path(std::uint32_t start, std::uint32_t goal,
                     const edge* (&path)[longest_cycle]) noexcept {
    ++visit_;
    unsigned depth = 0;
    stack_[depth++] = {start, nodes_[start].first};
    nodes_[start].visit = visit_;
    while (depth != 0) {
      step& top = stack_[depth - 1];
      if (top.node == goal) break;
      const std::uint32_t e = top.edge;
      if (e == 0) {
        --depth;
        continue;
      }
      top.edge = edges_[e].next;
      const std::uint32_t next = edges_[e].to;
      if (nodes_[next].visit == visit_) continue;
      nodes_[next].visit = visit_;
      came_by_[depth] = e;
      stack_[depth++] = {next, nodes_[next].first};
    }
    for (unsigned i = 1; i < depth && i <= longest_cycle; ++i)
      path[i - 1] = &edges_[came_by_[i]].what;
    return depth == 0 ? 0 : depth - 1;
  }

  node nodes_[most_nodes];
  link edges_[most_edges];
  step stack_[most_nodes];
  std::uint32_t came_by_[most_nodes];
  std::uint32_t used_, free_, visit_;
};

}  // namespace syncopate::shim
