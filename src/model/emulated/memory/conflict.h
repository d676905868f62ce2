// conflict.h -- who may have a line. The requester wins: it dooms those that hold the line in a
// way that excludes its access and waits until they have rolled back. So no transaction ever sees
// memory that another one has written and not committed.
//
// Memory order (each tag stands at its site below)
//   [R]  release store of where the doom came from: for the statistics (htm/observer.cpp).
//   [L]  acquire load of slots' owners and of the list of threads: who finds a thread finds its
//        fields.
//   [T]  acquire load of what handlers have interrupted -- synchronizes with announced.cpp.
//   [M]  acq_rel RMW of a line's word, or acquire, that takes the line: what the one before wrote,
//        or rolled back, happens-before.
//   [W]  acquire load of a line's word -- synchronizes with [U].
//   [U]  release RMW that gives the line up.
//   [V]  relaxed: behind the status of the transaction, which is read with seq_cst.
//   [G]  relaxed look at a line's word, or the value of a failed [M]: decides what is tried next.
//   [O]  relaxed: the transaction's own bits.
//   [K]  relaxed: an answer of the kernel, which changes only before a process' second thread.
//   [Q]  seq_cst: a status, and the line's word that is read behind it (htm/transaction.h).
#pragma once

#include "model/emulated/threads/thread.h"

namespace syncopate::emulated {

enum class use : bool { read, write };

// Returns when no other transaction has the line so that it excludes the use; the caller's own
// transaction may be aborted meanwhile.
void expel_holders(line, use, place where) noexcept;

// The line lies in some thread's stack. If that thread is in a transaction that would overwrite the
// line by its roll-back, dooms it and waits.
void expel_stack_owner(line, place where) noexcept;

// Returns: false when the kernel refuses.
bool fence_all_processors() noexcept;

// Whether another thread has announced a plain access to [low, high), whole lines, and may not have
// made it yet, if it is a write. After fence_all_processors() an announcement is seen here, or the
// check that follows it sees the marks that the caller has set before the fence.
bool may_be_written(const thread&, std::uintptr_t low, std::uintptr_t high) noexcept;

// Makes the line the transaction's own. Aborts it when there is no room, or it is doomed.
void acquire_for_read(thread&, line, place where) noexcept;
void acquire_for_write(thread&, line, place where) noexcept;

// Clears the transaction's marks.
void release_lines(thread&) noexcept;

// Waiting for another thread: spins, then lets it run.
class backoff {
 public:
  void once() noexcept;

 private:
  unsigned turns_ = 0;
};

// An atomic operation outside transactions: keeps the operation's line locked, without holders that
// exclude the use.
class line_lock {
 public:
  line_lock(std::uintptr_t at, use, place where) noexcept;
  ~line_lock();
  line_lock(const line_lock&) = delete;
  line_lock& operator=(const line_lock&) = delete;

 private:
  runtime_scope signals_wait_;
  shadow_word& word_;
};

}  // namespace syncopate::emulated
