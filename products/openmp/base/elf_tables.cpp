// elf_tables.cpp -- see elf_tables.h.

#include "openmp/base/elf_tables.h"

#include <cstring>

#include <dlfcn.h>

namespace syncopate::openmp {
namespace {

// The loader has made addresses of the offsets, but not in what the kernel maps (the vDSO).
template <class T>
const T* at(const dl_phdr_info& info, const ElfW(Dyn) & entry) noexcept {
  const ElfW(Addr) value = entry.d_un.d_ptr;
  return reinterpret_cast<const T*>(value < info.dlpi_addr ? info.dlpi_addr + value : value);
}

std::uint32_t hash_of(const char* name) noexcept {
  std::uint32_t h = 5381;
  for (; *name != '\0'; ++name) h = h * 33 + static_cast<unsigned char>(*name);
  return h;
}

// DT_GNU_HASH: four words, a filter, the buckets, and a chain of hashes that runs beside the
// symbols from the first exported one; the last of each bucket is odd.
struct buckets {
  std::uint32_t count, first;
  const std::uint32_t *bucket, *chain;

  explicit buckets(const std::uint32_t* hash) noexcept
      : count(hash[0]),
        first(hash[1]),
        bucket(hash + 4 + hash[2] * (sizeof(ElfW(Addr)) / 4)),
        chain(bucket + count) {}
};

// Where debuggers find what the loader tells them: in the program's dynamic section. A program that
// names `_r_debug` has a copy of its own under that name, which the loader does not look at.
r_debug* note_for_debuggers() noexcept {
  r_debug* note = nullptr;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
          const auto* d =
              reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
          for (; d->d_tag != DT_NULL; ++d)
            if (d->d_tag == DT_DEBUG)
              *static_cast<r_debug**>(found) = reinterpret_cast<r_debug*>(d->d_un.d_ptr);
        }
        return 1;  // the first is the program
      },
      &note);
  return note != nullptr ? note : &_r_debug;
}

}  // namespace

extent extent_of(const dl_phdr_info& info) noexcept {
  extent all{~std::uintptr_t{0}, 0};
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uintptr_t start = info.dlpi_addr + segment.p_vaddr;
    if (start < all.begin) all.begin = start;
    if (start + segment.p_memsz > all.end) all.end = start + segment.p_memsz;
  }
  return all;
}

elf_tables tables_of(const dl_phdr_info& info) noexcept {
  elf_tables t;
  t.base = info.dlpi_addr;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* d = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    for (; d->d_tag != DT_NULL; ++d) switch (d->d_tag) {
        case DT_SYMTAB: t.symbols = at<ElfW(Sym)>(info, *d); break;
        case DT_STRTAB: t.names = at<char>(info, *d); break;
        case DT_GNU_HASH: t.hash = at<std::uint32_t>(info, *d); break;
        case DT_RELA: t.data.first = at<ElfW(Rela)>(info, *d); break;
        case DT_RELASZ: t.data.bytes = d->d_un.d_val; break;
        case DT_JMPREL: t.calls.first = at<ElfW(Rela)>(info, *d); break;
        case DT_PLTRELSZ: t.calls.bytes = d->d_un.d_val; break;
        default: break;
      }
  }
  return t;
}

unsigned long long count_unloaded() noexcept {
  unsigned long long count = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* counted) {
        *static_cast<unsigned long long*>(counted) = info->dlpi_subs;
        return 1;
      },
      &count);
  return count;
}

// What fails there leaves the loader's note for debuggers as it was in between, and the loader asks
// itself what it says. Other threads change it with the lock held that dladdr() waits for, so who
// finds it so behind that has most likely left it itself; it tells debuggers alone something.
void* open_module(const char* file, int how) noexcept {
  r_debug* const note = note_for_debuggers();
  if (note->r_state != r_debug::RT_CONSISTENT) {
    Dl_info unused;
    (void)::dladdr(&_r_debug, &unused);
    if (note->r_state != r_debug::RT_CONSISTENT) note->r_state = r_debug::RT_CONSISTENT;
  }
  return ::dlopen(file, how);
}

std::uint32_t end_of_exports(const elf_tables& t) noexcept {
  const buckets b(t.hash);
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < b.count; ++i)
    if (b.bucket[i] > last) last = b.bucket[i];
  if (last < b.first) return b.first;
  while ((b.chain[last - b.first] & 1) == 0) ++last;
  return last + 1;
}

const void* definition(const elf_tables& t, const char* name) noexcept {
  if (!t.complete()) return nullptr;
  const buckets b(t.hash);
  if (b.count == 0) return nullptr;
  const std::uint32_t wanted = hash_of(name);
  std::uint32_t i = b.bucket[wanted % b.count];
  if (i < b.first) return nullptr;
  for (;; ++i) {
    const std::uint32_t hash = b.chain[i - b.first];
    if ((hash | 1) == (wanted | 1) && std::strcmp(t.names + t.symbols[i].st_name, name) == 0 &&
        t.symbols[i].st_shndx != SHN_UNDEF)
      return reinterpret_cast<const void*>(t.base + t.symbols[i].st_value);
    if ((hash & 1) != 0) return nullptr;
  }
}

}  // namespace syncopate::openmp
