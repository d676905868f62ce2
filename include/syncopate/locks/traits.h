// traits.h -- what is worth knowing of a lock before choosing it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace syncopate {

enum class fairness {
  none,      // whoever comes at the right moment; a waiter can starve
  eventual,  // barging, but a waiter gets the lock handed over after a bounded time
  fifo,      // first come, first served
};

struct lock_traits {
  fairness fair = fairness::none;
  bool timed = false;      // lock_until() waits in line; else timed locking polls try_lock()
  bool collapses = false;  // with a strategy that never sleeps: throughput falls by orders of
                           // magnitude when threads outnumber processors
  bool excludes = true;    // false: measures the harness only
  bool spins = false;      // waiters never sleep; for locks that take no waiting strategy
  bool preload = true;     // false: for programs that use the library only, not for unmodified ones
  bool runs_ahead = false;  // its waiters run ahead of it in transactions (wait/speculate.h)
  // Its sections, or its waiters', run as transactions: what is written beside it aborts them.
  bool transacts = runs_ahead;
  // Its state is a glibc mutex, not bytes inside one: word, owner and user count where glibc has
  // them, with glibc's meaning.
  bool glibc_word = false;
  bool keeps_owner = false;  // writes owner and user count itself; only with glibc_word
  // has_been_contended(): whether anybody ever had to wait. Only such locks are worth eliding.
  bool remembers_contention = false;
  std::string_view summary;
  std::string_view source;
};

// Whether waiters with this strategy let others have the processor though they never sleep.
template <class Wait>
concept yielding = requires {
  Wait::yields;
};

// Whether waiters with this strategy let their processor sleep though the kernel sees them run.
template <class Wait>
concept dozing = requires {
  Wait::dozes;
};

// Whether waiters of a lock type never sleep: its strategy tells; locks without one say so
// themselves.
template <class Lock>
inline constexpr bool never_sleeps = Lock::traits.spins;
template <template <class> class Lock, class Wait>
requires requires { Wait::parks; }
inline constexpr bool never_sleeps<Lock<Wait>> = !Wait::parks;

// Whether they poll for as long as it takes: not even their processor sleeps.
template <class Lock>
inline constexpr bool keeps_polling = never_sleeps<Lock>;
template <template <class> class Lock, class Wait>
requires dozing<Wait>
inline constexpr bool keeps_polling<Lock<Wait>> = false;

}  // namespace syncopate
