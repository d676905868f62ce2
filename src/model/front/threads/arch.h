// arch.h -- what the front end needs of the processor and cannot say in C++. One file for each
// architecture: arch_x86_64.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace syncopate::instrument {

// The thread pointer: what thread_local variables are addressed by.
std::uintptr_t thread_pointer() noexcept;
void set_thread_pointer(std::uintptr_t) noexcept;

// Keeps the running stack's state on it and its pointer in `from`, and goes on with `to`, which is
// where another was left. Ends in a return, not in a jump: processors predict a return by the call
// that they saw last, and fibers that wait in the same place go on through the same callers.
void switch_stack(void*& from, void* to) noexcept;

// What switch_stack() goes to for a new stack, whose end (high address) is given: function(), which
// never returns.
void* new_stack(std::uintptr_t stack_end, void (*function)()) noexcept;

// Where a signal interrupted the program; `context` is the third argument of its handler.
std::uintptr_t interrupted_pc(const void* context) noexcept;
// Whether the instruction there is a jump to itself.
bool jumps_to_itself(const void* context) noexcept;

// Where a function that saves a stack was called: what it has to preserve for its caller. The order
// of the members is known to the assembly.
struct registers {
  std::uintptr_t stack_pointer;  // after the return
  std::uintptr_t resume;         // the return address
  std::uintptr_t preserved[6];
  std::uint32_t vector_control;
  std::uint16_t float_control;
};

// Calls function(argument) on another stack, whose end (high address) is given, for good.
[[noreturn]] void call_on_stack(void* stack_end, void (*function)(void*), void* argument) noexcept;

// Calls function(a, b, c) with the stack pointer that is given, on the running stack, and returns
// what that returns. Exceptions pass. Requires: a multiple of 16, below the caller's frame.
extern "C" std::uintptr_t syncopate_call_at(std::uintptr_t stack_pointer, const void* function,
                                            std::uintptr_t a, std::uintptr_t b, std::uintptr_t c);

// Returns `code` from the function whose registers were saved.
[[noreturn]] void resume(const registers&, std::uint32_t code) noexcept;

}  // namespace syncopate::instrument
