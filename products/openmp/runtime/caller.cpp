// caller.cpp -- the slow parts of the rule in caller.h.
//
// Memory order (each tag stands at its site below)
//   [L]  lists of runtimes and modules: acq_rel RMW that adds one, acquire load: who finds an entry
//        finds its fields. Entries stay.

#include "openmp/runtime/caller.h"

#include <cstring>
#include <new>

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include "openmp/base/elf_tables.h"
#include "openmp/config.h"
#include "openmp/teams/team.h"

namespace syncopate::openmp {

constinit std::atomic<const module*> modules{nullptr};

namespace {

// What the names of a kind are called, which of them the loader is asked for, and who has them
// where nobody else does.
struct kind_of_name {
  const char *prefix, *asked_for, *libraries[2];
};

const kind_of_name& names_of(name_kind kind) noexcept {
  static constexpr kind_of_name gomp{"GOMP_", "GOMP_barrier", {"libgomp.so.1", "libomp.so.5"}};
  static constexpr kind_of_name kmpc{"__kmpc_", "__kmpc_fork_call", {"libomp.so.5", "libomp.so"}};
  static constexpr kind_of_name omp{"omp_", "omp_set_lock", {"libgomp.so.1", "libomp.so.5"}};
  return kind == &module::gomp ? gomp : kind == &module::kmpc ? kmpc : omp;
}

// What calls of that kind mean in a module that is bound to the runtime; null: it has no such.
const binding* offer(const runtime* r, name_kind kind) noexcept {
  if (r == nullptr) return nullptr;
  const binding& b = kind == &module::gomp ? r->gomp : kind == &module::kmpc ? r->kmpc : r->omp;
  return b.to != nullptr ? &b : nullptr;
}

const runtime* listed_with(const void* address) noexcept {
  for (const runtime* r = runtimes.load(std::memory_order_acquire); r != nullptr;  // [L]
       r = r->next)
    if (r->contains(address)) return r;
  return nullptr;
}

// A module of the process, as it lies in memory. `name` is "" for the program itself.
struct place {
  std::uintptr_t address;
  std::uintptr_t begin = 0, end = 0;
  const char* name = nullptr;
  elf_tables tables{};
};

int look_at(dl_phdr_info* info, std::size_t, void* argument) {
  auto& wanted = *static_cast<place*>(argument);
  const extent here = extent_of(*info);
  if (!here.has(wanted.address)) return 0;
  wanted.begin = here.begin;
  wanted.end = here.end;
  wanted.name = info->dlpi_name;
  wanted.tables = tables_of(*info);
  return 1;
}

// The runtime in which one of the module's references to names of the kind has found its function.
// Those that we export have found ours.
const runtime* bound_in(const elf_tables& t, const char* prefix) noexcept {
  if (t.symbols == nullptr || t.names == nullptr) return nullptr;
  for (const auto& part : {t.calls, t.data})
    for (std::size_t i = 0; i < part.bytes / sizeof(ElfW(Rela)); ++i) {
      const auto symbol = part.first[i].r_info >> (sizeof(void*) == 8 ? 32 : 8);
      if (symbol == 0) continue;
      const char* const name = t.names + t.symbols[symbol].st_name;
      if (std::strncmp(name, prefix, std::strlen(prefix)) != 0) continue;
      const auto* const slot =
          reinterpret_cast<const void* const*>(t.base + part.first[i].r_offset);
      if (const runtime* const r = listed_with(*slot)) return r;
    }
  return nullptr;
}

// What the loader binds a name to in that module if we are not there.
const void* bound_without_us(void* handle, const char* name) noexcept {
  const void* found = ::dlsym(RTLD_NEXT, name);
  if (found == nullptr && handle != nullptr) found = ::dlsym(handle, name);
  return found == nullptr || is_our_code(found) ? nullptr : found;
}

// What has been bound tells for sure; else the loader says what it would find now.
const binding* bind(const place& where, void* handle, name_kind kind) noexcept {
  const kind_of_name& names = names_of(kind);
  for (const char* prefix : {names.prefix, "omp_"})
    if (const binding* const b = offer(bound_in(where.tables, prefix), kind)) return b;
  const void* const function = bound_without_us(handle, names.asked_for);
  return function != nullptr ? offer(runtime_with(function), kind) : nullptr;
}

const module* enlist(module* made) noexcept {
  const module* first = modules.load(std::memory_order_acquire);  // [L]
  do made->next = const_cast<module*>(first);
  while (!modules.compare_exchange_weak(first, made, std::memory_order_acq_rel));  // [L]
  return made;
}

// Null: no module lies there, or none that stays.
const module* find_module(const void* code) noexcept {
  if (const module* const m = known_module(code)) return m;
  place where{reinterpret_cast<std::uintptr_t>(code)};
  ::dl_iterate_phdr(look_at, &where);
  if (where.name == nullptr) return nullptr;
  if (is_our_code(code)) return enlist(new module{where.begin, where.end});
  if (const runtime* const r = listed_with(code)) {
    // Its own calls of its __kmpc_ names are passed on; program code says so itself (R2).
    const binding* const kmpc = r->kmpc.to != nullptr ? &r->passed_on : nullptr;
    return enlist(
        new module{where.begin, where.end, offer(r, &module::gomp), kmpc, offer(r, &module::omp)});
  }
  // Kept open: what calls us is not unloaded, so that no other code comes to lie there.
  void* const handle =
      ::dlopen(*where.name != '\0' ? where.name : nullptr, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  list_runtimes();
  if (listed_with(code) != nullptr) return find_module(code);
  auto* const made = new module{where.begin, where.end};
  for (const name_kind kind : {&module::gomp, &module::kmpc, &module::omp})
    made->*kind = bind(where, handle, kind);
  return enlist(made);
}

const binding* bound_of(name_kind kind, const void* code) noexcept {
  const module* const m = code != nullptr ? find_module(code) : nullptr;
  return m != nullptr ? m->*kind : nullptr;
}

// The runtime in a region of which the thread is; of several the one of our innermost frame. Null:
// it is in none.
const runtime* region_of_thread(name_kind kind) noexcept {
  const runtime* const framed = current != nullptr ? current->of : nullptr;
  const runtime* in = nullptr;
  for (const runtime* r = runtimes.load(std::memory_order_acquire); r != nullptr;  // [L]
       r = r->next)
    if (offer(r, kind) != nullptr && (in == nullptr || in != framed))
      if (r->real.omp_get_level != nullptr && r->real.omp_get_level() > 0) in = r;
  return in;
}

// R4: nothing says which module calls.
const binding* without_module(name_kind kind) noexcept {
  list_runtimes();
  const runtime *last = nullptr, *other = nullptr;
  for (const runtime* r = runtimes.load(std::memory_order_acquire); r != nullptr;  // [L]
       r = r->next)
    if (offer(r, kind) != nullptr) (last == nullptr ? last : other) = r;
  if (last != nullptr && other == nullptr) return offer(last, kind);
  if (const runtime* const r = region_of_thread(kind)) return offer(r, kind);
  const kind_of_name& names = names_of(kind);
  if (const void* const behind = bound_without_us(nullptr, names.asked_for))
    if (const binding* const b = offer(runtime_with(behind), kind)) return b;
  if (last != nullptr) return &last->guess;
  for (const char* library : names.libraries)
    if (void* const handle = ::dlopen(library, RTLD_LAZY))
      if (const void* const function = bound_without_us(handle, names.asked_for))
        if (const binding* const b = offer(runtime_with(function), kind)) return b;
  return nullptr;
}

}  // namespace

const binding& find_meant(name_kind kind, const void* place, const void* caller) noexcept {
  ensure_configured();
  const binding* found = bound_of(kind, place);
  if (found == nullptr) found = bound_of(kind, caller);
  if (found == nullptr) found = without_module(kind);
  if (found != nullptr) return *found;
  end_without(names_of(kind).asked_for);
}

void end_without(const char* name) noexcept {
  const char* parts[] = {"syncopate: the program calls ", name,
                         ", which no OpenMP runtime here has", nullptr};
  say(parts);
  ::_exit(127);  // as the loader, which would have found this out
}

bool is_in_llvm_runtime(const void* code) noexcept {
  const runtime* const r = listed_with(code);
  return r != nullptr && r->known && r->kind == family::llvm;
}

}  // namespace syncopate::openmp
