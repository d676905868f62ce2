// runtime.cpp -- L4: finds the runtimes and the modules behind runtime.h.

#include "openmp/runtime.h"

#include <cstring>
#include <new>

#include <dlfcn.h>
#include <link.h>

#include "openmp/config.h"
#include "openmp/futex_patch.h"
#include "openmp/kept_region.h"
#include "openmp/known.h"
#include "openmp/nest_lock.h"

namespace syncopate::openmp {

constinit std::atomic<const module*> modules{nullptr};

namespace {

constinit std::atomic<runtime*> runtimes{nullptr};

// Where a module lies in memory. `name` is "" for the program itself.
struct place {
  std::uintptr_t address;
  std::uintptr_t begin = 0, end = 0;
  const char* name = nullptr;
};

int look_at(dl_phdr_info* info, std::size_t, void* argument) {
  auto& wanted = *static_cast<place*>(argument);
  std::uintptr_t begin = ~std::uintptr_t{0}, end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uintptr_t start = info->dlpi_addr + segment.p_vaddr;
    if (start < begin) begin = start;
    if (start + segment.p_memsz > end) end = start + segment.p_memsz;
  }
  if (wanted.address < begin || wanted.address >= end) return 0;
  wanted.begin = begin;
  wanted.end = end;
  wanted.name = info->dlpi_name;
  return 1;
}

place place_of(const void* code) noexcept {
  place found{reinterpret_cast<std::uintptr_t>(code)};
  ::dl_iterate_phdr(look_at, &found);
  return found;
}

// Takes over the waits inside a runtime, where that was asked for and can be done; else one line.
// Returns what the line about the runtime says of it.
const char* take_over_futexes(const runtime& r) noexcept {
  if (!config.patch) return "";
  const char* const refused = r.kind == family::gnu
                                  ? patch_futexes(r.base)
                                  : "it is libomp, of which only libgomp's code is known";
  if (refused == nullptr) return ", regions taken over";
  const char* parts[] = {"syncopate: the start and end of regions stay with ", r.file, ": ",
                         refused, nullptr};
  say(parts);
  return "";
}

// The same for whole regions.
const char* say_regions_kept(const runtime& r) noexcept {
  if (!config.keep) return "";
  const char* const refused = cannot_keep(r);
  if (refused == nullptr) return ", regions kept";
  const char* parts[] = {"syncopate: regions of ", r.file, " are not kept: ", refused, nullptr};
  say(parts);
  return "";
}

runtime* make_runtime(const void* base, const char* file) noexcept {
  void* const handle = ::dlopen(file, RTLD_LAZY | RTLD_NOLOAD);  // kept: it stays loaded
  auto* const made = new runtime;
  made->file = ::strdup(file);
  made->base = base;
  made->end = place_of(base).end;
  if (handle != nullptr) {
#define SYNCOPATE_FIND_ENTRY(result, name, parameters) \
  made->real.name = reinterpret_cast<result(*) parameters>(::dlsym(handle, #name));
    SYNCOPATE_OPENMP_ENTRIES(SYNCOPATE_FIND_ENTRY)
#undef SYNCOPATE_FIND_ENTRY
  }
  made->kind = made->real.__kmpc_fork_call != nullptr ? family::llvm : family::gnu;
  if (!config.active) return made;
  const char* unknown = find_unknown_entry(made->base, made->kind);
  const entry_points& real = made->real;
  if (unknown == nullptr && (real.omp_get_level == nullptr || real.omp_get_num_threads == nullptr ||
                             real.omp_get_max_threads == nullptr))
    unknown = "no omp_get_level";
  made->known = unknown == nullptr;
  made->nest_locks = made->known && can_tell_owners(*made);
  if (!made->known) {
    const char* parts[] = {"syncopate: ",
                           file,
                           " is an OpenMP runtime of a version not known here (",
                           unknown,
                           "); it runs as it is",
                           nullptr};
    say(parts);
    return made;
  }
  const char *const regions = take_over_futexes(*made), *const kept = say_regions_kept(*made);
  if (config.verbose) {
    const char* parts[] = {"syncopate: OpenMP of ",
                           file,
                           made->kind == family::gnu ? " (libgomp)" : " (libomp)",
                           ": barrier ",
                           config.barrier != nullptr ? config.barrier->name : "runtime",
                           ", lock ",
                           config.lock != nullptr ? config.lock->name : "runtime",
                           regions,
                           kept,
                           nullptr};
    say(parts);
  }
  return made;
}

// The runtime whose function stands at that address.
const runtime* runtime_at(const void* function) noexcept {
  Dl_info where;
  if (::dladdr(function, &where) == 0 || where.dli_fname == nullptr) return nullptr;
  runtime* const first = runtimes.load(std::memory_order_acquire);
  for (const runtime* r = first; r != nullptr; r = r->next)
    if (r->base == where.dli_fbase) return r;
  runtime* const made = make_runtime(where.dli_fbase, where.dli_fname);
  // Two threads may make one for the same library: the first stays, the other is left unused.
  made->next = first;
  runtime* expected = first;
  if (runtimes.compare_exchange_strong(expected, made, std::memory_order_acq_rel)) return made;
  for (;;) {
    for (const runtime* r = expected; r != nullptr; r = r->next)
      if (r->base == where.dli_fbase) return r;
    made->next = expected;
    if (runtimes.compare_exchange_weak(expected, made, std::memory_order_acq_rel)) return made;
  }
}

bool is_ours(const void* function) noexcept {
  static const char anchor = 0;
  Dl_info here, there;
  return ::dladdr(&anchor, &here) != 0 && ::dladdr(function, &there) != 0 &&
         here.dli_fbase == there.dli_fbase;
}

// What the loader would bind `name` to in that module if we were not there.
const void* bound_without_us(void* handle, const char* name) noexcept {
  const void* found = ::dlsym(RTLD_NEXT, name);
  if (found == nullptr && handle != nullptr) found = ::dlsym(handle, name);
  return found == nullptr || is_ours(found) ? nullptr : found;
}

binding bind(const place& where, void* handle, const char* name, bool any, family wanted) noexcept {
  binding b;
  const void* const function = bound_without_us(handle, name);
  if (function == nullptr) return b;
  b.to = runtime_at(function);
  if (b.to == nullptr) return b;
  // A runtime's calls of its own functions, and libgomp's names that libomp offers, are passed on.
  const bool inside = b.to->base == reinterpret_cast<const void*>(where.begin);
  b.ours = config.active && b.to->known && !inside && (any || b.to->kind == wanted);
  b.word_locks = b.ours && config.word_locks;
  return b;
}

}  // namespace

bool is_in_llvm_runtime(const void* code) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(code);
  for (const runtime* r = runtimes.load(std::memory_order_acquire); r != nullptr; r = r->next)
    if (address < r->end && address >= reinterpret_cast<std::uintptr_t>(r->base))
      return r->known && r->kind == family::llvm;
  return false;
}

const module& find_module(const void* code) noexcept {
  ensure_configured();
  const place where = place_of(code);
  // Kept open: what calls us is not unloaded, so that no other code comes to lie there.
  void* const handle = where.name == nullptr ? nullptr
                                             : ::dlopen(*where.name != '\0' ? where.name : nullptr,
                                                        RTLD_LAZY | RTLD_NOLOAD);
  auto* const made = new module;
  made->begin = where.begin;
  made->end = where.end;
  made->gomp = bind(where, handle, "GOMP_parallel", false, family::gnu);
  made->kmpc = bind(where, handle, "__kmpc_fork_call", false, family::llvm);
  made->omp = bind(where, handle, "omp_set_lock", true, family::gnu);
  made->next = const_cast<module*>(modules.load(std::memory_order_acquire));
  const module* expected = made->next;
  while (!modules.compare_exchange_weak(expected, made, std::memory_order_acq_rel))
    made->next = const_cast<module*>(expected);
  return *made;
}

}  // namespace syncopate::openmp
