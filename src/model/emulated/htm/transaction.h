// transaction.h -- begin, commit, abort; and what the accesses of a transaction do when the
// line is not theirs yet.
//
// Memory order (each tag stands at its site below)
//   [S]  release store of `idle`: what was written, or rolled back, happens-before who finds it.
//   [T]  acquire load of what handlers have interrupted -- synchronizes with announced.cpp.
//   [L]  acquire load of the list of threads -- synchronizes with the push (thread.cpp).
//   [V]  relaxed: before `active`, which is stored with seq_cst and read first by who looks at
//        both.
//   [D]  relaxed: doom is seen at the next access; what the doomed one reads until then is not
//        used.
//   [C]  compiler barrier: for signals of this thread.
//   [Q]  seq_cst: a status, a slot's owner, the access that a handler has interrupted last, and
//        whether transactions are stopped. Who begins stores its status and then looks whether
//        others stand in its way; they store their wish and then look at its status: one of the two
//        sees the other.
#pragma once

#include "model/emulated/threads/thread.h"

namespace syncopate::emulated {

// The bits that machine/instrumented.h's syncopate_htm_begin returns.
std::uint32_t status_bits(reason, std::uint8_t code, bool nested) noexcept;

// Rolls the running transaction back; begin returns once more. Requires: here.current == &t.
[[noreturn]] void abort_transaction(thread& t, reason, place where) noexcept;

// If the calling thread is in a transaction, ends it so: for what no transaction survives.
inline void end_transaction(reason why, place where) noexcept {
  if (here.current != nullptr) [[unlikely]]
    abort_transaction(*here.current, why, where);
}

inline bool is_doomed(const thread& t) noexcept {
  return status_word::is_doomed(t.status.load(std::memory_order_relaxed));  // [D]
}

// While it returns true no transaction may begin, and none runs (fork).
void stop_transactions() noexcept;
void allow_transactions() noexcept;
extern constinit std::atomic<bool> transactions_stopped;

}  // namespace syncopate::emulated
