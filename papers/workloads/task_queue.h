// task_queue.h -- a team's tasks as libgomp keeps them: one queue, one lock, and threads that run
// tasks while they wait at the end of the region.
//
// Source        libgomp's documentation and observed behavior (GCC 4.7 to 12); no code is used.
//               What we leave out: children of tasks, dependences, priorities.
//
// Invariants, under the lock
//   I1  pending_ is the number of tasks in the list; unfinished_ adds those that are being run.
//   I2  state_ says `some_pending` exactly while pending_ > 0.
//   I3  `all_done` is set once, by whoever finds all threads arrived and unfinished_ == 0.
// Memory order: state_ is stored with release and read with acquire; the lock orders the rest.
#pragma once

#include <syncopate/machine.h>

#include <atomic>
#include <cstdint>

#include "common.h"

namespace workloads {

class task_queue {
 public:
  // A task has nothing but its place in the list, and a line of its own as any heap block.
  struct alignas(128) task {
    task* next = nullptr;
  };

  task_queue(named_lock& lock, std::uint32_t threads) : lock_(lock), threads_(threads) {}

  // Leaves a task to the team. False where there are so many that the caller runs it at once.
  bool offer(task& t) {
    if (unfinished_.load(std::memory_order_relaxed) > most_per_thread * threads_) return false;
    lock_.lock();
    (last_ != nullptr ? last_->next : first_) = &t;
    last_ = &t;
    if (pending_++ == 0) state_.store(some_pending, std::memory_order_release);
    count(+1);
    const bool may_sleep = running_ < threads_;
    lock_.unlock();
    // As libgomp: nobody knows whether somebody sleeps.
    if (may_sleep) syncopate::machine::wake(&state_, 1);
    return true;
  }

  // Runs tasks by run() until all threads are here and all tasks are done.
  // Returns how many the caller ran.
  template <class Run>
  std::uint64_t arrive_and_finish(Run run) {
    std::uint64_t done = 0;
    lock_.lock();
    ++arrived_;
    finish_if_last();
    lock_.unlock();
    for (;;) {
      const std::uint32_t now = syncopate::machine::wait_until(
          state_, std::memory_order_acquire, [](std::uint32_t s) { return s != none_pending; });
      if (now == all_done) return done;
      done += run_pending(run);
    }
  }

 private:
  enum : std::uint32_t { none_pending, some_pending, all_done };
  static constexpr std::uint64_t most_per_thread = 64;

  // What one finishes and what it takes next share one critical section.
  template <class Run>
  std::uint64_t run_pending(Run run) {
    std::uint64_t done = 0;
    lock_.lock();
    while (take()) {
      lock_.unlock();
      run();
      ++done;
      lock_.lock();
      --running_;
      count(-1);
    }
    finish_if_last();
    lock_.unlock();
    return done;
  }

  bool take() {
    if (first_ == nullptr) return false;
    first_ = first_->next;
    if (first_ == nullptr) last_ = nullptr;
    if (--pending_ == 0) state_.store(none_pending, std::memory_order_release);
    ++running_;
    return true;
  }

  void finish_if_last() {
    if (arrived_ == threads_ && unfinished_.load(std::memory_order_relaxed) == 0)
      state_.store(all_done, std::memory_order_release);
  }

  void count(int change) {
    unfinished_.store(unfinished_.load(std::memory_order_relaxed) +
                          static_cast<std::uint64_t>(static_cast<std::int64_t>(change)),
                      std::memory_order_relaxed);
  }

  named_lock& lock_;
  const std::uint32_t threads_;
  alignas(128) task* first_ = nullptr;
  task* last_ = nullptr;
  std::uint64_t pending_ = 0;
  std::uint32_t running_ = 0, arrived_ = 0;
  std::atomic<std::uint64_t> unfinished_{0};
  alignas(128) std::atomic<std::uint32_t> state_{none_pending};
};

}  // namespace workloads
