// lock_order.h -- which lock was taken while which other was held; finds cycles.
//
// A cycle that cannot deadlock is none: of orders that one thread alone has taken, or that were all
// taken under one more lock (a gate), which keeps them apart.
//
// Source        the lock-order graph of Linux's lockdep and of Helgrind, without their classes;
//               gates: K. Havelund, Using Runtime Analysis to Guide Model Checking of Java
//               Programs, SPIN 2000 (GoodLock).
// Invariants
//   I1  An edge A -> B says: some thread asked for B while it held A. Its gates are locks that were
//       held each time, its thread is who asked first. Edges of a lock that is gone are gone.
//   I2  Every edge is in its first lock's list, or free.
// No thread-safety of its own; all zero is an empty graph.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/log/guard_log.h"

namespace syncopate::shim {

class lock_order {
 public:
  static constexpr unsigned longest_cycle = 8, most_gates = 4;
  struct edge {
    const void *from, *to;
    int thread;
    std::uint64_t from_pc;          // where `from` was locked
    call_site at;                   // where `to` was asked for
    const void* gates[most_gates];  // what was held besides; null: no more
    bool by_several;                // threads, since
  };

  // Adds an edge. Returns of how many edges a cycle is that it closes; 0: of none, or nothing of
  // the edge is new, or there is no room. The cycle's other edges, as many as `cycle` has room for,
  // follow each other from added.to to added.from.
  unsigned add(const edge& added, const edge* (&cycle)[longest_cycle]) noexcept {
    const std::uint32_t from = node_of(added.from, true), to = node_of(added.to, true);
    if (from == 0 || to == 0) return 0;
    for (std::uint32_t e = nodes_[from].first; e != 0; e = edges_[e].next)
      if (edges_[e].to == to) return close_again(e, added, cycle);
    const std::uint32_t fresh = insert(from, to, added);
    return fresh == 0 ? 0 : close(fresh, cycle);
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
  // What keeps the orders of a cycle apart, as bits: the gates of the edge that closes it, and that
  // it was one thread.
  using guards = std::uint32_t;
  static constexpr guards one_thread = 1u << most_gates;

  static bool has_gate(const edge& e, const void* gate) noexcept {
    for (const void* each : e.gates)
      if (each == gate) return true;
    return false;
  }

  // Which guards of `closing` an edge has as well.
  static guards guards_of(const edge& e, const edge& closing) noexcept {
    guards found = 0;
    for (unsigned i = 0; i < most_gates; ++i)
      if (closing.gates[i] != nullptr && has_gate(e, closing.gates[i])) found |= 1u << i;
    if (!closing.by_several && !e.by_several && e.thread == closing.thread) found |= one_thread;
    return found;
  }

  // The edge was there again. Returns whether it has lost a guard by that.
  static bool weaken(edge& known, const edge& again) noexcept {
    bool lost = false;
    for (const void*& gate : known.gates) {
      if (gate == nullptr || has_gate(again, gate)) continue;
      gate = nullptr;
      lost = true;
    }
    if (!known.by_several && known.thread != again.thread) known.by_several = lost = true;
    return lost;
  }

  // Of how many edges a cycle is that this one closes; 0: of none.
  unsigned close(std::uint32_t e, const edge* (&cycle)[longest_cycle]) noexcept {
    const link& closing = edges_[e];
    const unsigned length =
        find_path(closing.to, node_of(closing.what.from, false), closing.what, cycle);
    return length == 0 ? 0 : length + 1;
  }

  // The same where it closes one only now that it was there again.
  unsigned close_again(std::uint32_t e, const edge& again,
                       const edge* (&cycle)[longest_cycle]) noexcept {
    const edge before = edges_[e].what;
    if (!weaken(edges_[e].what, again)) return 0;
    const edge now = edges_[e].what;
    edges_[e].what = before;
    const bool is_known = close(e, cycle) != 0;
    edges_[e].what = now;
    return is_known ? 0 : close(e, cycle);
  }

  static constexpr std::uint32_t most_nodes = 4096, most_edges = 16'384;
  // A node stays with its lock for good, since others may lie behind it in their search; it is
  // found again if the lock's address is.
  struct node {
    const void* lock;
    std::uint32_t first, visit;
    std::uint32_t seen;  // in this visit: a bit for each set of guards that it was reached with
    bool on_way;
  };
  struct link {
    edge what;
    std::uint32_t to, next;
  };
  struct step {
    std::uint32_t node, edge;  // the edge to follow next
    guards left;               // that all edges of the way share
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

  // Returns the edge; 0: there is no room.
  std::uint32_t insert(std::uint32_t from, std::uint32_t to, const edge& what) noexcept {
    std::uint32_t fresh = free_;
    if (fresh != 0) free_ = edges_[fresh].next;
    else if (used_ + 1 < most_edges) fresh = ++used_;
    else return 0;
    edges_[fresh] = {what, to, nodes_[from].first};
    nodes_[from].first = fresh;
    return fresh;
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

  // Whether the node was not reached yet by a way that shares these guards, or fewer.
  bool is_new(node& n, guards left) const noexcept {
    if (n.visit != visit_) {
      n.visit = visit_;
      n.seen = 0;
      n.on_way = false;
    }
    if (n.on_way) return false;
    for (guards each = 0; each < 2 * one_thread; ++each)
      if ((each & ~left) == 0 && (n.seen >> each & 1) != 0) return false;
    n.seen |= 1u << left;
    return true;
  }

  void enter(unsigned& depth, std::uint32_t at, guards left) noexcept {
    nodes_[at].on_way = true;
    stack_[depth++] = {at, nodes_[at].first, left};
  }

  // Depth first, from `start` to `goal`, for a way whose edges share no guard of `closing`. Returns
  // how many edges it has; 0: there is none.
  unsigned find_path(std::uint32_t start, std::uint32_t goal, const edge& closing,
                     const edge* (&path)[longest_cycle]) noexcept {
    ++visit_;
    unsigned depth = 0;
    const guards all = guards_of(closing, closing);
    if (is_new(nodes_[start], all)) enter(depth, start, all);
    while (depth != 0) {
      step& top = stack_[depth - 1];
      if (top.node == goal && top.left == 0) break;
      const std::uint32_t e = top.node == goal ? 0 : top.edge;
      if (e == 0) {
        nodes_[top.node].on_way = false;
        --depth;
        continue;
      }
      top.edge = edges_[e].next;
      const std::uint32_t next = edges_[e].to;
      const guards left = top.left & guards_of(edges_[e].what, closing);
      if (!is_new(nodes_[next], left)) continue;
      came_by_[depth] = e;
      enter(depth, next, left);
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
