// sc_graph.h -- whether there is an order S of the seq_cst operations, as [atomics.order] paragraph
// 4 wants it, by a graph of what has to precede what in it.
//
// In most programs S can be taken for the order of execution (memory.h). Where that leaves out
// values that an access may have (sc_orders.h), the search begins anew with this: seq_cst accesses
// and fences are then no more than acquires and releases to memory, and a choice of an access is
// left out if with it the graph would have a cycle. Its nodes are the seq_cst accesses and fences;
// A precedes B if
//   A strongly happens before B;
//   A is, or a fence A happens before, an access that is coherence-ordered before one that B is, or
//   that happens before a fence B.
// (The one new step is the last of its thread: nothing that it happens before is there yet. So a
// fence always has a place in S, and so has whatever is the newest of its location.)
#pragma once

#include "memory.h"

#include <atomic>
#include <cstdint>
#include <vector>

namespace syncopate::explored {

class sc_graph {
 public:
  explicit sc_graph(const memory& m) : memory_(m) {}

  void forget() noexcept;  // an execution begins

  enum class access : std::uint8_t { read, write, modify };
  // Of these choices of an access that the thread is about to make, those with which there is an S.
  [[nodiscard]] choices admitted(thread_index by, location_id where, choices all, access how,
                                 std::memory_order order);

  // The thread, whose clock was `before`, has read the message, or written it.
  void note(thread_index by, const clock& before, location_id where, message_id of, bool writes,
            bool is_sc);
  // What has read last has written this message, by an order that is seq_cst or not.
  void note_written(message_id m, bool is_sc);
  // The thread, whose clock was `before`, has made a seq_cst fence.
  void note_fence(thread_index by, const clock& before);

 private:
  struct event {
    thread_index by;
    bool writes, is_sc;
    std::uint32_t time;  // its thread's clock
    location_id where;
    message_id of;
    clock before, after;  // what it happened before, without and with what it has acquired
    std::vector<std::uint32_t> followed_by;  // in S
  };
  // In modification order, twice the position of what was written; one more for who has read that.
  // The accesses up to `before` precede the new one in coherence order, those since `after` follow.
  struct range {
    std::uint64_t before, after;
  };

  [[nodiscard]] std::uint64_t place(const event& e) const {
    return 2 * std::uint64_t{memory_.position(e.of)} + (e.writes ? 0 : 1);
  }
  [[nodiscard]] static bool happens_before(const event& a, const event& b) noexcept {
    return b.after.at[a.by] >= a.time;
  }
  // b begins after something that happened behind a, in a's thread.
  [[nodiscard]] static bool strongly_happens_before(const event& a, const event& b) noexcept {
    return a.by == b.by || b.before.at[a.by] > a.time;
  }
  [[nodiscard]] event next(thread_index by, location_id where) const;
  void find_followers(const event&, range);
  void find_predecessors(const event&, range);
  void find_predecessors_of_fence(const event& fence);
  [[nodiscard]] bool has_cycle();
  void settle();

  const memory& memory_;
  std::vector<event> events_;
  bool is_settled_ = true;  // the last one's place in the graph is known
  std::vector<std::uint32_t> fences_, of_sc_;
  std::vector<std::vector<std::uint32_t>> at_;  // the accesses of each location
  // Of the new event: what follows it in S, what precedes it, and which fences happen before it.
  std::vector<std::uint32_t> followers_, predecessors_, fences_before_;
};

}  // namespace syncopate::explored
