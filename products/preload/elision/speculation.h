// speculation.h -- waiters of pthread's locks that run ahead of them (wait/speculate.h), where the
// user has named a lock whose waiters do.
//
// A thread that runs ahead of one lock holds all others in appearance: lock, trylock and timed lock
// return at once, unlock does nothing, but that of the lock itself, which ends the run. Signaling a
// condition variable does nothing; waiting for one ends the run, as each system call does.
//
// Whether it pays is measured here, since a mutex has no room for it: some of the holders' unlocks
// are counted, and the time of windows of them with and without is compared
// (wait/profit_control.h). Locks that meet in a place of the table share a control: it is a hint,
// on which nothing depends that has to be right.
//
// Memory order (each tag stands at its site below)
//   [H]  relaxed: a hint.
//   [B]  acquire exchange and release store of `busy`: a control is one thread's at a time.
#pragma once

#include <syncopate/machine.h>
#include <syncopate/wait/speculate.h>

#include <cstdint>

#include "preload/choice/algorithms.h"
#include "preload/config.h"
#include "record/recorder.h"

namespace syncopate::shim {

using waits::speculation;

// Returns whether waiters are to run ahead: the default lock's do, or those of one that a policy
// names, and transactions begin here. Requires: nothing has run ahead yet.
bool configure_speculation(const algorithm& lock) noexcept;

// Whether the calling thread runs ahead of some lock: all that it does will be undone.
inline bool is_ahead() noexcept {
  return __builtin_expect(config.speculates, 0) && speculation::active();
}
// Ends the run before what cannot be done in it; returns where there is none.
inline void stop_running_ahead() noexcept {
  if (is_ahead()) speculation::abandon();
}

// For locks that are no algorithm of the table. Runs ahead of `lock` a few times, and tries in
// between to have it: take(). Returns whether the caller runs ahead, or has it.
template <class Take>
inline bool run_ahead_of(const void* lock, Take take) noexcept {
  constexpr int most_runs = 4;  // as locks/speculative_tatas_lock.h
  for (int run = 0; run < most_runs; ++run)
    if (speculation::begin(lock) || take()) return true;
  return false;
}

// Counts one section of those that the control of `lock` measures. Returns what its trial has found
// with that (profit_control::gain()); 0: no trial has ended.
std::uint32_t count_section(const void* lock) noexcept;

// A section of the calling thread ends. `lock`: what its waiters run ahead of; identify(): the
// recorder's id.
template <class Identify>
inline void note_section(const void* lock, Identify identify) noexcept {
  constexpr std::uint32_t sample_period = 7;  // as locks/speculating_lock.h
  if (!machine::now_and_then(sample_period)) return;
  const std::uint32_t gain = count_section(lock);
  if (gain == 0 || !record::enabled) return;
  record::speculation_counts found{};
  found.trials = 1;
  found.gain = gain;
  record::speculated(identify(), found);
}

// For the record, once a wait is over: what it has run ahead.
void record_runs(std::uint32_t id) noexcept;

}  // namespace syncopate::shim
