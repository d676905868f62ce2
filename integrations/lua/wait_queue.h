// wait_queue.h -- a queue for threads that wait, outside of the interpreter lock, for something
// that changes under it.
//
// Invariants
//   I1  Tickets are drawn, and turns given, inside the lock only; so a thread that finds its
//       condition false and then sleeps misses no wake(): that one comes later, and finds it.
//   I2  Tickets up to turn_ may go on; turn_ <= tickets_. turn_ is written under mutex_, too.
#pragma once

#include <syncopate/gil.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace lua_mt {

class wait_queue {
 public:
  // Lets go of the lock until it is this thread's turn; then enters again. Requires: inside. What
  // the caller knew may have changed.
  void sleep(const void* pc) {
    syncopate_gil_needs_lock();
    const std::uint64_t ticket = ++tickets_;
    syncopate_gil_block_begin();
    {
      std::unique_lock<std::mutex> held(mutex_);
      changed_.wait(held, [&] { return turn_ >= ticket; });
    }
    syncopate_gil_block_end(pc);
  }

  // Lets the first `count` that sleep now go on. Requires: inside.
  void wake(std::uint64_t count) {
    if (turn_ == tickets_) return;  // no system call, so that a transaction may go on
    syncopate_gil_needs_lock();
    {
      const std::lock_guard<std::mutex> held(mutex_);
      turn_ = count < tickets_ - turn_ ? turn_ + count : tickets_;
    }
    changed_.notify_all();
  }
  void wake_all() { wake(UINT64_MAX); }

 private:
  std::uint64_t tickets_ = 0;
  std::uint64_t turn_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace lua_mt
