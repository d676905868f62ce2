// stacks.h -- call stacks, each stored once in the record and named by an id (0: none).
#pragma once

#include "record/file.h"

namespace syncopate::record {

inline constexpr std::uint32_t most_stacks = 65'536;  // distinct ones in one record

// Three budgets, so that waiters, who come first, cannot starve holders of theirs.
enum class capture_reason { wait, hold, creation };

// Id of the calling thread's stack; 0 when the thread's budget for this reason is used up, when the
// table is full, or when the stack cannot be walked. `now` are ticks.
std::uint32_t capture_stack(thread_state&, capture_reason, std::uint64_t now) noexcept;

// Adds the thread's time for that to the header's, which all threads share: now and then.
void tell_capture_ticks(thread_state&) noexcept;

// Id of a stack given by its return addresses; 0 when the table is full. Lock-free when known.
std::uint32_t intern_stack(const std::uint64_t* pc, unsigned depth) noexcept;

// The same of numbers that are no addresses (told.h).
std::uint32_t intern_numbers(const std::uint64_t* pc, unsigned depth) noexcept;

bool prepare_stacks() noexcept;
void forget_stacks() noexcept;

}  // namespace syncopate::record
