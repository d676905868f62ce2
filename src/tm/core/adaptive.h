// adaptive.h -- `auto`: moves between two ways of taking turns and an optimistic algorithm.
//
// Memory order (each tag stands at its site below)
//   [B]  acquire exchange and release store of `busy`: what is learned is one thread's at a time.
//   [D]  relaxed: a thread that sees an old `due` learns later, or finds in step() that it is
//        early.
//   [K]  relaxed sums for print_ways(), which is called when the program ends.
#pragma once

#include "tm/core/transaction.h"

namespace syncopate::tm {

// Source        the idea of trying both and keeping the faster: Wang, Kulkarni, Cavazos & Spear, "A
//               transactional memory with automatic performance tuning", TACO 8(4), 2012. Ours
//               compares measured commits per second, so that it needs no model of the workload.
//
// While one thread runs, it runs alone without taking a lock (regime.h). When threads wait for each
// other, all transactions run for a few milliseconds each way: in turn, in slices (a thread that is
// alone stays so for half a millisecond, so that data stay in its cache and nobody hands over),
// side by side under the optimistic algorithm, and, where hardware transactions commit, in those,
// one that does not fit alone. Whichever way committed most in a second stays
// (core/trials.h). Later trials come ever later, so that a program loses little by them.
namespace adaptive {

extern constinit bool on;

// When the calling thread looks at the clock next: at which of its commits.
struct look {
  u64 at = 0, last = 0;  // `last`: the time
  u32 step = 1;
};
extern thread_local constinit look next_look [[gnu::tls_model("initial-exec")]];

// A thread looks at the clock after at most so many of its commits; earlier where they are long.
inline constexpr u32 look_every = 16;

// To be called by a thread that has waited for the mutex, or for a slice to end, and has the mutex,
// for a transaction that begins.
void consider_in_turn(const transaction* tx) noexcept;
// To be called after a commit side by side with others, when next_look.at commits are reached.
// Requires: the thread is not active.
void consider_side_by_side(transaction* tx) noexcept;
// Writes a line of how long each way was taken to standard error, where there was a choice.
void print_ways() noexcept;

}  // namespace adaptive

// Writes one line of counts to standard error.
void print_statistics() noexcept;

}  // namespace syncopate::tm
