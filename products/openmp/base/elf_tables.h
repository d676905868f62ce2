// elf_tables.h -- what a loaded module defines, and what its references have been bound to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include <link.h>

namespace syncopate::openmp {

struct elf_tables {
  std::uintptr_t base = 0;
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const std::uint32_t* hash = nullptr;  // DT_GNU_HASH: the only place that tells how many there are
  struct {
    const ElfW(Rela) * first = nullptr;
    std::size_t bytes = 0;
  } data, calls;  // its references

  [[nodiscard]] bool complete() const noexcept {
    return symbols != nullptr && names != nullptr && hash != nullptr;
  }
};

// Where a module lies in memory: [begin, end).
struct extent {
  std::uintptr_t begin, end;
  [[nodiscard]] bool has(std::uintptr_t address) const noexcept {
    return begin <= address && address < end;
  }
};
extent extent_of(const dl_phdr_info& info) noexcept;

elf_tables tables_of(const dl_phdr_info& info) noexcept;

// How many modules the loader has unloaded. Waits for nobody who opens or closes one.
unsigned long long count_unloaded() noexcept;

// As dlopen(), also behind one that failed in a destructor of a module that is being closed: after
// that the C library (2.36) ends the process when it is to open what is open already. An older one
// (2.31) ends it where the first one fails, without us too; a newer one (2.41) never.
void* open_module(const char* file, int how) noexcept;

// Whether predicate(name, address) holds for one of its references and what that is bound to now.
template <class Predicate>
bool any_reference(const elf_tables& t, Predicate&& predicate) noexcept {
  if (t.symbols == nullptr || t.names == nullptr) return false;
  for (const auto& part : {t.calls, t.data})
    for (std::size_t i = 0; i < part.bytes / sizeof(ElfW(Rela)); ++i) {
      const auto symbol = part.first[i].r_info >> (sizeof(void*) == 8 ? 32 : 8);
      if (symbol == 0) continue;
      const auto* const slot =
          reinterpret_cast<const void* const*>(t.base + part.first[i].r_offset);
      if (predicate(t.names + t.symbols[symbol].st_name, *slot)) return true;
    }
  return false;
}

// One behind the last symbol that others can see. Requires: complete().
std::uint32_t end_of_exports(const elf_tables& t) noexcept;

// Where the module defines that name for others; null: it does not.
const void* definition(const elf_tables& t, const char* name) noexcept;

}  // namespace syncopate::openmp
