#include "tm/engine.h"

#include "tm/adaptive.h"
#include "tm/hardware.h"
#include "tm/parts/contention.h"
#include "tm/parts/stacks.h"
#include "tm/regime.h"
#include "tm/threads.h"

#include <cstdio>
#include <cstdlib>

namespace syncopate::tm {
namespace {

[[noreturn]] void fail(const char* what) noexcept {
  std::fprintf(stderr, "libitm (syncopate): %s\n", what);
  std::abort();
}

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
    tx->how = mode::alone;
    tx->ops = &alone_operations;
    observer::attempts(tx);
    return (may_run & uninstrumented_code ? run_uninstrumented : run_instrumented) |
           save_live_variables;
  }
  tx->how = mode::alone_undo;
  tx->ops = &alone_undo_operations;
  find_own_stack(tx);
  observer::attempts(tx);
  return run_instrumented | save_live_variables;
}

[[gnu::always_inline]] inline u32 start_optimistic(transaction* tx) noexcept {
  tx->how = mode::optimistic;
  tx->ops = now.optimistic.load(std::memory_order_relaxed);
  find_own_stack(tx);
  observer::attempts(tx);
  return tx->ops->begin(tx);
}

[[gnu::noinline]] u32 start_with_mutex(transaction* tx) noexcept {
  now.acquire(tx, true);
  ++tx->counts.alone;
  return start_alone(tx);
}

bool needs_to_be_alone(u32 properties) noexcept {
  return (properties & goes_irrevocable) != 0 || (properties & instrumented_code) == 0;
}

// Requires: tx->where holds where to begin again.
[[gnu::noinline]] u32 start_slowly(transaction* tx, bool want_alone) noexcept {
  for (;;) {
    const address regime_word = now.enter(tx);
    if (regime_word == regime::solo_of(tx)) return start_alone(tx);
    const bool invited =
        regime_word == regime::open || (regime_word == regime::narrow && tx->attempts != 0);
    if (invited && !want_alone && (!now.prefers_hardware() || now.try_count_software(regime_word)))
      return start_optimistic(tx);
    now.leave(tx, regime::open);
    if (regime_word == regime::narrow && !want_alone) now.wait_while_narrow();
    else if (want_alone || !now.is_optimistic()) return start_with_mutex(tx);
    else now.mutex.lock(), now.mutex.unlock();  // sleeps until it may be open again
  }
}

// ---- the end -----------------------------------------------------------------------------

void forget(transaction* tx) noexcept {
  tx->undo.clear();
  tx->allocated.clear();
  tx->freed.clear();
  tx->checkpoints.clear();
  tx->captured_size = 0;
  tx->id = 0;
  tx->how = mode::idle;
  tx->plain = false;
  tx->ops = &alone_operations;
}

void give_up_regime(transaction* tx) noexcept {
  if (tx->holds_mutex) return now.release(tx);
  if (tx->how == mode::hardware) return;  // it never showed itself
  const bool optimistic = tx->how == mode::optimistic;
  if (optimistic && __builtin_expect(now.prefers_hardware(), 0)) now.count_software_off();
  now.leave(tx, optimistic ? address{regime::open} : regime::solo_of(tx));
}

// Everything that most transactions do not have. Requires: the regime is given up.
[[gnu::noinline, gnu::cold]] void finish_rest(transaction* tx, bool was_optimistic) {
  // One who waits may look at the blocks, though no other transaction runs.
  if (was_optimistic || now.waiters.load(std::memory_order_relaxed) != 0)
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
  const bool was_optimistic = tx->how == mode::optimistic;
  const bool was_side_by_side = was_optimistic || tx->how == mode::hardware;
  ++tx->counts.commits;
  give_up_regime(tx);
  now.tell_waiters(was_optimistic);
  if (__builtin_expect(tx->attempts != 0, 0)) contention::after_success(tx);
  if (__builtin_expect(tx->eh.any, 0)) tx->eh = {};
  if (__builtin_expect(!tx->freed.empty() || !tx->on_commit.empty() || !tx->on_undo.empty(), 0))
    finish_rest(tx, was_optimistic);
  else forget(tx);
  if (was_side_by_side && adaptive::on && tx->counts.commits >= tx->look_at)
    adaptive::consider_side_by_side(tx);
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

// ---- inner transactions -------------------------------------------------------------------

u32 path_inside(const transaction* tx, u32 properties) noexcept {
  const bool plain = tx->how == mode::alone && (properties & uninstrumented_code) != 0;
  return (plain ? run_uninstrumented : run_instrumented) | save_live_variables;
}

void push_checkpoint(transaction* tx, const registers& where) noexcept {
  checkpoint* const c = tx->checkpoints.push();
  if (c == nullptr) restart(tx, cause::memory);
  *c = {where,
        tx->depth,
        tx->ops,
        tx->how,
        tx->eh,
        tx->undo.size(),
        tx->allocated.size(),
        tx->freed.size(),
        tx->on_commit.size(),
        tx->on_undo.size(),
        tx->writes.position()};
}

std::atomic<const void*> same_frame{nullptr};  // return address of such a beginning

// One function begins a transaction inside of its own (docs/tm.md).
[[gnu::cold]] void note_same_frame(const void* where) noexcept {
  same_frame.store(where, std::memory_order_relaxed);
}

u32 begin_inside(transaction* tx, u32 properties, const registers& where) noexcept {
  tx->plain = false;
  if (__builtin_expect(where.stack == tx->where.stack, 0)) note_same_frame(where.resume_at);
  if (tx->how == mode::hardware) {
    if ((properties & has_no_abort) == 0) leave_hardware(false);
    ++tx->depth;
    return run_uninstrumented | save_live_variables;
  }
  if ((properties & instrumented_code) == 0) become_irrevocable(tx, nullptr, where.resume_at);
  if ((properties & has_no_abort) != 0 || (properties & instrumented_code) == 0) {
    ++tx->depth;
    return path_inside(tx, properties);
  }
  push_checkpoint(tx, where);
  if (tx->how == mode::alone) {
    tx->how = mode::alone_undo;
    tx->ops = &alone_undo_operations;
    tx->stack_begin = where.stack, tx->stack_extent = 0;
  }
  ++tx->depth;
  return run_instrumented | save_live_variables;
}

[[gnu::noinline]] void leave_inner(transaction* tx) noexcept {
  if (tx->checkpoints.empty() || tx->checkpoints.back().depth != tx->depth) return;
  const checkpoint c = tx->checkpoints.back();
  tx->checkpoints.pop();
  if (c.how != mode::alone) return;
  // The outer one cannot roll back.
  tx->how = c.how;
  tx->ops = c.ops;
  tx->undo.shrink(c.undo);
}

[[noreturn]] void cancel_inner(transaction* tx) noexcept {
  const checkpoint c = tx->checkpoints.back();
  const address dead_from = tx->stack_low < c.where.stack ? tx->stack_low : c.where.stack;
  tx->undo.undo(c.undo, dead_from, c.where.stack);
  if (tx->how == mode::optimistic) tx->writes.restore(c.writes);
  tx->on_undo.run_backwards(c.on_undo);
  tx->on_commit.shrink(c.on_commit);
  revert_exceptions(tx->eh, c.eh);
  tx->allocated.release(c.allocated);
  tx->freed.shrink(c.freed);
  tx->captured_size = 0;
  tx->depth = c.depth;
  tx->ops = c.ops;
  tx->how = c.how;
  tx->checkpoints.pop();
  syncopate_tm_resume(&c.where, abort_transaction | restore_live_variables);
}

}  // namespace

namespace {

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

u32 begin_plain(u32 properties, address stack) noexcept {
  constexpr u32 needed = uninstrumented_code | has_no_abort;
  transaction* const tx = current;
  const address mine = regime::solo_of(tx);
  if (observer::watches || (properties & needed) != needed || tx->depth != 0 ||
      now.word.load(std::memory_order_relaxed) != mine)
    return 0;
  if (__builtin_expect(now.enter(tx) != mine, 0)) return now.leave(tx, mine), 0;
  tx->depth = 1;
  tx->where.stack = stack;
  tx->how = mode::alone;
  tx->plain = true;
  return run_uninstrumented | save_live_variables;
}

// The two fast paths call nothing but the algorithm; everything else is a tail call.
u32 begin(u32 properties, const registers& where) noexcept {
  transaction* const tx = current;
  if (__builtin_expect(tx == &nobody || tx->depth != 0, 0)) return begin_unusual(properties, where);
  tx->depth = 1;
  tx->properties = properties;
  tx->where.stack = where.stack;
  observer::began(tx, where);
  if (__builtin_expect(now.prefers_hardware(), 0)) return begin_in_hardware(tx, where);
  const address regime_word = now.enter(tx);
  if (regime_word == regime::solo_of(tx)) {
    if ((properties & has_no_abort) == 0) tx->where = where;
    return start_alone(tx);
  }
  if (__builtin_expect(regime_word != regime::open || needs_to_be_alone(properties), 0))
    return begin_closed(tx, where);
  copy(tx->where, where);
  tx->plain = !observer::watches && !now.prefers_hardware();
  return start_optimistic(tx);
}

namespace {

[[gnu::noinline, gnu::cold]] void wake_after_plain(transaction* tx) noexcept {
  now.wake_closer(tx);
  now.tell_waiters(false);
}

[[gnu::noinline]] void commit_any(transaction* tx) noexcept {
  observer::commits(tx);
  if (tx->how == mode::optimistic && __builtin_expect(!tx->ops->commit(tx), 0))
    restart(tx, cause::commit_conflict);
  if (__builtin_expect(tx->how == mode::hardware, 0)) commit_in_hardware(tx);
  observer::committed(tx);
  finish(tx);
}

// What is left to do where commit() has not done it all.
[[gnu::noinline, gnu::cold]] void finish_side_by_side(transaction* tx, bool closing) noexcept {
  if (closing) now.wake_closer(tx);
  now.tell_waiters(true);
  if (adaptive::on && tx->counts.commits >= tx->look_at) adaptive::consider_side_by_side(tx);
}

// An optimistic transaction's first attempt that did nothing but read and write: finish() without
// all that such a one has no need of.
[[gnu::noinline]] void commit_plain_optimistic(transaction* tx) noexcept {
  if (__builtin_expect(!tx->ops->commit(tx), 0)) restart(tx, cause::commit_conflict);
  tx->plain = false;
  tx->how = mode::idle;
  tx->ops = &alone_operations;
  tx->undo.clear();
  const u64 done = ++tx->counts.commits;
  const bool closing = now.stop(tx, regime::open);
  if (closing || __builtin_expect(now.waiters.load(std::memory_order_relaxed) != 0, 0) ||
      (adaptive::on && done >= tx->look_at))
    finish_side_by_side(tx, closing);
}

// The same of one in hardware.
[[gnu::noinline]] void commit_plain_hardware(transaction* tx) noexcept {
  commit_in_hardware(tx);
  tx->plain = false;
  tx->how = mode::idle;
  const u64 done = ++tx->counts.commits;
  if (__builtin_expect(now.waiters.load(std::memory_order_relaxed) != 0, 0)) now.tell_waiters(false);
  if (adaptive::on && done >= tx->look_at) adaptive::consider_side_by_side(tx);
}

}  // namespace

// The fast path, of begin_plain()'s transactions, calls nothing: everything else is a tail call.
void commit() noexcept {
  transaction* const tx = current;
  if (__builtin_expect(--tx->depth != 0, 0)) return leave_inner(tx);
  if (!tx->plain) return commit_any(tx);
  if (tx->how == mode::optimistic) return commit_plain_optimistic(tx);
  if (tx->how == mode::hardware) return commit_plain_hardware(tx);
  tx->plain = false;
  tx->how = mode::idle;
  ++tx->counts.commits;
  const bool closing = now.stop(tx, regime::solo_of(tx));
  if (closing || __builtin_expect(now.waiters.load(std::memory_order_relaxed) != 0, 0))
    wake_after_plain(tx);
}

void restart(transaction* tx, cause why) noexcept {
  if (tx->how != mode::optimistic) {
    if (why == cause::memory) fail("no memory for the log of a transaction");
    fail("a transaction that runs alone cannot begin again");
  }
  tx->ops = now.optimistic.load(std::memory_order_relaxed);
  ++tx->counts.restarts[static_cast<unsigned>(why)];
  observer::aborted(tx, why);
  ++tx->attempts;
  roll_back_all(tx);
  give_up_regime(tx);
  forget(tx);
  tx->depth = 1;
  const bool alone = why == cause::memory || why == cause::unsafe_call ||
                     contention::after_failure(tx) == contention::verdict::alone;
  const u32 actions = start_slowly(tx, alone || needs_to_be_alone(tx->properties));
  if (tx->wants_stack_announced && tx->how != mode::optimistic) stacks::announce(tx);
  syncopate_tm_resume(&tx->where, (actions & ~save_live_variables) | restore_live_variables);
}

void retry(transaction* tx) noexcept {
  if (tx->how == mode::alone || (!tx->checkpoints.empty() && tx->checkpoints[0].how == mode::alone))
    fail("retry in a transaction that cannot roll back");
  ++tx->counts.restarts[static_cast<unsigned>(cause::retry)];
  observer::aborted(tx, cause::retry);
  if (tx->how == mode::optimistic) tx->ops = now.optimistic.load(std::memory_order_relaxed);
  for (const block& b : tx->allocated) tx->reads.drop(reinterpret_cast<address>(b.at), b.size);
  roll_back_all(tx);
  const operations& ran_under = *tx->ops;
  now.start_waiting(tx);
  give_up_regime(tx);
  forget(tx);
  tx->depth = 1;
  now.wait_for_change(tx, ran_under);
  tx->properties &= ~u32{read_only};  // so that tl2, too, knows the next time what it waits for
  const u32 actions = start_slowly(tx, needs_to_be_alone(tx->properties));
  syncopate_tm_resume(&tx->where, (actions & ~save_live_variables) | restore_live_variables);
}

void cancel(transaction* tx, bool outermost) noexcept {
  if (!outermost && !tx->checkpoints.empty() && tx->checkpoints.back().depth + 1 == tx->depth)
    cancel_inner(tx);
  if (tx->how == mode::alone || (!tx->checkpoints.empty() && tx->checkpoints[0].how == mode::alone))
    fail("a transaction that cannot roll back was canceled");
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
  tx->active.store(0, std::memory_order_relaxed);
  tx->looking.store(0, std::memory_order_relaxed);
  tx->writes_stack.store(false, std::memory_order_relaxed);
  stacks::retract(tx);
}

const void* begun_in_same_function() noexcept { return same_frame.load(std::memory_order_relaxed); }

u64 identity(transaction* tx) noexcept {
  static constinit std::atomic<u64> blocks{1};
  constexpr u64 block_size = 1 << 16;
  tx->plain = false;
  if (tx->id != 0) return tx->id;
  if (tx->next_id % block_size == 0)
    tx->next_id = blocks.fetch_add(1, std::memory_order_relaxed) * block_size;
  return tx->id = tx->next_id++;
}

statistics add_statistics() noexcept {
  statistics sum;
  for (transaction* tx = all_threads(); tx != nullptr; tx = tx->next) {
    sum.commits += tx->counts.commits;
    sum.alone += tx->counts.alone;
    sum.hardware += tx->counts.hardware;
    for (unsigned i = 0; i < causes; ++i) sum.restarts[i] += tx->counts.restarts[i];
  }
  return sum;
}

}  // namespace syncopate::tm
