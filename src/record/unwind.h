// unwind.h -- walking the calling thread's stack without being able to fault.
#pragma once

#include "record/internal.h"

namespace syncopate::record {

// The part of the address space where a thread's own stack lies: [low, high).
struct stack_bounds {
  std::uintptr_t low = 0, high = 0;
};
// Bounds of the calling thread's stack, without allocating.
stack_bounds find_stack_bounds() noexcept;

// Return addresses of the calling thread outside this library, innermost first; returns how many.
// One at most when the thread runs on a stack that is not its own (a coroutine, a signal stack).
unsigned walk_stack(const stack_bounds&, std::uint64_t (&pc)[stack_depth]) noexcept;

// Once, in start(): reads SYNCOPATE_STACKS, finds our own code's range, warms up the unwinder.
void prepare_unwinding() noexcept;

}  // namespace syncopate::record
