// runtime.cpp -- finds the runtimes of the process.
//
// Memory order (each tag stands at its site below)
//   [L]  the list of runtimes: acq_rel RMW that adds one, acquire load: who finds an entry finds
//        its fields. Entries stay.
//   [U]  relaxed: stored before the loader unloads it; no thread calls from it or for it later.
//   [K]  relaxed: a hint of how much the loader has loaded; one that is old costs a second look.

#include "openmp/runtime/runtime.h"

#include <cstring>
#include <new>

#include <dlfcn.h>
#include <link.h>

#include "openmp/base/elf_tables.h"
#include "openmp/config.h"
#include "openmp/locks/nest_lock.h"
#include "openmp/runtime/known.h"
#include "openmp/tasks/tasks.h"
#include "openmp/teams/kept_region.h"

// Where this library lies: the linker's names.
extern "C" [[gnu::visibility("hidden")]] const char __ehdr_start, _end;

namespace syncopate::openmp {

constinit std::atomic<const runtime*> runtimes{nullptr};

namespace {

// Every runtime, also the oldest, has one of these.
constexpr const char* marks[] = {"GOMP_barrier", "__kmpc_fork_call", "omp_set_lock"};

// Says once of a runtime why its regions are not kept, where that was asked for. Returns what the
// line about the runtime says of it.
const char* say_regions_kept(const runtime& r) noexcept {
  if (!config.keep) return "";
  const char* const refused = cannot_keep(r);
  if (refused == nullptr) return ", regions kept";
  const char* parts[] = {"syncopate: regions of ", r.file, " are not kept: ", refused, nullptr};
  say(parts);
  return "";
}

// The same of its tasks.
const char* say_tasks_made(const runtime& r) noexcept {
  if (!config.tasks) return "";
  const char* const refused = cannot_make_tasks(r);
  if (refused == nullptr) return ", tasks ours";
  const char* parts[] = {"syncopate: tasks of ", r.file, " are its own: ", refused, nullptr};
  say(parts);
  return "";
}

void say_unknown(const runtime& r, const char* unknown) noexcept {
  const char* parts[] = {
      "syncopate: ",         r.file, " is an OpenMP runtime of a version not known here (", unknown,
      "); it runs as it is", nullptr};
  say(parts);
}

void say_known(const runtime& r) noexcept {
  const char* const kept = say_regions_kept(r);
  const char* const tasks = say_tasks_made(r);
  if (!config.verbose) return;
  const char* parts[] = {"syncopate: OpenMP of ",
                         r.file,
                         r.kind == family::gnu ? " (libgomp)" : " (libomp)",
                         ": barrier ",
                         config.barrier != nullptr ? config.barrier->name : "runtime",
                         ", lock ",
                         config.lock != nullptr ? config.lock->name.data() : "runtime",
                         kept,
                         tasks,
                         nullptr};
  say(parts);
}

// Why the runtime's version is not known; null: it is.
const char* find_unknown(const runtime& r) noexcept {
  if (const char* const entry = find_unknown_entry(r.base, r.kind)) return entry;
  const bool complete = r.real.omp_get_level != nullptr && r.real.omp_get_num_threads != nullptr &&
                        r.real.omp_get_max_threads != nullptr &&
                        r.real.omp_get_thread_num != nullptr;
  return complete ? nullptr : "no omp_get_level";
}

// libgomp's names that libomp offers are passed on.
void bind(runtime& r) noexcept {
  const bool active = config.active && r.known, gnu = r.kind == family::gnu;
  r.passed_on = {&r, false};
  r.guess = {&r, false, true};
  if (r.real.GOMP_barrier != nullptr) r.gomp = {&r, active && gnu};
  if (r.real.__kmpc_fork_call != nullptr) r.kmpc = {&r, active && !gnu};
  if (r.real.omp_set_lock != nullptr) r.omp = {&r, active};
}

struct module_end {
  std::uintptr_t base;
  std::uintptr_t end = 0;
};

int look_at_end(dl_phdr_info* info, std::size_t, void* argument) {
  auto& wanted = *static_cast<module_end*>(argument);
  const extent here = extent_of(*info);
  if (!here.has(wanted.base)) return 0;
  wanted.end = here.end;
  return 1;
}

// Its own function of that name; null where it has none.
void* find_own(const runtime& r, void* handle, const char* name) noexcept {
  void* const found = handle != nullptr ? ::dlsym(handle, name) : nullptr;
  return found != nullptr && r.contains(found) ? found : nullptr;
}

runtime* make_runtime(const void* base, const char* file, const char*& unknown) noexcept {
  void* handle = open_module(file, RTLD_LAZY | RTLD_NOLOAD);        // kept: it stays loaded
  if (handle == nullptr) handle = open_module(nullptr, RTLD_LAZY);  // it is the program itself
  auto* const made = new runtime;
  module_end range{reinterpret_cast<std::uintptr_t>(base)};
  ::dl_iterate_phdr(look_at_end, &range);
  made->file = ::strdup(file);
  made->base = base;
  made->end = range.end;
#define SYNCOPATE_FIND_ENTRY(result, name, parameters) \
  made->real.name.set(find_own(*made, handle, #name), #name);
  SYNCOPATE_OPENMP_ENTRIES(SYNCOPATE_FIND_ENTRY)
#undef SYNCOPATE_FIND_ENTRY
  made->kind = made->real.__kmpc_fork_call != nullptr ? family::llvm : family::gnu;
  if (config.active) {
    unknown = find_unknown(*made);
    made->known = unknown == nullptr;
    made->nest_locks = made->known && can_tell_owners(*made);
    made->tasks = made->known && config.tasks && cannot_make_tasks(*made) == nullptr;
  }
  bind(*made);
  return made;
}

const runtime* listed(const runtime* first, const void* base) noexcept {
  for (const runtime* r = loaded_from(first); r != nullptr; r = loaded_from(r->next))
    if (r->base == base) return r;
  return nullptr;
}

struct loaded {
  static constexpr int most = 32;
  const void* functions[most];  // one of each runtime
  int count = 0;
  unsigned long long additions = 0;
  unsigned long long seen;
};

int look_for_marks(dl_phdr_info* info, std::size_t, void* argument) {
  auto& found = *static_cast<loaded*>(argument);
  found.additions = info->dlpi_adds;
  if (found.additions == found.seen || found.count == loaded::most) return 1;
  const elf_tables t = tables_of(*info);
  for (const char* mark : marks) {
    const void* const function = definition(t, mark);
    if (function == nullptr) continue;
    if (!is_our_code(function)) found.functions[found.count++] = function;
    break;
  }
  return 0;
}

}  // namespace

// Asks nobody: the loader's list of modules, inside of which it is asked, waits for no lock of who
// opens or closes one (dladdr does).
bool is_our_code(const void* address) noexcept {
  return &__ehdr_start <= address && address < &_end;
}

const runtime* loaded_from(const runtime* r) noexcept {
  for (; r != nullptr; r = r->next) {
    const unsigned long long ended = r->ended.load(std::memory_order_relaxed);  // [U]
    if (ended == 0 || ended == count_unloaded() + 1) return r;
  }
  return nullptr;
}

void end_runtime(const void* place, unsigned long long unloaded) noexcept {
  for (const runtime* r = runtimes.load(std::memory_order_acquire); r != nullptr;  // [L]
       r = r->next)
    if (r->contains(place)) r->ended.store(unloaded + 1, std::memory_order_relaxed);  // [U]
}

bool are_several() noexcept {
  const runtime* const first = runtimes.load(std::memory_order_acquire);  // [L]
  return first != nullptr && first->next != nullptr;
}

const runtime* runtime_with(const void* function) noexcept {
  Dl_info where;
  if (::dladdr(function, &where) == 0 || where.dli_fname == nullptr) return nullptr;
  const runtime* first = runtimes.load(std::memory_order_acquire);  // [L]
  if (const runtime* const r = listed(first, where.dli_fbase)) return r;
  const char* unknown = nullptr;
  runtime* const made = make_runtime(where.dli_fbase, where.dli_fname, unknown);
  // Two threads may make one for the same library: the first stays, and is told of; the other is
  // left unused.
  for (;;) {
    made->next = const_cast<runtime*>(first);
    made->number = static_cast<std::uint16_t>(first != nullptr ? first->number + 1 : 1);
    if (runtimes.compare_exchange_weak(first, made, std::memory_order_acq_rel)) break;  // [L]
    if (const runtime* const r = listed(first, where.dli_fbase)) return r;
  }
  if (config.active) {
    if (made->known) say_known(*made);
    else say_unknown(*made, unknown);
  }
  return made;
}

void list_runtimes() noexcept {
  static constinit std::atomic<unsigned long long> seen{0};
  loaded found;
  found.seen = seen.load(std::memory_order_relaxed);  // [K]
  ::dl_iterate_phdr(look_for_marks, &found);
  for (int i = 0; i < found.count; ++i) (void)runtime_with(found.functions[i]);
  seen.store(found.additions, std::memory_order_relaxed);  // [K]
}

}  // namespace syncopate::openmp
