// layout.h -- where the program's memory lies: at the same addresses in every run, since cache
// sets, and so results, depend on them. Far from where Linux puts executables, libraries and mmap.
#pragma once

#include <cstddef>
#include <cstdint>

namespace syncopate::instrument::layout {

// malloc.
inline constexpr std::uintptr_t heap = 0x1000'0000'0000;
inline constexpr std::size_t heap_bytes = std::size_t{1} << 40;

// Copies of main's arguments, of the program's name and of the environment: where the system puts
// them depends on their length.
inline constexpr std::uintptr_t arguments = 0x1800'0000'0000;
inline constexpr std::uintptr_t program_name = 0x1840'0000'0000;
inline constexpr std::uintptr_t environment = 0x1880'0000'0000;

// Locks of streams, where the program takes any by itself (stream_locks.h).
inline constexpr std::uintptr_t stream_locks = 0x1a00'0000'0000;

// Stacks, one slot each: the largest one, and what the system's own thread needs (stack_slots.cpp).
// A page beyond the power of two, so that the stacks' hot ends do not all fall into the same sets
// of the caches: as with the C library's stacks and their guard pages.
inline constexpr std::uintptr_t stacks = 0x2000'0000'0000;
inline constexpr std::size_t largest_stack = std::size_t{256} << 20;
inline constexpr std::size_t stack_slot = largest_stack + (std::size_t{64} << 20) + 4096;
inline constexpr unsigned stack_slots = 4096;

// Where on a stack, below its end, the program's code begins: room for what the machine has there
// before, which differs with how the machine was compiled. What the program keeps on its stack
// must not move by that.
inline constexpr std::size_t before_thread = 0x1140;
inline constexpr std::size_t before_main = 0x21a0;

// What the program maps by itself, one after the other; never used twice in a run.
inline constexpr std::uintptr_t mappings = 0x2800'0000'0000;

// This library itself (cmake/SyncopateMachines.cmake).
inline constexpr std::uintptr_t library = 0x1c00'0000'0000;
inline constexpr std::uintptr_t library_end = stacks;

}  // namespace syncopate::instrument::layout
