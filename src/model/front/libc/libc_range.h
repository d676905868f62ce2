// libc_range.h -- what the stand-ins for the C library's functions share.
#pragma once

#include <cstddef>
#include <cstdint>

#include <link.h>

#include "model/front/engine.h"
#include "model/front/pthread/real.h"
#include "model/front/scope.h"

namespace syncopate::instrument {

// Where the C library, the dynamic linker and the C++ library have their code; found by find_libc()
// at start-up.
struct code_range {
  std::uintptr_t low = 0, bytes = 0;
  bool has(const void* place) const noexcept {
    return reinterpret_cast<std::uintptr_t>(place) - low < bytes;
  }
};
inline constinit code_range libc_code{}, linker_code{}, cpp_library_code{};
void find_libc();

// Whether a module was compiled for a machine, by its dynamic section: it needs our library.
bool needs_machine(const ElfW(Dyn) * dynamic) noexcept;

// Whether the object lies in data of a library that was not: what the library does with it is no
// part of the program, and is not put back between executions.
bool is_of_library(const void* object) noexcept;

// Whether a call came from inside the C library. It may hold its own locks then (a stream's, the
// linker's), which other fibers would wait for by real futex calls: the thread must not switch.
inline bool from_libc(const void* place) noexcept {
  return libc_code.has(place) || linker_code.has(place);
}
// A call by the program, from where the thread may switch.
inline bool by_program(const void* place) noexcept { return in_program() && !from_libc(place); }

inline engine::address address_of(const volatile void* p) noexcept {
  return reinterpret_cast<engine::address>(p);
}

// Announce that the caller is about to read or write a range. Nothing unless by_program(place).
inline void announce(const void* p, std::size_t bytes, engine::kind what, engine::place where) {
  if (bytes == 0) return;
  const engine_scope inside;
  engine::access(address_of(p), bytes, what, where);
}

}  // namespace syncopate::instrument
