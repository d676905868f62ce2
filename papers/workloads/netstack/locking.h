// locking.h -- every lock and condition variable of the stack goes through this module, which makes
// them as the program's --locking says.
//
// Source        Yoo, Hughes, Lai & Rajwar, SC 2013, section 6: the names of the variants are the
//               paper's. How we deviate: an elided lock takes syncopate::auto_lock where it falls
//               back.
//
//   variant          lock                   wait for a condition
//   mutex            std::mutex             std::condition_variable
//   tsx.abort        elided                 abort, take the lock, sleep; signals abort, too
//   tsx.cond         elided                 commit, sleep, begin again
//   mutex.busywait   std::mutex             unlock and lock, until it is true (listing 6)
//   tsx.busywait     elided                 the same with transactions
//
// Memory order (each tag stands at its site below)
//   [S]  release store of stopped_ -- synchronizes with [T].
//   [T]  acquire load of stopped_: who has stopped the clock happens-before what follows.
#pragma once

#include <syncopate/elide/condition.h>
#include <syncopate/elide/elided_lock.h>
#include <syncopate/locks/auto_lock.h>
#include <syncopate/machine.h>

#include <array>
#include <atomic>
#include <climits>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>

namespace net {

namespace elide = syncopate::elide;

enum class locking : unsigned char { mutex, tsx_abort, tsx_cond, mutex_busywait, tsx_busywait };
inline constexpr std::array<std::string_view, 5> locking_names{"mutex", "tsx.abort", "tsx.cond",
                                                               "mutex.busywait", "tsx.busywait"};

inline std::optional<locking> locking_by_name(std::string_view name) {
  for (std::size_t i = 0; i < locking_names.size(); ++i)
    if (locking_names[i] == name) return static_cast<locking>(i);
  return std::nullopt;
}

// Requires: changed only while no lock of this module exists.
inline locking chosen_locking = locking::mutex;

class chosen_lock {
 public:
  void lock() {
    if (elides()) elided_.lock();
    else plain_.lock();
  }
  void unlock() {
    if (elides()) elided_.unlock();
    else plain_.unlock();
  }

 private:
  friend class condition;
  static bool elides() {
    return chosen_locking != locking::mutex && chosen_locking != locking::mutex_busywait;
  }

  std::mutex plain_;
  elide::elided_lock<syncopate::auto_lock> elided_;
};

using section = std::scoped_lock<chosen_lock>;

class condition {
 public:
  // Returns once done() is true. Requires: the caller is in the lock's section, and in no other.
  template <class Done>
  void wait(chosen_lock& held, Done done) {
    while (!done()) wait_once(held);
  }

  // Wakes all that wait. Requires: the caller is in the section of what they wait for.
  void notify_all() {
    switch (chosen_locking) {
      case locking::mutex: return plain_.notify_all();
      case locking::tsx_abort: return aborting_.notify_all();
      case locking::tsx_cond: return aware_.notify_all();
      case locking::mutex_busywait:
      case locking::tsx_busywait: return busy_.notify_all();
    }
  }

 private:
  void wait_once(chosen_lock& held) {
    switch (chosen_locking) {
      case locking::mutex: return wait_plain(held);
      case locking::tsx_abort: return aborting_.wait(held);
      case locking::tsx_cond: return aware_.wait(held);
      case locking::mutex_busywait:
      case locking::tsx_busywait: return busy_.wait(held);
    }
  }
  void wait_plain(chosen_lock& held) {
    std::unique_lock mutex(held.plain_, std::adopt_lock);
    plain_.wait(mutex);
    mutex.release();
  }

  std::condition_variable plain_;
  elide::basic_condition<elide::wait_variant::abort> aborting_;
  elide::basic_condition<elide::wait_variant::transaction_aware> aware_;
  elide::basic_condition<elide::wait_variant::busy_wait> busy_;
};

// Lets a thread sleep outside of all sections, until a time or until it is stopped.
class alarm_clock {
 public:
  // Returns false once stopped.
  bool sleep(std::int64_t nanoseconds) {
    const syncopate::machine::deadline until = syncopate::machine::after(nanoseconds);
    while (!is_stopped())
      if (syncopate::machine::park(stopped_, 0u, &until) ==
          syncopate::machine::park_result::timed_out)
        break;
    return !is_stopped();
  }
  void stop() {
    stopped_.store(1, std::memory_order_release);  // [S]
    syncopate::machine::wake(&stopped_, INT_MAX);
  }

 private:
  [[nodiscard]] bool is_stopped() const {
    return stopped_.load(std::memory_order_acquire) != 0;  // [T]
  }
  std::atomic<std::uint32_t> stopped_{0};
};

}  // namespace net
