// fiber.h -- the threads of a modeled machine: stacks that take turns on one OS thread, each
// with a real thread-control block of its own.
//
// A fiber is a stack whose thread pointer (FS base) is that of a parked OS thread
// made for it: thread_local variables, errno, exceptions in flight, pthread_self() and the C
// library's own per-thread state are the fiber's, laid out by the C library itself. Stacks and
// thread-control blocks stand at fixed addresses, the same in every run.
#pragma once

#include <cstddef>
#include <cstdint>

namespace syncopate::instrument {

class fiber;

// Makes a fiber that will run entry(argument) at the first switch to it, inside the machine
// (scope.h). `entry` never returns: it ends by switching away for good. stack_bytes 0: as much as
// the C library's default. Ends the process with one line when memory or threads run out.
//
// Stacks are reused: destroyed fibers' slots, the lowest first. thread_local variables start anew.
// The lowest slot is the program's main: the thread that static constructors ran in. So a machine
// makes main's fiber before any other.
fiber* create_fiber(void (*entry)(void*), void* argument, std::size_t stack_bytes);

// Gives the slot back. Requires: not the running fiber. Its stack is simply dropped: a machine
// uses this to abandon threads in the middle, too.
void destroy_fiber(fiber*);

// Runs `to` until something switches back to the caller. The caller is the running fiber. The depth
// of engine_scope (scope.h) is the fiber's own.
void switch_to(fiber* to);

// The fiber that runs; the first OS thread's own context is one, too (the engine's).
fiber* running_fiber();

// Stack bounds of a fiber: [low, high), the stack grows down from high.
struct stack_bounds {
  std::uintptr_t low, high;
};
stack_bounds stack_of(const fiber*);

// The thread-local storage of the program and its libraries in a fiber: [low, high).
stack_bounds tls_of(const fiber*);

// A copy of a fiber's stack from the caller's frame up, with the registers that a function
// preserves: what a transaction rolls back to. save() returns 0 at first, and `code` (not 0) when
// restore(copy, code) has put everything back, the depth of engine_scope included; the fiber runs
// on from there. restore() never returns. Both are called by the fiber itself.
struct stack_copy;
stack_copy* new_stack_copy();
void delete_stack_copy(stack_copy*);
std::uint32_t save(stack_copy*) noexcept;
[[noreturn]] void restore(stack_copy*, std::uint32_t code) noexcept;

}  // namespace syncopate::instrument
