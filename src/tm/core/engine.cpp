// engine.cpp -- the beginning and the end of a transaction.
//
// Memory order (each tag stands at its site below)
//   [O]  relaxed: `optimistic` does not change while the thread is active (regime.h, [A]).
//   [W]  relaxed: who has come to wait meanwhile is seen by regime.h's [W].
//   [I]  relaxed: only that no two threads get the same block.
#include "tm/core/engine_parts.h"

#include "tm/core/adaptive.h"
#include "tm/core/contention.h"
#include "tm/core/hardware.h"
#include "tm/core/threads.h"

#include <cstdlib>

namespace syncopate::tm {
namespace {

// ---- running alone --------------------------------------------------------------------------

void find_own_stack(transaction* tx) noexcept {
  const address top = tx->where.stack;
  constexpr std::size_t guess = 64 * 1024;  // on a stack that is not the thread's first
  tx->stack_begin = top;
  const bool known = top - tx->stack_low < tx->stack_high - tx->stack_low;
  tx->stack_extent = known ? top - tx->stack_low : guess;
  tx->stack_above = known ? tx->stack_high - top : guess;
  tx->private_above = 0;
}

// Requires: no other transaction runs, and none can begin.
[[gnu::always_inline]] inline u32 start_alone(transaction* tx) noexcept {
  const u32 may_run = tx->properties;
  if (__builtin_expect((may_run & has_no_abort) != 0 || (may_run & instrumented_code) == 0, 1)) {
    tx->set(1, mode::alone, false);
    tx->ops = &alone_operations;
    observer::attempts(tx);
    return (may_run & uninstrumented_code ? run_uninstrumented : run_instrumented) |
           save_live_variables;
  }
  tx->set(1, mode::alone_undo, false);
  tx->ops = &alone_undo_operations;
  find_own_stack(tx);
  observer::attempts(tx);
  return run_instrumented | save_live_variables;
}

// Requires: tx->where holds where to begin again.
[[gnu::always_inline]] inline u32 start_optimistic(transaction* tx, bool plain) noexcept {
  tx->set(1, mode::optimistic, plain);
  tx->ops = now.optimistic.load(std::memory_order_relaxed);  // [O]
  find_own_stack(tx);
  observer::attempts(tx);
  return tx->ops->begin(tx);
}

[[gnu::noinline]] u32 start_with_mutex(transaction* tx) noexcept {
  now.acquire(tx, true);
  ++tx->counts.alone;
  return start_alone(tx);
}

}  // namespace

u32 start_slowly(transaction* tx, bool want_alone) noexcept {
  for (;;) {
    const address regime_word = now.enter(tx);
    if (regime::is_solo_of(regime_word, tx)) return start_alone(tx);
    const bool invited =
        regime_word == regime::open || (regime_word == regime::narrow && tx->attempts != 0);
    if (invited && !want_alone && (!now.prefers_hardware() || now.try_count_software(regime_word)))
      return start_optimistic(tx, false);
    now.leave(tx, regime::open);
    if (regime_word == regime::narrow && !want_alone) now.wait_while_narrow();
    else if (want_alone || !now.is_optimistic()) return start_with_mutex(tx);
    else now.mutex.lock(), now.mutex.unlock();  // sleeps until it may be open again
  }
}

namespace {

// ---- the end -----------------------------------------------------------------------------

// Everything that most transactions do not have. Requires: the regime is given up.
[[gnu::noinline, gnu::cold]] void finish_rest(transaction* tx, bool was_optimistic) {
  // One who waits may look at the blocks, though no other transaction runs.
  if (was_optimistic || now.waiters.load(std::memory_order_relaxed) != 0)  // [W]
    tx->deferred.take(tx->freed);
  else tx->freed.release(0);
  // A commit action may begin a transaction, which has actions of its own.
  actions run = tx->on_commit;
  tx->on_commit = {};
  tx->on_undo.clear();
  forget(tx);
  for (const action& a : run) a.function(a.argument);
  std::free(run.begin());
}

[[gnu::always_inline]] inline void finish(transaction* tx) {
  const bool was_optimistic = runs_beside_others(tx->how);
  const bool was_side_by_side = was_optimistic || tx->how == mode::hardware;
  ++tx->counts.commits;
  give_up_regime(tx);
  now.tell_waiters(was_optimistic);
  if (__builtin_expect(tx->attempts != 0, 0)) contention::after_success(tx);
  if (__builtin_expect(tx->eh.any, 0)) tx->eh = {};
  if (__builtin_expect(!tx->freed.empty() || !tx->on_commit.empty() || !tx->on_undo.empty(), 0))
    finish_rest(tx, was_optimistic);
  else forget(tx);
  if (was_side_by_side && adaptive::on && tx->counts.commits >= adaptive::next_look.at)
    adaptive::consider_side_by_side(tx);
}

// ---- the beginning -------------------------------------------------------------------------

[[gnu::noinline]] u32 begin_closed(transaction* tx, const registers& where) noexcept {
  now.leave(tx, regime::open);
  if (!now.is_optimistic()) {
    if ((tx->properties & has_no_abort) == 0) tx->where = where;  // else nothing comes back there
    return start_with_mutex(tx);
  }
  tx->where = where;
  return start_slowly(tx, needs_to_be_alone(tx->properties));
}
[[gnu::noinline]] u32 begin_in_hardware(transaction* tx, const registers& where) noexcept {
  bool alone = needs_to_be_alone(tx->properties);
  if (fits_hardware(tx->properties)) {
    const start how = start_in_hardware(tx);
    if (how == start::in_hardware) return run_uninstrumented | save_live_variables;
    alone = how == start::alone;
  }
  tx->where = where;
  return start_slowly(tx, alone);
}
[[gnu::noinline]] u32 begin_unusual(u32 properties, const registers& where) noexcept {
  transaction* const tx = self();
  return tx->depth != 0 ? begin_inside(tx, properties, where) : begin(properties, where);
}

}  // namespace

// The words have just been stored one by one: wider loads would wait for that.
[[gnu::always_inline]] static inline void copy(registers& to, const registers& from) noexcept {
  constexpr std::size_t words = sizeof from / word_size;
  const auto* const source = reinterpret_cast<const u64*>(&from);
  auto* const target = reinterpret_cast<u64*>(&to);
#pragma GCC unroll 8
  for (std::size_t i = 0; i < words; ++i) {
    u64 word = source[i];
    asm("" : "+r"(word));
    target[i] = word;
  }
}

// The two fast paths call nothing but the algorithm; everything else is a tail call.
u32 begin(u32 properties, const registers& where) noexcept {
  transaction* const tx = current;
  if (__builtin_expect(tx == &nobody || tx->depth != 0, 0)) return begin_unusual(properties, where);
  tx->properties = properties;
  tx->where.stack = where.stack;
  observer::began(tx, where);
  if (__builtin_expect(now.prefers_hardware(), 0)) return begin_in_hardware(tx, where);
  const address regime_word = now.enter(tx);
  if (regime::is_solo_of(regime_word, tx)) {
    if ((properties & has_no_abort) == 0) tx->where = where;
    return start_alone(tx);
  }
  if (__builtin_expect(regime_word != regime::open || needs_to_be_alone(properties), 0))
    return begin_closed(tx, where);
  copy(tx->where, where);
  return start_optimistic(tx, !observer::watches && !now.prefers_hardware());
}

namespace {

[[gnu::noinline]] void commit_any(transaction* tx) noexcept {
  observer::commits(tx);
  if (runs_beside_others(tx->how) && __builtin_expect(!tx->ops->commit(tx), 0))
    restart(tx, cause::commit_conflict);
  if (__builtin_expect(tx->how == mode::hardware, 0)) commit_in_hardware(tx);
  observer::committed(tx);
  finish(tx);
}

// What is left to do where commit() has not done it all.
[[gnu::noinline, gnu::cold]] void finish_side_by_side(transaction* tx, bool closing) noexcept {
  if (closing) now.wake_closer(tx);
  now.tell_waiters(true);
  if (adaptive::on && tx->counts.commits >= adaptive::next_look.at)
    adaptive::consider_side_by_side(tx);
}

// The same of one that ran under an algorithm and did nothing but read and write: finish() without
// all that such a one has no need of.
[[gnu::noinline]] void commit_plain_optimistic(transaction* tx) noexcept {
  if (__builtin_expect(!tx->ops->commit(tx), 0)) restart(tx, cause::commit_conflict);
  tx->set(0, mode::idle, false);
  tx->ops = &alone_operations;
  tx->undo.clear();
  const u64 done = ++tx->counts.commits;
  const bool closing = now.stop(tx, regime::open);
  if (closing || __builtin_expect(now.waiters.load(std::memory_order_relaxed) != 0, 0) ||  // [W]
      (adaptive::on && done >= adaptive::next_look.at))
    finish_side_by_side(tx, closing);
}

// The same of one in hardware.
[[gnu::noinline]] void commit_plain_hardware(transaction* tx) noexcept {
  commit_in_hardware(tx);
  tx->set(0, mode::idle, false);
  const u64 done = ++tx->counts.commits;
  now.tell_waiters(false);
  if (adaptive::on && done >= adaptive::next_look.at) adaptive::consider_side_by_side(tx);
}

}  // namespace

// Everything is a tail call.
void commit() noexcept {
  transaction* const tx = current;
  tx->set_word(tx->word() - 1);
  if (__builtin_expect(tx->depth != 0, 0)) return leave_inner(tx);
  if (!tx->plain) return commit_any(tx);
  if (tx->how == mode::hardware) return commit_plain_hardware(tx);
  return commit_plain_optimistic(tx);
}

u64 identity(transaction* tx) noexcept {
  static constinit std::atomic<u64> blocks{1};
  constexpr u64 block_size = 1 << 16;
  tx->not_plain();
  if (tx->id != 0) return tx->id;
  if (tx->next_id % block_size == 0)
    tx->next_id = blocks.fetch_add(1, std::memory_order_relaxed) * block_size;  // [I]
  return tx->id = tx->next_id++;
}

}  // namespace syncopate::tm
