// runtime.h -- L4: which OpenMP runtime a call is meant for.
//
// A process may hold several: libgomp for one library, LLVM's libomp for another, private copies
// of either under other names in Python wheels. They export the same omp_* names, and the
// preloaded ones stand before all of them; so the module that a call comes from decides, as it
// would without us: what the loader finds for it in the global scope, else in its own.
#pragma once

#include <atomic>
#include <cstdint>

#include "openmp/entry_points.h"

namespace syncopate::openmp {

enum class family : std::uint8_t { gnu, llvm };

// Never destroyed: the library that it describes stays loaded.
struct runtime {
  entry_points real;
  const char* file = "";
  const void* base = nullptr;
  std::uintptr_t end = 0;  // behind its last byte
  family kind = family::gnu;
  bool known = false;       // a version whose entry points we know
  bool nest_locks = false;  // the owner of a nest lock can be told (nest_lock.h)
  runtime* next = nullptr;
};

// What a call of one kind (GOMP_*, __kmpc_*, omp_*) from one module means.
struct binding {
  const runtime* to = nullptr;  // null: the module can reach no such runtime
  bool ours = false;            // we act; else the call is passed on
  bool word_locks = false;      // ours, and locks are the default ones (word_lock.h)
};

struct module {
  std::uintptr_t begin = 0, end = 0;
  binding gomp, kmpc, omp;
  module* next = nullptr;
};

extern constinit std::atomic<const module*> modules;  // newest first; entries are never removed

// The slow way: asks the loader. May be called at any time in any thread; allocates.
const module& find_module(const void* code) noexcept;

// The module that `code`, a return address, lies in. A handful of loads and compares.
inline const module& module_of(const void* code) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(code);
  for (const module* m = modules.load(std::memory_order_acquire); m != nullptr; m = m->next)
    if (address - m->begin < m->end - m->begin) return *m;
  return find_module(code);
}

// Whether `code` belongs to a libomp of a version that we know, and found before. Wait-free.
bool is_in_llvm_runtime(const void* code) noexcept;

}  // namespace syncopate::openmp

// The caller of the exported function in which it stands.
#define SYNCOPATE_CALLER ::syncopate::openmp::module_of(__builtin_return_address(0))
