// real.cpp -- look-ups behind real.h.

#include "preload/base/real.h"

#include <syncopate/elide/section.h>
#include <syncopate/machine.h>

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <utility>

namespace syncopate::shim::real {
namespace {

bool in_same_library(const void* a, const void* b) noexcept {
  Dl_info of_a{}, of_b{};
  return dladdr(a, &of_a) != 0 && dladdr(b, &of_b) != 0 && of_a.dli_fbase == of_b.dli_fbase;
}

void* find_next(const char* name, const char* version) noexcept {
  void* const versioned = dlvsym(RTLD_NEXT, name, version);
  void* const nearest = dlsym(RTLD_NEXT, name);
  if (versioned == nullptr || nearest == nullptr) return versioned != nullptr ? versioned : nearest;
  return in_same_library(versioned, nearest) ? versioned : nearest;
}

// Two threads may look the same name up at once; they store the same value.
template <class Function>
Function* find(std::atomic<void*>& slot, const char* name, const char* version) noexcept {
  // What the C library does with its objects ends in system calls, and a machine whose transactions
  // are emulated could not take it back.
  machine::htm::abort<static_cast<unsigned char>(elide::abort_code::needs_lock)>();
  void* found = slot.load(std::memory_order_relaxed);  // [F]
  if (__builtin_expect(found == nullptr, 0)) {
    found = find_next(name, version);
    // A C library without the function cannot have given anyone the object we are called with.
    if (found == nullptr) std::abort();
    slot.store(found, std::memory_order_relaxed);  // [F]
  }
  return reinterpret_cast<Function*>(found);
}

}  // namespace

// A cancellation inside a C library call unwinds through these frames, so they are not noexcept in
// effect: built without exceptions, they have no cleanups and no handlers.
#define SYNCOPATE_DEFINE_REAL(result, name, version, parameters, arguments) \
  result name parameters noexcept {                                         \
    static constinit std::atomic<void*> slot{nullptr};                      \
    return find<result parameters>(slot, #name, version) arguments;         \
  }
SYNCOPATE_REAL_FUNCTIONS(SYNCOPATE_DEFINE_REAL)
#undef SYNCOPATE_DEFINE_REAL

template <std::size_t... place>
static int call_open(int (*function)(const char*, ...), const char* first, const char* const* words,
                     std::index_sequence<place...>) noexcept {
  return function(first, words[place]...);
}

#define SYNCOPATE_DEFINE_OPEN(name)                                                          \
  int name(const char* first, const char* const* words) noexcept {                           \
    static constinit std::atomic<void*> slot{nullptr};                                       \
    return call_open(find<int(const char*, ...)>(slot, #name, SYNCOPATE_GLIBC_2_2_5), first, \
                     words, std::make_index_sequence<padded>());                             \
  }
SYNCOPATE_DEFINE_OPEN(execl)
SYNCOPATE_DEFINE_OPEN(execlp)
SYNCOPATE_DEFINE_OPEN(execle)
#undef SYNCOPATE_DEFINE_OPEN

}  // namespace syncopate::shim::real
