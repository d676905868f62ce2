// engine.h -- what a machine has to provide, and all that the front end knows of it.
//
// The front end (this folder) turns what an instrumented program does -- the compiler's calls for
// each access, the functions of machine.h, libc's and pthread's functions -- into the calls below.
// A machine (src/model/emulated, simulated, explored) is one implementation of them; which one
// is decided by the library that the program is linked with, libsyncopate-<machine>.so.
//
// Rules
//   * Every function is called on the stack and with the thread pointer of the thread that acts.
//     It may switch to other fibers and return much later.
//   * The engine allocates with its own allocator (instrument::internal, never the program's
//     arena), and keeps nothing in thread_local variables.
//   * A predicate given to await() is instrumented code: the front end ignores the accesses it
//     makes while the engine calls it (engine_scope).
//   * `where` is the return address of the compiler's call: the program's source position.
#pragma once

#include <syncopate/machine/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace syncopate::engine {

using address = std::uintptr_t;
using place = const void*;       // a code address
using word = unsigned __int128;  // a value of 1, 2, 4, 8 or 16 bytes, zero-extended

// ---- the program ------------------------------------------------------------------------------

// Runs the whole program: calls `program` (main, with its arguments) one or several times on the
// machine, in a fiber of its own, and returns the process's exit status. Called once, after static
// constructors.
int run(int (*program)());

// Whether run() calls it several times.
bool runs_again();

// exit(), abort(), a failed assertion or an uncaught exception of the program. Does not return to
// the caller; whether the process ends is the machine's decision. `message`, unless null, is a line
// for standard error that nobody has written yet. status: as a shell shows it (abort: 134).
enum class end { exit, abort, failed_check };
[[noreturn]] void finish(end how, int status, const char* message, place where);

// ---- threads ----------------------------------------------------------------------------------

// Makes a thread that will call entry(argument) on a fiber; returns its index, dense and never
// reused in one run; main is 0. The new thread may run at once. The caller happens-before it.
unsigned spawn(void (*entry)(void*), void* argument, std::size_t stack_bytes, place where);

// Ends the calling thread, once its entry has returned and its destructors have run.
[[noreturn]] void thread_exit();

unsigned current();  // index of the calling thread

// Whether the process may fork: the child then has a machine of its own, in the state of this one.
bool may_fork();
void set_affinity(unsigned thread, const unsigned char* mask, std::size_t bytes);

// ---- memory -----------------------------------------------------------------------------------

enum class kind : unsigned char { read, write };

// A plain access, about to be made by the caller right after the return. `bytes` is any number but
// 0: memcpy and the like announce whole ranges.
void access(address at, std::size_t bytes, kind what, place where);
// The same of what a compare-exchange expects, which is mostly a variable on the caller's stack.
void access_expected(address at, std::size_t bytes, kind what, place where);
// What the kernel or a stream is about to read for a call, or has written: in no time of the
// machine's, as all that they do.
void access_by_call(address at, std::size_t bytes, kind what, place where);
// The program is about to unmap these bytes.
void unmapped(address at, std::size_t bytes, place where);

// Atomic operations: the engine makes them. bytes: 1, 2, 4, 8, 16.
enum class operation : unsigned char { exchange, add, sub, and_, or_, xor_, nand };
word load(address at, unsigned bytes, std::memory_order, place where);
// Whose rules for release sequences the store follows: until C++17 and C17 they go on through later
// stores of the thread that began one; since C++20 and C23 through read-modify-writes only.
enum class sequences : unsigned char { cxx20, cxx11 };
void store(address at, unsigned bytes, word value, std::memory_order, place where,
           sequences = sequences::cxx20);
word modify(address at, unsigned bytes, operation, word operand, std::memory_order, place where);
// On failure `expected` is what was found.
bool compare_exchange(address at, unsigned bytes, word& expected, word desired,
                      std::memory_order success, std::memory_order failure, bool weak, place where);
void fence(std::memory_order, place where);

// The program's heap got or lost a block (after it was handed out; before it is reused). Engines
// use it for names of lines and to find use after free. `where` is the call's site;
// null in calls from inside the C library, which may hold its locks: the engine must not switch
// fibers then. freed() tells how much the block could hold, at least what was asked for.
void allocated(address at, std::size_t bytes, place where);
void freed(address at, std::size_t bytes, place where);

// A function of the program returns: what of its variables is on the stack lies below `up_to`.
void leaves(address up_to, place where);

// ---- what the program claims (compiler/annotations.cpp) ---------------------------------------

// What happened before a release happens before what follows each later acquire of the same address
// and side.
enum class claim : unsigned char { release, acquire };
void claim_order(address of, int side, claim, place where);
// Races of these bytes are meant. Also before run().
void claim_harmless(address at, std::size_t bytes, place where);
// Bytes of a library that lets threads share them. Before run().
void claim_shared(address at, std::size_t bytes);
// by 1: no race of the calling thread's such accesses is to be told of; -1: as before.
void ignore(kind what, int by);

// The program enters the kernel, for a call that is made natively. tcp: on a socket of TCP, which
// has the protocol's work done.
void system_call(bool tcp, place where);

// Computation that the front end knows about and that touches no memory: cycles.
void work(std::uint64_t cycles);

// ---- waiting ----------------------------------------------------------------------------------

void relax(std::uint32_t steps, place where);
void yield(place where);

using predicate = bool (*)(void* context, std::uint64_t value);
// See syncopate_await in machine/instrumented.h. depth -1: spin.
bool await(address at, unsigned bytes, std::memory_order, int depth, predicate, void* context,
           std::uint64_t until, std::uint64_t& value, place where);

machine::park_result park(address at, std::uint32_t expected, const machine::deadline* until,
                          std::uint32_t bitset, place where);
int wake(address at, int count, std::uint32_t bitset, place where);
// FUTEX_CMP_REQUEUE for programs that call it: wakes `count`, moves up to `limit` others.
int requeue(address from, address to, int count, int limit, place where);

// nanosleep and the like. May return earlier, when the thread was interrupted.
void sleep_until(const machine::deadline& until, place where);

// ---- signals ----------------------------------------------------------------------------------

// Whether the machine says when signals come (libc/signals.h); else they are the system's, and the
// functions below are never called.
bool has_signals();
// The thread calls take_signals() before its next operation; its sleep, or its wait for a futex,
// ends. By a thread, or from ring_alarms().
void interrupt(unsigned thread);
// ring_alarms() is called once CLOCK_MONOTONIC shows so many nanoseconds; 0: never. One at a time.
void set_alarm(std::uint64_t at);
// take_outside() is called soon. Async-signal-safe.
void look_outside();

// ---- time and place ---------------------------------------------------------------------------
// The program's static constructors ask these, too, before run(); no time has passed then.

std::uint64_t ticks();
std::uint64_t ticks_per_second();
std::uint64_t nanoseconds(int clock);  // CLOCK_*
unsigned processor();
unsigned processors();
unsigned node();
unsigned nodes();

// ---- hardware transactions --------------------------------------------------------------------

bool htm_usable();
machine::htm::status htm_begin(machine::htm::mode, place where);  // returns twice
void htm_commit(place where);
void htm_abort(unsigned char code, place where);
bool htm_active();
// The program is about to do what no transaction survives (a system call).
void htm_unfriendly(place where);
// A section whose transactions aborted now runs without one. For statistics.
void htm_fell_back(place where);

}  // namespace syncopate::engine
