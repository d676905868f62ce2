// real.h -- the C library's own functions, for callers that are not the program: the machine's
// code, and what runs before the program starts.
//
// Memory order (each tag stands at its site below)
//   [F]  relaxed: the address of code, which is the same whoever looks it up.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>

#include "model/front/scope.h"

#define SYNCOPATE_EXPORT extern "C" __attribute__((visibility("default")))

namespace syncopate::instrument {

// Two threads may look the same name up at once; they store the same value. `version` is for names
// that the C library has in an incompatible older version too, which dlsym() may find.
template <class Function>
Function* find_real(std::atomic<void*>& slot, const char* name, const char* version) noexcept {
  void* found = slot.load(std::memory_order_relaxed);  // [F]
  if (found == nullptr) {
    if (version != nullptr) found = dlvsym(RTLD_NEXT, name, version);
    if (found == nullptr) found = dlsym(RTLD_NEXT, name);
    if (found == nullptr) std::abort();
    slot.store(found, std::memory_order_relaxed);  // [F]
  }
  return reinterpret_cast<Function*>(found);
}

}  // namespace syncopate::instrument

#define SYNCOPATE_REAL_VERSION(name, version)                                        \
  ([]() noexcept {                                                                   \
    static constinit std::atomic<void*> slot{nullptr};                               \
    return ::syncopate::instrument::find_real<decltype(name)>(slot, #name, version); \
  }())
#define SYNCOPATE_REAL(name) SYNCOPATE_REAL_VERSION(name, nullptr)

// First statement of a function that stands in for the C library's.
#define SYNCOPATE_UNLESS_PROGRAM(name, ...) \
  if (!::syncopate::instrument::in_program()) return SYNCOPATE_REAL(name)(__VA_ARGS__)
#define SYNCOPATE_CALLER __builtin_return_address(0)
