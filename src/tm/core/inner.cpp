// inner.cpp -- transactions inside of others: flat, but for those that can be canceled alone,
// which have a checkpoint to roll back to.
//
// Memory order (each tag stands at its site below)
//   [S]  relaxed: an address of code, for a line in the statistics.
#include "tm/core/engine_parts.h"
#include "tm/core/hardware.h"
#include "tm/core/quick.h"

namespace syncopate::tm {
namespace {

u32 path_inside(const transaction* tx, u32 properties) noexcept {
  const bool plain = cannot_roll_back(tx->how) && (properties & uninstrumented_code) != 0;
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
  same_frame.store(where, std::memory_order_relaxed);  // [S]
}

}  // namespace

u32 begin_inside(transaction* tx, u32 properties, const registers& where) noexcept {
  if (quick::runs(tx)) tx->where.stack = 0;  // it was not kept
  tx->not_plain();
  if (__builtin_expect(where.stack == tx->where.stack, 0)) note_same_frame(where.resume_at);
  if (tx->how == mode::hardware) {
    if ((properties & has_no_abort) == 0) leave_hardware(false);
    tx->set_word(tx->word() + 1);
    return run_uninstrumented | save_live_variables;
  }
  if ((properties & instrumented_code) == 0) become_irrevocable(tx, nullptr, where.resume_at);
  if ((properties & has_no_abort) != 0 || (properties & instrumented_code) == 0) {
    tx->set_word(tx->word() + 1);
    return path_inside(tx, properties);
  }
  push_checkpoint(tx, where);
  if (cannot_roll_back(tx->how)) {
    tx->how = mode::alone_undo;
    tx->ops = &alone_undo_operations;
    tx->stack_begin = where.stack, tx->stack_extent = 0;
  }
  ++tx->depth;
  return run_instrumented | save_live_variables;
}

void leave_inner(transaction* tx) noexcept {
  if (tx->checkpoints.empty() || tx->checkpoints.back().depth != tx->depth) return;
  const checkpoint c = tx->checkpoints.back();
  tx->checkpoints.pop();
  if (!cannot_roll_back(c.how)) return;
  // The outer one cannot roll back.
  tx->how = c.how;
  tx->ops = c.ops;
  tx->undo.shrink(c.undo);
}

void cancel_inner(transaction* tx) noexcept {
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

const void* begun_in_same_function() noexcept {
  return same_frame.load(std::memory_order_relaxed);  // [S]
}

}  // namespace syncopate::tm
