// rollback.cpp -- transactions that do not come to their end: they begin again, wait for a
// change, are canceled, or go on alone.
//
// Memory order (each tag stands at its site below)
//   [O]  relaxed: `optimistic` does not change while the thread is active (regime.h, [A]).
//   [F]  relaxed: the child of a fork has one thread.
#include "tm/core/contention.h"
#include "tm/core/engine_parts.h"
#include "tm/core/hardware.h"
#include "tm/core/stacks.h"

#include <cstdio>
#include <cstdlib>

namespace syncopate::tm {

void fail(const char* what) noexcept {
  std::fprintf(stderr, "libitm (syncopate): %s\n", what);
  std::abort();
}

void roll_back_all(transaction* tx) noexcept {
  tx->ops->roll_back(tx);
  tx->undo.undo(0, tx->stack_begin - tx->stack_extent, tx->stack_begin);
  tx->on_undo.run_backwards(0);
  tx->on_commit.clear();
  revert_exceptions(tx->eh, {});
  tx->allocated.release(0);
  tx->freed.clear();
}

namespace {

// Neither the transaction nor, if that is an inner one, the outermost.
bool never_rolls_back(const transaction* tx) noexcept {
  return cannot_roll_back(tx->how) ||
         (!tx->checkpoints.empty() && cannot_roll_back(tx->checkpoints.begin()->how));
}

// Requires: nothing is left of the attempt before.
[[noreturn]] void begin_again(transaction* tx, bool alone) noexcept {
  tx->depth = 1;
  const u32 actions = start_slowly(tx, alone || needs_to_be_alone(tx->properties));
  if (tx->wants_stack_announced && tx->how != mode::optimistic) stacks::announce(tx);
  syncopate_tm_resume(&tx->where, (actions & ~save_live_variables) | restore_live_variables);
}

void give_attempt_up(transaction* tx, cause why) noexcept {
  if (tx->how != mode::optimistic) {
    if (why == cause::memory) fail("no memory for the log of a transaction");
    fail("a transaction that runs alone cannot begin again");
  }
  tx->ops = now.optimistic.load(std::memory_order_relaxed);  // [O]
  ++tx->counts.restarts[static_cast<unsigned>(why)];
  observer::aborted(tx, why);
  ++tx->attempts;
  roll_back_all(tx);
  give_up_regime(tx);
  forget(tx);
}

}  // namespace

void restart(transaction* tx, cause why) noexcept {
  give_attempt_up(tx, why);
  begin_again(tx, why == cause::memory || why == cause::unsafe_call ||
                      contention::after_failure(tx) == contention::verdict::alone);
}

void restart_alone(transaction* tx, cause why) noexcept {
  give_attempt_up(tx, why);
  begin_again(tx, true);
}

void retry(transaction* tx) noexcept {
  if (never_rolls_back(tx)) fail("retry in a transaction that cannot roll back");
  ++tx->counts.restarts[static_cast<unsigned>(cause::retry)];
  observer::aborted(tx, cause::retry);
  if (tx->how == mode::optimistic) tx->ops = now.optimistic.load(std::memory_order_relaxed);  // [O]
  for (const block& b : tx->allocated) tx->reads.drop(reinterpret_cast<address>(b.at), b.size);
  roll_back_all(tx);
  const operations& ran_under = *tx->ops;
  const regime::commits_so_far before = now.start_waiting(tx);
  give_up_regime(tx);
  forget(tx);
  tx->depth = 1;
  now.wait_for_change(tx, ran_under, before);
  stop_waiting(tx);
}

void stop_waiting(transaction* tx) noexcept {
  now.count_waiter_off(tx);
  tx->properties &= ~u32{read_only};  // so that tl2, too, knows the next time what it waits for
  begin_again(tx, false);
}

void cancel(transaction* tx, bool outermost) noexcept {
  if (!outermost && !tx->checkpoints.empty() && tx->checkpoints.back().depth + 1 == tx->depth)
    cancel_inner(tx);
  if (never_rolls_back(tx)) fail("a transaction that cannot roll back was canceled");
  observer::canceled(tx);
  roll_back_all(tx);
  give_up_regime(tx);
  if (tx->attempts != 0) contention::after_success(tx);
  forget(tx);
  tx->depth = 0;
  const registers where = tx->where;
  syncopate_tm_resume(&where, abort_transaction | restore_live_variables);
}

void become_irrevocable(transaction* tx, const void* called, const void* from) noexcept {
  observer::calls_unsafe(tx, called, from);
  switch (tx->how) {
    case mode::idle:
    case mode::alone:
    case mode::writer:
    // Inner transactions that can be canceled keep their checkpoints: what they log is harmless.
    case mode::alone_undo: return;
    case mode::hardware: leave_hardware(true);
    case mode::optimistic: restart(tx, cause::unsafe_call);
  }
}

void abandon(transaction* tx) noexcept {
  tx->on_commit.clear();
  tx->on_undo.clear();
  forget(tx);
  tx->depth = tx->attempts = 0;
  tx->holds_mutex = false;
  tx->active.store(0, std::memory_order_relaxed);            // [F]
  tx->looking.store(0, std::memory_order_relaxed);           // [F]
  tx->writes_stack.store(false, std::memory_order_relaxed);  // [F]
  stacks::retract(tx);
}

}  // namespace syncopate::tm
