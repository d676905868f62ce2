// stacks.h -- locals of functions that are older than the transaction, for algorithms with a
// redo log.
//
// Such a local is written in place, and its old value logged: the transaction may hand it to a
// transaction_pure function next (marshaling), which reads memory and not the redo log. That is
// right as long as no other transaction looks at it. Hardly ever one can; but the program may have
// given its address away. So a transaction writes in place only below the lowest address of its
// stack that another thread's transaction ever used (shared_from), and who wants to use a stack
// that is not his for the first time lowers that address and waits for its owner's transaction.
// What lies above, a transaction writes only when it runs alone.
//
// Invariants
//   I1  While a stack may be written in place, may_be_on_stack() holds for all its addresses, for
//       every other transaction since its beginning: announce() is called by one that runs alone.
//   I2  While writes_stack and private_above are set, no other transaction uses what is in
//       [stack_begin, stack_begin + private_above).
//   I3  Who uses another's stack began after shared_from came to be that low, so that its snapshot
//       has everything that was written in place there.
// Memory order (each tag stands at its site)
//   [P]  store of writes_stack, light fence, load of shared_from -- against [S]: either the owner
//        sees that others use the address, or they see that it writes.
//   [S]  store of shared_from, heavy fence, acquire load of writes_stack.
//   [E]  release store that ends writes_stack -- synchronizes with [S].
//   [N]  settled_from, after the epoch in which it is true; acquire load: who sees it sees that.
//   [A]  relaxed: where stacks are is written by one that runs alone; regime.h's [O] and [A] order
//        it before all who begin. At a thread's end, it is in no transaction.
//   [B]  relaxed load of the thread's own epoch.
//   [G]  relaxed: it is written only by who has [L], and this thread has it.
//   [L]  acquire exchange and release store: one thread at a time lowers a shared_from.
#pragma once

#include "tm/core/transaction.h"

namespace syncopate::tm::stacks {

inline constexpr unsigned piece_shift = 20;
inline constexpr std::size_t pieces = 1u << 14;
// For each MiB of memory (by the lower bits of its number) whether announced stacks are in it.
// Entries stay set: what they cost those who find them wrong is a look at all threads.
extern constinit std::atomic<u8> announced[pieces];

[[nodiscard, gnu::always_inline]] inline u64 may_be_on_stack(address a) noexcept {
  return announced[a >> piece_shift & (pieces - 1)].load(std::memory_order_relaxed);  // [A]
}
// Whether the transaction writes this older local in place.
[[nodiscard]] inline bool is_private(const transaction* tx, address a) noexcept {
  return a - tx->stack_begin < tx->private_above;
}

// Lets the transaction write this older local in place, unless others may use it or the stack is
// not announced. Then it has to run alone.
[[nodiscard]] bool make_private(transaction* tx, address a) noexcept;

// Before the transaction uses what may be on another thread's stack, for a load or a store.
// Restarts where it may not yet.
void use(transaction* tx, address a) noexcept;

// Requires: no other transaction runs.
void announce(transaction* tx) noexcept;
// At the end of the thread.
void retract(transaction* tx) noexcept;

// The transaction has ended, or what it wrote is undone.
inline void end_private(transaction* tx) noexcept {
  tx->writes_stack.store(false, std::memory_order_release);  // [E]
  tx->private_above = 0;
}

}  // namespace syncopate::tm::stacks
