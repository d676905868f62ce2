// names_blocks.h -- L0: what names.cpp asks of names_blocks.cpp beyond names.h.
#pragma once

#include "names.h"

#include <cstdint>

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

}  // namespace syncopate::instrument
