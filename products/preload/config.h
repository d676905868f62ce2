// config.h -- what the environment asks of the preload library.
//
//   SYNCOPATE=off                  everything is passed to the C library
//   SYNCOPATE_LOCK=name[:wait]     which lock algorithm stands behind normal mutexes
//   SYNCOPATE_ELIDE=auto|always|off
//                                  run critical sections as transactions where they commit
//   SYNCOPATE_ELIDE_POLICY=name    how often to try (elide/retry_policy.h)
//   SYNCOPATE_SITES=...            what single locks are to be (policy.h)
//   SYNCOPATE_GUARD=what,...       watch the choices, and how the program uses its locks (guard.h)
//   SYNCOPATE_RECORD=file          record waits into that file
//   SYNCOPATE_VERBOSE=1            one line on standard error at the start; at the end, what the
//                                  policy found
//
// Memory order (each tag stands at its site below)
//   [C]  release store of `how`, last, acquire load: who finds it known sees all of the
//        configuration.
#pragma once

#include <atomic>
#include <cstdint>

#include "preload/choice/algorithms.h"

namespace syncopate::shim {

// The order matters: up to `elided` the lock word is glibc's and auto_lock's fast path may act.
enum class mode : std::uint8_t {
  automatic,  // an algorithm on glibc's word, not recording: auto_lock's inline fast path
  recorded,   // the same, recording: counted
  elided,     // as automatic, but a mutex that was contended goes the long way, and elides
  tatas,      // tatas_lock<spin>, not recording: the other inline fast path
  unknown,    // nothing was read yet: a lock call before our constructor finds this
  general,    // any other algorithm, recording, elision, guard: through the table of algorithms
  chosen,     // as automatic, but a policy may choose otherwise for single mutexes
  pass,       // everything goes to the C library
};

struct configuration {
  std::atomic<mode> how{mode::unknown};
  bool elides = false;              // sections are run as transactions (elision.h)
  bool elides_contended = false;    // only those of mutexes that were contended (auto_lock)
  bool asks_rwlocks = false;        // `elides`, or there is a policy: one test instead of two
  bool speculates = false;          // waiters of some locks run ahead of them (speculation.h)
  const algorithm* lock = nullptr;  // the default algorithm; null in mode::pass
  const char* wait_name = "";
};

// Read once, by the constructor or by the first call that needs it, whichever comes first; then
// constant: `how` is stored last, with release order. Hot paths read only `how`, relaxed; a reader
// that sees anything but `unknown` went through ensure_configured() or needs no other field.
extern constinit configuration config;

inline mode current_mode() noexcept { return config.how.load(std::memory_order_acquire); }  // [C]

// Makes sure that the environment was read. Safe at any time in any thread, inside malloc, before
// relocation of other libraries is complete; allocates nothing.
void ensure_configured() noexcept;

}  // namespace syncopate::shim
