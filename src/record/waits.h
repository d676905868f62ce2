// waits.h -- what told.cpp needs of waits.cpp.
#pragma once

#include "record/threads.h"

namespace syncopate::record {

// From now on the record says that the thread waits.
void tell_open(const thread_state&, const wait&, const waiting_call&) noexcept;

// One of the thread's waits for a lock has ended, or is to end, without it.
void count_in_vain(thread_state&, std::uint32_t lock) noexcept;

// Writes a told wait that is over, and, where `holder_stack` is not 0, that its holder held the
// lock all the while.
void write_told(thread_state&, const wait&, std::uint32_t holder_stack) noexcept;
// A hold of the calling thread that ends now.
void write_told_release(thread_state&, std::uint32_t lock, std::uint32_t stack) noexcept;

}  // namespace syncopate::record
