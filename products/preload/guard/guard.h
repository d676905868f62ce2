// guard.h -- `syncopate run --guard`: locks whose choice does not pay get their default back.
//
//   SYNCOPATE_GUARD=what,...     epochs    compare each lock's choice with auto, now and then
//                                misuse    report wrong uses (misuse.h)
//                                slices    keep holders running, or stop waiting for those that
//                                          do not run (preemption.h)
//                                hard modes for tests, with epochs: `distrust` takes every
//                                comparison as lost, `restless` changes after every epoch; both
//                                count 16 acquisitions as an epoch
//   SYNCOPATE_GUARD_LOG=FILE     where lines go; else standard error
//
// Guarded are normal and recursive mutexes whose algorithm has its own 16 bytes (mutex_object.h).
// At its first contention such a mutex gets a `guarded` from a table, named by the 32 bits that a
// recording would use (so the two exclude each other), with room for a second lock: auto. Both are
// real locks; `in_use` says which one counts.
//
// Invariants
//   I1  A thread is inside only with the lock that in_use names, and in_use is changed only by such
//       a thread, which then holds both. So whoever takes a lock and finds in_use naming the other
//       one gives it back and tries again.
//   I2  An object's index is set once, from 0 or from that of the object that it is a copy of, and
//       stays until its destroy or init call. Only an entry that has the object's address counts.
//   I3  history, tally and epoch_begin belong to the thread that is inside.
//   I4  In the child of a fork in_use stays as it was: the lock that does not count may be held by
//   a
//       thread that was about to give it back, and is not there.
// Memory order (each tag stands at its site)
//   [U]  relaxed: in_use is read with one of the two locks held, and the lock orders it (I1).
//   [I]  acq_rel exchange of an object's index, acquire where it is read: the table's entry is
//        complete.
//   [O]  relaxed: an object's own entry is there before its index ([I]); one that is another's, as
//        in a copy, has another address in it, whichever.
//   [N]  relaxed: a count, for the end of the program.
#pragma once

#include <cstdint>

#include "preload/choice/algorithms.h"
#include "preload/choice/mutex_object.h"
#include "preload/guard/guard_epochs.h"

namespace syncopate::shim {

struct guard_settings {
  bool epochs = false, misuse = false, slices = false;
  bool distrust = false, restless = false;
  [[nodiscard]] bool any() const noexcept { return epochs || misuse || slices; }
};
// Set by configure_guard(), before any lock is taken; then constant.
extern constinit guard_settings guards;

// Reads SYNCOPATE_GUARD. `recording`: epochs are left out.
void configure_guard(bool recording) noexcept;
// By the constructor: opens the log, says what of the variable is unknown.
void start_guard() noexcept;
// At the end of the program: what the guard has found, where that is wanted (`verbose`) or matters.
void finish_guard(bool verbose) noexcept;

struct guarded {
  enum : std::uint32_t { choice = 0, fallback = 1 };
  alignas(16) unsigned char fallback_state[sizeof(auto_lock) + 16];
  std::uint32_t in_use;
  std::uint32_t next_free;
  guard_history history;
  epoch_tally tally;
  std::uint64_t epoch_begin;  // ticks
  std::uint32_t generation;   // of the process: what a parent's threads held never gets free (I4)
  const void* object;         // the mutex
  std::uint64_t site;         // where it was first waited for
};

// One of the locks behind a mutex: its algorithm, and where its state is.
struct lock_in_use {
  const algorithm* lock;
  void* state;
  bool keeps_owner;  // auto in the mutex itself notes the holder there
};
// The lock that counts now; the choice where nothing is guarded. A hint, unless it is held.
lock_in_use lock_in_use_of(mutex_object& o) noexcept;
// Whether `held`, which the calling thread holds, is what counts.
bool is_in_use(mutex_object& o, const lock_in_use& held) noexcept;

// After an acquisition with `held` of a mutex whose is_in_use() is true, before the section begins:
// counts it, and may change what is in use. `waited`: ticks, 0 where it was free.
// Returns what the thread holds now.
lock_in_use note_acquisition(mutex_object& o, const lock_in_use& held, std::uint64_t waited,
                             const void* caller) noexcept;

// The mutex is destroyed: its entry may go to another.
void stop_guarding(mutex_object& o) noexcept;

}  // namespace syncopate::shim
