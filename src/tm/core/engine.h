// engine.h -- what happens to a transaction from its beginning to its end, under any algorithm.
//
// Whoever implements a language's interface calls these; algorithms call restart() alone.
#pragma once

#include "tm/core/transaction.h"

namespace syncopate::tm {

// Every algorithm that a name can choose; ends with a null pointer. This and `parts` are filled by
// algorithms/all.cpp: nothing here knows an algorithm by its name.
extern const operations* const algorithms[];
// Which of them run behind hardware transactions, and where writers run side by side.
struct parts_of_algorithms {
  const operations* behind_hardware;
  const operations* of_few_threads;
  const operations* of_many_threads;
};
extern const parts_of_algorithms parts;

// Not chosen by name: runs while no other transaction does, and can be canceled.
extern const operations alone_undo_operations;

// Begins a transaction, or one inside of the running one. Returns action_bits. Where the
// transaction does not come to its end, resume() returns from the same place again.
u32 begin(u32 properties, const registers& where) noexcept;

// Ends the innermost transaction, which is none of quick.h. Does not return where it has to begin
// again.
void commit() noexcept;

// Rolls everything back and begins again.
[[noreturn]] void restart(transaction* tx, cause why) noexcept;
// The same, and it runs alone then.
[[noreturn]] void restart_alone(transaction* tx, cause why) noexcept;

// Rolls the innermost transaction back (or all, if `outermost`) and continues behind it.
[[noreturn]] void cancel(transaction* tx, bool outermost) noexcept;

// Rolls everything back and begins again once something that the transaction read has changed.
[[noreturn]] void retry(transaction* tx) noexcept;
// For one that waits so, and cannot look at what it has read: begins again at once.
[[noreturn]] void stop_waiting(transaction* tx) noexcept;

// When this returns, the transaction runs alone and cannot roll back. For those who watch: the
// program, at the return address `from`, wants to call `called` (null: it does not say what).
void become_irrevocable(transaction* tx, const void* called, const void* from) noexcept;

// Where the program began an inner transaction in the function that also began the outermost one:
// the last such place, or null. GCC 12 compiles that wrongly (docs/tm.md).
const void* begun_in_same_function() noexcept;

// A number that no other transaction has. Requires: one runs.
u64 identity(transaction* tx) noexcept;

// Returns from the beginning a second time (begin_x86_64.S).
extern "C" [[noreturn]] void syncopate_tm_resume(const registers* where, u32 actions) noexcept;

// Forgets whatever the descriptor's thread was doing: for threads that a fork left behind.
void abandon(transaction* tx) noexcept;

// Adds up the numbers of all threads.
statistics add_statistics() noexcept;

}  // namespace syncopate::tm
