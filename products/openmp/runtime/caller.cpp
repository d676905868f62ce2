// caller.cpp -- the slow parts of the rule in caller.h.
//
// Memory order (each tag stands at its site below)
//   [L]  the list of runtimes: acquire load: who finds an entry finds its fields. Entries stay.

#include "openmp/runtime/caller.h"

#include <cstring>
#include <new>

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include "openmp/base/elf_tables.h"
#include "openmp/config.h"
#include "openmp/teams/team.h"
#include "record/recorder.h"

namespace syncopate::openmp {

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
  return kind == name_kind::gomp ? gomp : kind == name_kind::kmpc ? kmpc : omp;
}

// What calls of that kind mean in a module that is bound to the runtime; null: it has no such.
const binding* offer(const runtime* r, name_kind kind) noexcept {
  if (r == nullptr) return nullptr;
  const binding& b = kind == name_kind::gomp ? r->gomp : kind == name_kind::kmpc ? r->kmpc : r->omp;
  return b.to != nullptr ? &b : nullptr;
}

const runtime* listed_with(const void* address) noexcept {
  for (const runtime* r = loaded_from(runtimes.load(std::memory_order_acquire));  // [L]
       r != nullptr; r = loaded_from(r->next))
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
  const runtime* found = nullptr;
  (void)any_reference(t, [&](const char* name, const void* bound_to) {
    if (std::strncmp(name, prefix, std::strlen(prefix)) == 0) found = listed_with(bound_to);
    return found != nullptr;
  });
  return found;
}

// Whether the module calls us when it ends (modules.h, U1).
bool tells_its_end(const elf_tables& t) noexcept {
  return any_reference(t, [](const char* name, const void* bound_to) {
    return std::strcmp(name, "__cxa_finalize") == 0 && is_our_code(bound_to);
  });
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

// What the calls of a module mean that the loader has opened; it has to stay open meanwhile.
meanings meanings_in(const place& where, void* handle) noexcept {
  meanings means;
  for (const name_kind kind : {name_kind::gomp, name_kind::kmpc, name_kind::omp})
    means.of[static_cast<std::size_t>(kind)] = bind(where, handle, kind);
  return means;
}

// A runtime's own calls of its __kmpc_ names are passed on; program code says so itself (R2).
meanings meanings_in(const runtime& r) noexcept {
  return {{offer(&r, name_kind::gomp), r.kmpc.to != nullptr ? &r.passed_on : nullptr,
           offer(&r, name_kind::omp)}};
}

// What the calls of the module mean in which the code lies. False: none lies there.
bool find_module(const void* code, meanings& means) noexcept {
  if (find_known(code, means)) return true;
  place where{reinterpret_cast<std::uintptr_t>(code)};
  ::dl_iterate_phdr(look_at, &where);
  if (where.name == nullptr) return false;
  const bool is_ours = is_our_code(code);
  if (!is_ours && listed_with(code) == nullptr) list_runtimes();
  void* handle = nullptr;
  if (const runtime* const r = listed_with(code)) {
    means = meanings_in(*r);
  } else if (!is_ours) {
    // Open while it is looked at, and for ever if it has to stay (modules.h, U1).
    handle = open_module(*where.name != '\0' ? where.name : nullptr, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) return false;
    means = meanings_in(where, handle);
  }
  note_module(where.begin, where.end - where.begin, means);
  if (handle != nullptr && tells_its_end(where.tables) && !record::enabled) ::dlclose(handle);
  return true;
}

const binding* bound_of(name_kind kind, const void* code) noexcept {
  meanings means;
  return code != nullptr && find_module(code, means) ? means.of[static_cast<std::size_t>(kind)]
                                                     : nullptr;
}

// The runtime in a region of which the thread is; of several the one of our innermost frame. Null:
// it is in none.
const runtime* region_of_thread(name_kind kind) noexcept {
  const runtime* const framed = current != nullptr ? current->of : nullptr;
  const runtime* in = nullptr;
  for (const runtime* r = loaded_from(runtimes.load(std::memory_order_acquire));  // [L]
       r != nullptr; r = loaded_from(r->next))
    if (offer(r, kind) != nullptr && (in == nullptr || in != framed))
      if (r->real.omp_get_level != nullptr && r->real.omp_get_level() > 0) in = r;
  return in;
}

// R4: nothing says which module calls.
const binding* without_module(name_kind kind) noexcept {
  list_runtimes();
  const runtime *last = nullptr, *other = nullptr;
  for (const runtime* r = loaded_from(runtimes.load(std::memory_order_acquire));  // [L]
       r != nullptr; r = loaded_from(r->next))
    if (offer(r, kind) != nullptr) (last == nullptr ? last : other) = r;
  if (last != nullptr && other == nullptr) return offer(last, kind);
  if (const runtime* const r = region_of_thread(kind)) return offer(r, kind);
  const kind_of_name& names = names_of(kind);
  if (const void* const behind = bound_without_us(nullptr, names.asked_for))
    if (const binding* const b = offer(runtime_with(behind), kind)) return b;
  if (last != nullptr) return &last->guess;
  for (const char* library : names.libraries)
    if (void* const handle = open_module(library, RTLD_LAZY))
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
