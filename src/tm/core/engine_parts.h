// engine_parts.h -- what the engine's files share: engine.cpp (the beginning and the end),
// rollback.cpp (what does not come to its end) and inner.cpp (transactions inside of others).
#pragma once

#include "tm/core/engine.h"
#include "tm/core/regime.h"
#include "tm/core/transaction.h"

namespace syncopate::tm {

// One line on standard error, and the end of the program.
[[noreturn]] void fail(const char* what) noexcept;

[[nodiscard]] inline bool needs_to_be_alone(u32 properties) noexcept {
  return (properties & goes_irrevocable) != 0 || (properties & instrumented_code) == 0;
}

// Begins an attempt of an outermost transaction. Returns action_bits. Requires: tx->where holds
// where to begin again.
u32 start_slowly(transaction* tx, bool want_alone) noexcept;

// No transaction runs anymore: the descriptor is as before the beginning, but for its depth.
inline void forget(transaction* tx) noexcept {
  tx->undo.clear();
  tx->allocated.clear();
  tx->freed.clear();
  tx->checkpoints.clear();
  tx->captured_size = 0;
  tx->id = 0;
  tx->set(tx->depth, mode::idle, false);
  tx->ops = &alone_operations;
}

// The attempt is over: others may run that it was in the way of.
inline void give_up_regime(transaction* tx) noexcept {
  if (tx->holds_mutex) return now.release(tx);
  if (tx->how == mode::hardware) return;  // it never showed itself
  const bool optimistic = runs_beside_others(tx->how);
  if (optimistic && __builtin_expect(now.prefers_hardware(), 0)) now.count_software_off();
  now.leave(tx, optimistic ? address{regime::open} : regime::quick_solo_of(tx));
}

// Takes back all that the attempt has done. Requires: it can roll back.
void roll_back_all(transaction* tx) noexcept;

// A transaction inside of the running one. Returns action_bits.
u32 begin_inside(transaction* tx, u32 properties, const registers& where) noexcept;
// Its end; tx->depth is that of the outer one.
void leave_inner(transaction* tx) noexcept;
// Rolls it back, and continues behind it. Requires: it has a checkpoint.
[[noreturn]] void cancel_inner(transaction* tx) noexcept;

}  // namespace syncopate::tm
