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

// Where a walk has read return addresses: see trails.h.
struct trail {
  static constexpr unsigned most_own = 6;
  std::uint32_t id;               // of the stack that it leads to
  std::uint8_t own_count, count;  // places in this library, and places in all
  std::uint8_t inner;             // how many of the stack's addresses are of the walk itself
  bool spoiled;                   // of no use
  std::uint32_t own[most_own];    // what is there, counted from our own code's begin
  std::uint16_t place[most_own + stack_depth];  // in words from the frame that it begins at

  // Whether all those addresses, of which `pc` are the ones outside this library, are in their
  // places. Requires: the calling thread is within `frame`.
  [[nodiscard]] bool holds(std::uintptr_t frame, const std::uint64_t* pc) const noexcept;
};

// Return addresses of the calling thread outside this library, innermost first; returns how many.
// One at most when the thread runs on a stack that is not its own (a coroutine, a signal stack).
// `noted`, all zero: takes down its way from the frame `from`, that of a caller.
unsigned walk_stack(const stack_bounds&, std::uint64_t (&pc)[stack_depth], trail* noted = nullptr,
                    std::uintptr_t from = 0) noexcept;

// Whether the calling thread has come out of what it did within `frame`, by a jump: it is in no
// signal handler, and one of its frames lies above. False where that is not known.
[[nodiscard]] bool has_left(const stack_bounds&, std::uintptr_t frame) noexcept;

// Once, in start(): reads SYNCOPATE_STACKS, finds our own code's range, warms up the unwinder.
void prepare_unwinding() noexcept;

}  // namespace syncopate::record
