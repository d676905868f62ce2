// names_blocks.h -- what names.cpp asks of names_blocks.cpp and names_threads.cpp beyond
// names.h.
#pragma once

#include "names.h"

#include <cstdint>
#include <string>

namespace syncopate::instrument {

struct thread_memory {
  unsigned thread;
  std::uintptr_t stack_low, stack_high, tls_low, tls_high;

  [[nodiscard]] bool on_stack(std::uintptr_t at) const {
    return at >= stack_low && at < stack_high;
  }
  [[nodiscard]] bool in_tls(std::uintptr_t at) const { return at >= tls_low && at < tls_high; }
};

// The thread that last had the address in its stack or thread-local storage; null when none.
const thread_memory* thread_with(std::uintptr_t address);

// The block that starts at the address, at the cost of one probe; bytes is 0 when none does.
heap_block block_at(std::uintptr_t start);

// ---- names_threads.cpp --------------------------------------------------------------------------

// What the routine of a std::thread or std::async calls: "main::{lambda()#1}", or the type of a
// pointer to a function. Empty for other functions.
std::string callable_name(const void* routine);
void forget_thread_routines();

}  // namespace syncopate::instrument
