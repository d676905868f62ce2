// types.h -- the types of machine.h that every machine shares.
#pragma once

#include <ctime>

namespace syncopate::machine {

// An absolute time on one of the two clocks that POSIX lets a waiter name.
struct deadline {
  timespec at;
  clockid_t clock = CLOCK_MONOTONIC;
};

enum class park_result { woken, value_changed, timed_out, interrupted };

// How deep a waiter that watches a word may sleep (monitor_wait). `light` wakes sooner, `deep`
// draws less power: UMWAIT's C0.1 and C0.2, or the nearest that the machine has.
enum class sleep_depth { light, deep };

}  // namespace syncopate::machine

// Hardware transactions.
namespace syncopate::machine::htm {

// always_abort: speculate for what it brings into the caches; such a transaction never commits.
enum class mode { normal, always_abort };

enum class cause : unsigned char {
  started,    // begin() returned into the transaction
  conflict,   // another thread touched what this one had
  capacity,   // the footprint did not fit
  explicit_,  // abort(code)
  other,      // interrupt, system call, always_abort at its end, not supported, ...
};

struct status {
  cause why = cause::other;
  unsigned char code = 0;  // of abort(code)
  bool may_retry = false;  // the machine's own hint
  bool nested = false;     // aborted inside a nested transaction

  [[nodiscard]] bool started() const noexcept { return why == cause::started; }
};

}  // namespace syncopate::machine::htm
