// spinlock.cpp -- pthread_spin_*: glibc's word (1 free, 0 or less held), waited for politely.
//
// glibc spins for as long as it takes. We spin for a while and then offer the processor between two
// polls, so that a preempted holder can run: with more threads than processors this decides.
// Process-shared spin locks need no distinction, since the representation is glibc's.

#include <syncopate/machine.h>
#include <syncopate/wait/yield.h>

#include <atomic>
#include <cerrno>

#include <pthread.h>

#include "preload/config.h"
#include "preload/export.h"
#include "preload/real.h"
#include "record/recorder.h"

namespace syncopate::shim {
namespace {

constexpr int free_word = 1, held_word = 0;
constexpr std::uint64_t patience_ticks = 4'096;  // before the first yield; about one sched_yield()

std::atomic_ref<int> word_of(pthread_spinlock_t* l) {
  return std::atomic_ref<int>(*const_cast<int*>(l));
}

bool try_take(std::atomic_ref<int> word) {
  int expected = free_word;
  return word.compare_exchange_strong(expected, held_word, std::memory_order_acquire,
                                      std::memory_order_relaxed);
}

void take(std::atomic_ref<int> word) {
  const std::uint64_t impatient = machine::ticks() + patience_ticks;
  for (std::uint32_t pauses = 1;; pauses = pauses < 16 ? 2 * pauses : 16) {
    if (word.load(std::memory_order_relaxed) == free_word && try_take(word)) return;
    if (static_cast<std::int64_t>(machine::ticks() - impatient) >= 0) machine::yield();
    else machine::spin(pauses);
  }
}

using record::object_kind;

bool passes() { return current_mode() == mode::pass; }

std::uint32_t identify(const void* object) {
  return record::identify(object_kind::spinlock, 0, object, nullptr);
}

[[gnu::noinline, gnu::cold]] int take_recorded(pthread_spinlock_t* l, const void* caller) {
  const void* const object = const_cast<const int*>(l);
  record::next_section(object);
  if (!try_take(word_of(l))) {
    record::wait w =
        record::wait_begin(record::wait_kind::spinlock, identify(object), 0, {caller, false});
    take(word_of(l));
    record::wait_end(w, object);
  }
  record::taken(object_kind::spinlock, 0, object);
  return 0;
}

[[gnu::noinline, gnu::cold]] int try_recorded(pthread_spinlock_t* l, const void* caller) {
  const void* const object = const_cast<const int*>(l);
  if (!try_take(word_of(l))) {
    record::tried_in_vain(identify(object), object, 0, caller);
    return EBUSY;
  }
  if (record::trying_for == object) record::got_at_last(object);
  record::taken(object_kind::spinlock, 0, object);
  return 0;
}

[[gnu::noinline, gnu::cold]] int take_slow(pthread_spinlock_t* l) {
  take(word_of(l));
  return 0;
}

}  // namespace
}  // namespace syncopate::shim

using namespace syncopate;        // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::shim;  // NOLINT(google-build-using-namespace)

SYNCOPATE_EXPORT int pthread_spin_init(pthread_spinlock_t* l, int shared) {
  ensure_configured();
  if (passes()) return real::pthread_spin_init(l, shared);
  word_of(l).store(free_word, std::memory_order_relaxed);
  return 0;
}

SYNCOPATE_EXPORT int pthread_spin_destroy(pthread_spinlock_t* l) {
  if (passes()) return real::pthread_spin_destroy(l);
  if (record::enabled)
    record::object_destroyed(record::object_kind::spinlock, const_cast<const int*>(l), nullptr, 0);
  return 0;
}

SYNCOPATE_EXPORT int pthread_spin_lock(pthread_spinlock_t* l) {
  if (__builtin_expect(record::enabled, 0)) return take_recorded(l, __builtin_return_address(0));
  if (__builtin_expect(passes(), 0)) return real::pthread_spin_lock(l);
  if (__builtin_expect(try_take(word_of(l)), 1)) return 0;
  return take_slow(l);
}

SYNCOPATE_EXPORT int pthread_spin_trylock(pthread_spinlock_t* l) {
  if (__builtin_expect(record::enabled, 0)) return try_recorded(l, __builtin_return_address(0));
  if (__builtin_expect(passes(), 0)) return real::pthread_spin_trylock(l);
  return try_take(word_of(l)) ? 0 : EBUSY;
}

SYNCOPATE_EXPORT int pthread_spin_unlock(pthread_spinlock_t* l) {
  if (__builtin_expect(passes(), 0)) return real::pthread_spin_unlock(l);
  const void* const object = const_cast<const int*>(l);
  const bool recording = __builtin_expect(record::enabled, 0);
  const std::uint64_t ended = recording ? record::hold_ends(object, false) : 0;
  word_of(l).store(free_word, std::memory_order_release);
  if (ended != 0) record::released(object, identify(object), true, ended);
  return 0;
}

SYNCOPATE_ALSO_OLDER(pthread_spin_destroy, "GLIBC_2.2.5", "GLIBC_2.34")
SYNCOPATE_ALSO_OLDER(pthread_spin_init, "GLIBC_2.2.5", "GLIBC_2.34")
SYNCOPATE_ALSO_OLDER(pthread_spin_lock, "GLIBC_2.2.5", "GLIBC_2.34")
SYNCOPATE_ALSO_OLDER(pthread_spin_trylock, "GLIBC_2.2.5", "GLIBC_2.34")
SYNCOPATE_ALSO_OLDER(pthread_spin_unlock, "GLIBC_2.2.5", "GLIBC_2.34")
