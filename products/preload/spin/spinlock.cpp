// spinlock.cpp -- pthread_spin_*: what posix/spin.h says, by glibc's word (1 free, 0 or less held),
// waited for politely.
//
// glibc spins for as long as it takes. We spin for a while and then offer the processor between two
// polls, so that a preempted holder can run: with more threads than processors this decides.
// Process-shared spin locks need no distinction, since the representation is glibc's.
//
// Memory order (each tag stands at its site below)
//   [L]  acquire RMW that takes the lock -- synchronizes with [U].
//   [U]  release store.
//   [G]  relaxed look: decides only whether [L] is tried.
//   [I]  relaxed: the program has to order the initialization before all uses.

#include <syncopate/machine.h>
#include <syncopate/wait/yield.h>

#include <atomic>

#include <pthread.h>

#include "posix/spin.h"
#include "preload/base/export.h"
#include "preload/base/real.h"
#include "preload/config.h"
#include "preload/elision/speculation.h"
#include "record/recorder.h"

namespace syncopate::shim {
namespace {

constexpr std::uint64_t patience_ticks = 4'096;  // before the first yield; about one sched_yield()

std::atomic_ref<int> word_of(pthread_spinlock_t* l) {
  return std::atomic_ref<int>(*const_cast<int*>(l));
}

bool try_take(std::atomic_ref<int> word) {
  int expected = posix::spin_free;
  return word.compare_exchange_strong(expected, posix::spin_held, std::memory_order_acquire,  // [L]
                                      std::memory_order_relaxed);                             // [G]
}

void take(std::atomic_ref<int> word) {
  stop_running_ahead();
  const std::uint64_t impatient = machine::ticks() + patience_ticks;
  for (std::uint32_t pauses = 1;; pauses = pauses < 16 ? 2 * pauses : 16) {
    if (word.load(std::memory_order_relaxed) == posix::spin_free && try_take(word)) return;  // [G]
    if (static_cast<std::int64_t>(machine::ticks() - impatient) >= 0) machine::yield();
    else machine::spin(pauses);
  }
}

using record::object_kind;

bool passes() { return current_mode() == mode::pass; }

class word_lock {
 public:
  static constexpr bool tries_first = true;
  word_lock(pthread_spinlock_t* l, const void* caller) : lock_(l), caller_(caller) {}

  [[nodiscard]] const void* address() const { return const_cast<const int*>(lock_); }
  [[nodiscard]] const void* caller() const { return caller_; }
  [[nodiscard]] std::uint32_t identify() const {
    return record::identify(object_kind::spinlock, 0, address(), nullptr);
  }

  static bool is_held_by_caller() { return true; }  // nobody knows
  bool try_acquire() { return try_take(word_of(lock_)); }
  [[gnu::noinline, gnu::cold]] void acquire() { take(word_of(lock_)); }
  void release() { word_of(lock_).store(posix::spin_free, std::memory_order_release); }  // [U]
  static void mark_destroyed() {}

 private:
  pthread_spinlock_t* lock_;
  const void* caller_;  // where the program's call returns to
};

struct spin_recorder : posix::nobody_watches_spin {
  static void about_to_lock(word_lock& l) { record::next_section(l.address()); }
  static void acquire(word_lock& l) {
    record::wait w =
        record::wait_begin(record::wait_kind::spinlock, l.identify(), 0, {l.caller(), false});
    l.acquire();
    record::wait_end(w, l.address());
  }
  static void tried(word_lock& l, bool taken) {
    if (!taken) record::tried_in_vain(l.identify(), l.address(), 0, l.caller());
    else if (record::trying_for == l.address()) record::got_at_last(l.address());
  }
  static void entered(word_lock& l) { record::taken(object_kind::spinlock, 0, l.address()); }
  static void release(word_lock& l) {
    const std::uint64_t ended = record::hold_ends(l.address(), false);
    l.release();  // the lock may be gone now
    if (ended != 0) record::released_unseen(l.address(), l.identify(), ended);
  }
  static void about_to_destroy(word_lock& l) {
    if (record::enabled) record::object_destroyed(object_kind::spinlock, l.address(), nullptr, 0);
  }
};

[[gnu::noinline, gnu::cold]] int lock_recorded(pthread_spinlock_t* l, const void* caller) {
  return posix::lock_spin(word_lock(l, caller), spin_recorder());
}
[[gnu::noinline, gnu::cold]] int try_recorded(pthread_spinlock_t* l, const void* caller) {
  return posix::try_lock_spin(word_lock(l, caller), spin_recorder());
}
[[gnu::noinline, gnu::cold]] int unlock_recorded(pthread_spinlock_t* l) {
  return posix::unlock_spin(word_lock(l, nullptr), spin_recorder());
}

}  // namespace
}  // namespace syncopate::shim

using namespace syncopate;        // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::shim;  // NOLINT(google-build-using-namespace)

SYNCOPATE_EXPORT int pthread_spin_init(pthread_spinlock_t* l, int shared) {
  ensure_configured();
  if (passes()) return real::pthread_spin_init(l, shared);
  word_of(l).store(posix::spin_free, std::memory_order_relaxed);  // [I]
  return 0;
}

SYNCOPATE_EXPORT int pthread_spin_destroy(pthread_spinlock_t* l) {
  if (passes()) return real::pthread_spin_destroy(l);
  return posix::destroy_spin(word_lock(l, nullptr), spin_recorder());
}

SYNCOPATE_EXPORT int pthread_spin_lock(pthread_spinlock_t* l) {
  if (__builtin_expect(record::enabled, 0)) return lock_recorded(l, __builtin_return_address(0));
  if (__builtin_expect(passes(), 0)) return real::pthread_spin_lock(l);
  return posix::lock_spin(word_lock(l, nullptr), posix::nobody_watches_spin());
}

SYNCOPATE_EXPORT int pthread_spin_trylock(pthread_spinlock_t* l) {
  if (__builtin_expect(record::enabled, 0)) return try_recorded(l, __builtin_return_address(0));
  if (__builtin_expect(passes(), 0)) return real::pthread_spin_trylock(l);
  return posix::try_lock_spin(word_lock(l, nullptr), posix::nobody_watches_spin());
}

SYNCOPATE_EXPORT int pthread_spin_unlock(pthread_spinlock_t* l) {
  if (__builtin_expect(passes(), 0)) return real::pthread_spin_unlock(l);
  if (__builtin_expect(record::enabled, 0)) return unlock_recorded(l);
  return posix::unlock_spin(word_lock(l, nullptr), posix::nobody_watches_spin());
}

SYNCOPATE_ALSO_OLDER(pthread_spin_destroy, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_OLDER(pthread_spin_init, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_OLDER(pthread_spin_lock, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_OLDER(pthread_spin_trylock, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_OLDER(pthread_spin_unlock, SYNCOPATE_GLIBC_2_2_5)
