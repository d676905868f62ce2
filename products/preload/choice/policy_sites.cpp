// policy_sites.cpp -- reads SYNCOPATE_SITES.

#include "preload/choice/policy_sites.h"

#include <cstdlib>
#include <cstring>

#include <link.h>
#include <unistd.h>

#include "preload/base/say.h"
#include "preload/choice/algorithms.h"
#include "preload/choice/chosen_barrier.h"
#include "preload/choice/policy.h"

namespace syncopate::shim {

static_assert(policy_table::most_sites == 256);  // as the line below says

namespace {

// One part of the text, up to the separator or its end.
struct part {
  const char* text;
  std::size_t length;

  [[nodiscard]] bool is(const char* what) const noexcept {
    return std::strlen(what) == length && std::memcmp(text, what, length) == 0;
  }
  [[nodiscard]] std::uintptr_t as_address() const noexcept {
    return std::strtoull(text, nullptr, 16);
  }
};
part take(const char*& at, char separator) noexcept {
  const char* const start = at;
  while (*at != '\0' && *at != separator && *at != ';') ++at;
  const part taken{start, static_cast<std::size_t>(at - start)};
  if (*at == separator && separator != ';') ++at;
  return taken;
}

template <std::size_t Room>
void copy(part from, char (&to)[Room]) noexcept {
  const std::size_t length = from.length < Room - 1 ? from.length : Room - 1;
  std::memcpy(to, from.text, length);
  to[length] = '\0';
}

// Where a module was loaded, against its link-time addresses.
struct search {
  part path;
  std::uintptr_t bias = 0;
  bool found = false;
};
int look_at(dl_phdr_info* module, std::size_t, void* argument) noexcept {
  auto& wanted = *static_cast<search*>(argument);
  char own[4096];
  const char* name = module->dlpi_name;
  if (name == nullptr || *name == '\0') {  // the program, or the kernel's own page
    const ssize_t length = ::readlink("/proc/self/exe", own, sizeof own - 1);
    if (length <= 0) return 0;
    own[length] = '\0';
    name = own;
  }
  char real[4096];
  if (!wanted.path.is(name) && (::realpath(name, real) == nullptr || !wanted.path.is(real)))
    return 0;
  wanted.bias = module->dlpi_addr;
  wanted.found = true;
  return 1;
}

// A run-time library's calls are made for its caller, as syncopate/records/naming.py has it.
int add_runtime(dl_phdr_info* module, std::size_t, void* argument) noexcept {
  auto& table = *static_cast<policy_table*>(argument);
  const char* const slash =
      module->dlpi_name != nullptr ? std::strrchr(module->dlpi_name, '/') : nullptr;
  if (slash == nullptr) return 0;
  bool is_runtime = false;
  for (const char* name :
       {"libsyncopate-", "libitm.so", "libc.so", "libc-", "libpthread", "libstdc++", "libc++"})
    is_runtime |= std::strncmp(slash + 1, name, std::strlen(name)) == 0;
  if (!is_runtime) return 0;
  for (int i = 0; i < module->dlpi_phnum && table.detour_count != policy_table::most_detours; ++i) {
    const auto& segment = module->dlpi_phdr[i];
    const std::uintptr_t start = module->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0)
      table.detours[table.detour_count++] = {start, start + segment.p_memsz};
  }
  return 0;
}

// The place of an algorithm among the chosen ones; 0, the default, where there is none.
unsigned index_of(const char* specification) noexcept {
  const algorithm* const lock = find_algorithm(specification);
  if (lock == nullptr)
    return say({"syncopate: policy: no lock for a program's mutexes is called '", specification,
                "'"}),
           0;
  for (unsigned i = 1; i != most_chosen_locks; ++i) {
    if (chosen_locks[i] == nullptr) chosen_locks[i] = lock;
    if (chosen_locks[i] == lock) return i;
  }
  return say({"syncopate: policy: more than seven different locks; left out: ", specification}), 0;
}

// False for what is none, and where two say the same thing: their bits would be another's.
bool read_settings(part text, std::uint16_t& setting) noexcept {
  unsigned bits = 0, said = 0;
  if (text.length == 0) return false;
  for (const char* at = text.text; at < text.text + text.length;) {
    char one[64];
    const std::size_t length = std::strcspn(at, "+,;");
    copy({at, length}, one);
    at += length + 1;
    const unsigned about = 1u << (*one - 'a');  // elide, prefer, barrier, lock
    if (*one < 'a' || *one > 'z' || (said & about) != 0) return false;
    said |= about;
    if (std::strcmp(one, "elide=always") == 0) bits |= always_elide;
    else if (std::strcmp(one, "elide=off") == 0) bits |= never_elide;
    else if (std::strcmp(one, "prefer=readers") == 0) bits |= prefer_readers;
    else if (std::strcmp(one, "prefer=writers") == 0) bits |= prefer_writers;
    else if (std::strncmp(one, "barrier=", 8) == 0)
      bits |= find_barrier_wait(one + 8) << barrier_wait_shift;
    else if (std::strncmp(one, "lock=", 5) == 0) bits |= index_of(one + 5) << chosen_lock_shift;
    else return false;
  }
  setting = static_cast<std::uint16_t>(asked | bits);
  return true;
}

struct reader {
  const char* at;
  policy_table& table;
  search module{{"", 0}};
  bool is_full = false;

  // Reads one item; false for what is none. Items of modules that are not loaded are left out.
  bool item() noexcept {
    const part kind = take(at, ',');
    if (kind.is("m")) {
      module = {take(at, ';')};
      return ::dl_iterate_phdr(look_at, &module), true;
    }
    const part start = take(at, ','), end = take(at, ',');
    const range where{module.bias + start.as_address(), module.bias + end.as_address()};
    if (start.length == 0 || end.length == 0) return false;
    if (kind.is("w")) return detour(where);
    return (kind.is("v") || kind.is("c") || kind.is("u")) && site_at(*kind.text, where);
  }

  bool detour(const range& where) noexcept {
    if (module.found && table.detour_count != policy_table::most_detours)
      table.detours[table.detour_count++] = where;
    return true;
  }

  bool site_at(char kind, const range& where) noexcept {
    std::uint16_t setting;
    if (!read_settings(take(at, ','), setting)) return false;
    const part label = take(at, ';');
    if (!module.found) return true;
    if (table.site_count == policy_table::most_sites) {
      if (!is_full)
        say({"syncopate: policy: more than 256 functions and variables; the others are left out"});
      return is_full = true;
    }
    site& next = table.sites[table.site_count++];
    next = {where, kind, setting, 0, {}};
    copy(label, next.label);
    table.waits_for_first_use |= kind == 'u';
    return true;
  }
};

}  // namespace

bool read_sites(const char* text, policy_table& table) noexcept {
  ::dl_iterate_phdr(add_runtime, &table);
  reader read{text, table};
  while (*read.at != '\0') {
    if (!read.item()) return false;
    if (*read.at == ';') ++read.at;
  }
  return true;
}

}  // namespace syncopate::shim
