// transaction.h -- begin, commit, abort; and what the accesses of a transaction do when the
// line is not theirs yet.
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
  return status_word::is_doomed(t.status.load(std::memory_order_relaxed));
}

// While it returns true no transaction may begin, and none runs (fork).
void stop_transactions() noexcept;
void allow_transactions() noexcept;
extern constinit std::atomic<bool> transactions_stopped;

}  // namespace syncopate::emulated
