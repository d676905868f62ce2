// runtime.h -- the OpenMP runtimes of the process. Which one a call is for: caller.h.
#pragma once

#include <atomic>
#include <cstdint>

#include "openmp/base/entry_points.h"

namespace syncopate::openmp {

enum class family : std::uint8_t { gnu, llvm };

struct runtime;

// What a call of one kind (GOMP_*, __kmpc_*, omp_*) means.
struct binding {
  const runtime* to = nullptr;
  bool ours = false;     // we act; else the call is passed on
  bool guessed = false;  // it may be meant for another one (caller.h, R4)
};

// Never destroyed: the library that it describes stays loaded. But one that was first seen when
// the program closed the only module that uses it, goes with that: the loader has decided it.
struct runtime {
  entry_points real;
  const char* file = "";
  const void* base = nullptr;
  std::uintptr_t end = 0;    // behind its last byte
  std::uint16_t number = 0;  // from 1
  family kind = family::gnu;
  bool known = false;       // a version whose entry points we know
  bool tasks = false;       // its tasks are ours (tasks.h)
  bool nest_locks = false;  // the owner of a nest lock can be told (nest_lock.h)
  // What the calls of modules that are bound to it mean; null `to` where it has no such names.
  binding gomp, kmpc, omp;
  binding passed_on, guess;
  runtime* next = nullptr;
  // When it ran its last destructors: how many modules had been unloaded, plus 1 (modules.h, U2).
  mutable std::atomic<unsigned long long> ended{0};

  [[nodiscard]] bool contains(const void* code) const noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(code);
    return address >= reinterpret_cast<std::uintptr_t>(base) && address < end;
  }
};

extern constinit std::atomic<const runtime*> runtimes;  // newest first; never removed

// The first from that one on in the list that is still loaded.
const runtime* loaded_from(const runtime* r) noexcept;

// The runtime that has the place in its data runs its last destructors.
void end_runtime(const void* place, unsigned long long unloaded) noexcept;

// Whether calls may be meant for different runtimes.
bool are_several() noexcept;

// The runtime that has the function at that address; made when it is first asked for. Null where
// there is none.
const runtime* runtime_with(const void* function) noexcept;

// Lists all runtimes that the process has loaded. Cheap where nothing was loaded since.
void list_runtimes() noexcept;

bool is_our_code(const void* address) noexcept;

}  // namespace syncopate::openmp
