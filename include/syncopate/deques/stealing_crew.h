// stealing_crew.h -- workers with a deque each: who has nothing left takes from the others, nearest
// first, until all have arrived and everything that was made is done.
//
// Source        work stealing: Blumofe & Leiserson, J. ACM 46(5), 1999. The end: sums of counters
//               read twice, what is done before what was made (Mattern, Distributed Computing 2,
//               1987). Our addition: whoever has stolen looks at the same victim first.
// Fairness      none.
// Space         about 8 B * capacity + 384 B a worker.
// Uncontended   a piece of work: push and take of the deque; 2 stores to the worker's own line.
// Contended     no common line is written but once an episode by each worker.
//
// Invariants
//   I1  A piece is counted as made before it is pushed, or kept back for later, by the worker that
//       makes it; as done after it was run, and after all that it made was counted.
//   I2  If all that were read as done are as many as are then read as made, nothing was unfinished
//       in between: each piece that was counted as done was seen to be made, with all that it made,
//       so a piece that is not done has a maker that is not done either, up to a worker that has
//       not arrived.
//   I3  arrivals_ grows by one for each worker and episode; episode e ends only when it is
//       (e + 1) * workers, by one RMW of episode_.
//
// Memory order (each tag stands at its site below)
//   [D]  release store of done -- synchronizes with [S]: the work, and what it made, come before.
//   [S]  acquire load of each done, before any made is read (I2).
//   [R]  release RMW of arrivals_ -- synchronizes with [A]: what was made before it was seen.
//   [A]  acquire load of arrivals_, before the counters are read.
//   [E]  acq_rel RMW of episode_ -- synchronizes with [G]: all work of the episode.
//   [G]  acquire load of episode_.
//   [X]  relaxed: a worker's own counters; made, which [S] or [A] orders; hints;
//        episode_ in arrive(), which the worker has acquired when it left the last one.
//
// Checked by    tests/check/deque_check.cpp, tests/conformance/deque_test.cpp.
#pragma once

#include <syncopate/deques/chase_lev_deque.h>
#include <syncopate/machine.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace syncopate {

template <class T, std::size_t capacity>
class stealing_crew {
 public:
  using deque = chase_lev_deque<T, capacity>;
  using position = typename deque::position;

  explicit stealing_crew(std::uint32_t workers)
      : room_(workers), workers_(workers), all_(std::make_unique<worker[]>(workers)) {
    employ(workers);
  }

  // Requires: nobody works, and all is done; workers <= room().
  void employ(std::uint32_t workers) noexcept {
    workers_ = workers;
    // What these have made others may have done, who are no longer counted.
    for (std::uint32_t i = 0; i < room_; ++i) {
      all_[i].made.store(0, std::memory_order_relaxed);  // [X]
      all_[i].done.store(0, std::memory_order_relaxed);  // [X]
      all_[i].victim = i;
    }
    done_elsewhere_.store(0, std::memory_order_relaxed);  // [X]
    arrivals_.store(0, std::memory_order_relaxed);        // [X]
    episode_.store(0, std::memory_order_relaxed);         // [X]
  }
  [[nodiscard]] std::uint32_t room() const noexcept { return room_; }

  // Of the worker `me`, by its own thread. Which memory node it is on, for those who steal.
  void is_on(std::uint32_t me, std::uint32_t node) noexcept {
    if (all_[me].node.load(std::memory_order_relaxed) != node)  // [X]
      all_[me].node.store(node, std::memory_order_relaxed);     // [X]
  }
  void make(std::uint32_t me) noexcept { add(all_[me].made, std::memory_order_relaxed); }    // [X]
  void finish(std::uint32_t me) noexcept { add(all_[me].done, std::memory_order_release); }  // [D]
  // By any other thread, which has run none of the workers' pieces but ends one.
  void finish_elsewhere() noexcept {
    done_elsewhere_.fetch_add(1, std::memory_order_release);  // [D]
  }

  // False: the deque is full.
  [[nodiscard]] bool push(std::uint32_t me, T* what) noexcept { return all_[me].mine.push(what); }
  [[nodiscard]] position end(std::uint32_t me) const noexcept { return all_[me].mine.end(); }

  // The newest of its own from `floor` on, else one of another's for which may_have() holds.
  template <class Predicate>
  [[nodiscard]] T* take(std::uint32_t me, position floor, Predicate may_have) noexcept {
    worker& w = all_[me];
    if (T* const what = w.mine.take(floor)) return what;
    if (workers_ == 1) return nullptr;
    if (T* const what = w.victim != me ? steal(w.victim, may_have) : nullptr) return what;
    const std::uint32_t node = w.node.load(std::memory_order_relaxed);  // [X]
    for (const bool near : {true, false})
      for (std::uint32_t i = 1; i < workers_; ++i) {
        const std::uint32_t other = me + i < workers_ ? me + i : me + i - workers_;
        if ((all_[other].node.load(std::memory_order_relaxed) == node) != near) continue;  // [X]
        if (T* const what = steal(other, may_have)) return w.victim = other, what;
      }
    return nullptr;
  }

  // The worker has made what it makes in this episode. Returns what is_over(), end_if_done() take.
  [[nodiscard]] std::uint64_t arrive() noexcept {
    const std::uint64_t episode = episode_.load(std::memory_order_relaxed);  // [X]
    arrivals_.fetch_add(1, std::memory_order_release);                       // [R]
    return episode;
  }
  [[nodiscard]] bool is_over(std::uint64_t episode) const noexcept {
    return episode_.load(std::memory_order_acquire) != episode;  // [G]
  }
  // Ends the episode if all have arrived and all is done; true for whoever does. To be called by a
  // worker that finds nothing to take.
  [[nodiscard]] bool end_if_done(std::uint64_t episode) noexcept {
    if (arrivals_.load(std::memory_order_acquire) != (episode + 1) * workers_) return false;  // [A]
    return is_done() && episode_.compare_exchange_strong(episode, episode + 1,
                                                         std::memory_order_acq_rel,   // [E]
                                                         std::memory_order_relaxed);  // [X]
  }

  // Whether, at a moment of the call, nothing was unfinished of what the caller knows of (I2).
  [[nodiscard]] bool is_done() const noexcept {
    std::uint64_t done = done_elsewhere_.load(std::memory_order_acquire), all_made = 0;  // [S]
    for (std::uint32_t i = 0; i < workers_; ++i)
      done += all_[i].done.load(std::memory_order_acquire);  // [S]
    for (std::uint32_t i = 0; i < workers_; ++i)
      all_made += all_[i].made.load(std::memory_order_relaxed);  // [X]
    return done == all_made;
  }

 private:
  struct alignas(128) worker {
    std::atomic<std::uint64_t> made{0}, done{0};
    std::atomic<std::uint32_t> node{0};
    std::uint32_t victim = 0;  // whom it has stolen from last
    deque mine;
  };

  static void add(std::atomic<std::uint64_t>& own, std::memory_order order) noexcept {
    own.store(own.load(std::memory_order_relaxed) + 1, order);  // [X]
  }
  template <class Predicate>
  T* steal(std::uint32_t from, Predicate& may_have) noexcept {
    deque& d = all_[from].mine;
    return d.seems_empty() ? nullptr : d.steal(may_have);
  }

  const std::uint32_t room_;
  std::uint32_t workers_;
  const std::unique_ptr<worker[]> all_;
  alignas(128) std::atomic<std::uint64_t> arrivals_{0}, done_elsewhere_{0};
  alignas(128) std::atomic<std::uint64_t> episode_{0};
};

}  // namespace syncopate
