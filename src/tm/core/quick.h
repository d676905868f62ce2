// quick.h -- the transactions of which least is to be done: their thread is left alone without
// the mutex, they run code without calls for each access, and cannot be canceled.
//
// begin_x86_64.S begins them, with two stores: it shows the thread active, finds the word still the
// thread's own, and notes how far the thread is. Nothing is kept of where it began, nor
// is any light fence executed: regime::quick is set only where those cost nothing, and who takes it
// away makes up for it if they have begun to cost something (fences.h). What it shows as its epoch
// (regime.h, [A]) is just not 0: it finds no block that another transaction has freed.
//
// Where the kernel begins to refuse membarrier, a quick thread's fences stay free, and suffice. Who
// takes the word away makes each processor pass a fence between that store and the first look at
// `active`: by membarrier; or, where that is refused now, or was before, by visiting them, since
// heavy_fence() then returns when light_fences_cost_nothing() is false, for good. If the quick
// thread looks at the word before that fence, its store of `active`, which came before the look, is
// seen; if after, it finds the word taken and calls leave(), which needs nobody else's fence.
//
// Checked by    tests/check/regime_scenarios.cpp, with begin() below for the assembly, and light
//               fences where free ones are.
//
// Memory order (each tag stands at its site below)
//   [A]  as regime.h's, at the beginning: x86-64 lets no store pass a store, no load a load.
//   [E]  as regime.h's, at the end.
//   [M]  relaxed look at whether the word is still the thread's own: only this thread runs while it
//        is (regime.h, [S]), so there is nobody to synchronize with.
//   [L]  seq_cst fence instead of the light one that [E] in regime.h has behind it.
#pragma once

#include "tm/core/fences.h"
#include "tm/core/regime.h"
#include "tm/core/transaction.h"

#include <cstddef>

namespace syncopate::tm::quick {

// The recorder wants to see each one, and the thread sanitizer each access to the words above.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool possible = false;
#else
inline constexpr bool possible = !machine::is_modeled && !observer::watches;
#endif

inline constexpr u64 running = progress::word_of(1, mode::alone, true);

// Whether the innermost transaction is one.
[[nodiscard, gnu::always_inline]] inline bool runs(const transaction* tx) noexcept {
  return tx->word() == running;
}

// The word was not, or is not, the thread's own.
[[gnu::noinline, gnu::cold]] inline void leave(transaction* tx) noexcept {
  tx->active.store(0, std::memory_order_release);  // [E]
  // Instead of a light one, which might have begun to cost something: against [C] of closer_sleeps.
  std::atomic_thread_fence(std::memory_order_seq_cst);  // [L]
  now.wake_closer(tx);
}

// What begin_x86_64.S does, on the explored machine, which does not see that. Requires: the thread
// is in no transaction. Returns whether it is in a quick one now.
[[nodiscard]] inline bool begin(transaction* tx) noexcept {
  const address mine = regime::quick_solo_of(tx);
  if (now.word.load(std::memory_order_relaxed) != mine) return false;  // [M]
  tx->active.store(1, std::memory_order_relaxed);                      // [A]
  costless_fence();
  if (now.word.load(std::memory_order_relaxed) != mine) return leave(tx), false;  // [M]
  tx->set_word(running);
  return true;
}

// Requires: runs(tx).
[[gnu::always_inline]] inline void commit(transaction* tx) noexcept {
  tx->set(0, mode::idle, false);
  tx->counts.commits += 1;
  tx->active.store(0, std::memory_order_release);  // [E]
  costless_fence();
  const address mine = regime::quick_solo_of(tx);
  if (__builtin_expect(now.word.load(std::memory_order_relaxed) != mine, 0)) leave(tx);  // [M]
}

}  // namespace syncopate::tm::quick
