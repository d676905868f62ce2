// mappings.cpp -- see mappings.h; mmap, mmap64, mremap and munmap of the program.
#include "model/front/names/mappings.h"

#include <cerrno>
#include <cstdarg>
#include <vector>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "model/front/libc/libc_range.h"
#include "model/front/program/layout.h"
#include "model/front/pthread/real.h"
#include "model/front/scope.h"

namespace syncopate::instrument {

namespace {

constexpr std::size_t page = 4096;

struct mapping {
  std::uintptr_t start;
  std::size_t bytes;
  sharing with;
};
std::vector<mapping>& mappings() {
  static auto& all = *new std::vector<mapping>;
  return all;
}
constinit std::uintptr_t next_address = layout::mappings;

bool is_ours(const void* place) {
  return address_of(place) - layout::heap < layout::mappings - layout::heap;
}

void* map(void* where, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  const auto system = [&](void* at, int how) {
    return reinterpret_cast<void*>(::syscall(SYS_mmap, at, bytes, protection, how, file, offset));
  };
  if (!in_program() || is_ours(where)) return system(where, flags);
  const engine_scope inside;
  // What lies over a mapping that is known needs no note.
  void* const wanted = where != nullptr ? where : reinterpret_cast<void*>(next_address);
  void* const at = system(wanted, flags | MAP_FIXED_NOREPLACE);
  if (at == MAP_FAILED) return errno == EEXIST ? system(where, flags) : at;
  sharing with = sharing::none;
  if ((flags & MAP_TYPE) != MAP_PRIVATE)
    with = (flags & MAP_ANONYMOUS) != 0 ? sharing::with_children : sharing::with_all;
  mappings().push_back({reinterpret_cast<std::uintptr_t>(at), bytes, with});
  if (where == nullptr) next_address += (bytes + 2 * page - 1) & ~(page - 1);
  return at;
}

// Where it grows it moves, so that the next mapping's address is as free as it was.
void* remap(void* at, std::size_t bytes, std::size_t to, int flags, void* where,
            engine::place caller) {
  const auto system = [&](int how, void* new_place) {
    return reinterpret_cast<void*>(::syscall(SYS_mremap, at, bytes, to, how, new_place));
  };
  const bool places = by_program(caller) && to > bytes && (flags & MREMAP_MAYMOVE) != 0 &&
                      (flags & MREMAP_FIXED) == 0 && sharing_of(address_of(at)) == sharing::none;
  if (!places) return system(flags, where);
  const engine_scope inside;
  void* const moved = system(flags | MREMAP_FIXED, reinterpret_cast<void*>(next_address));
  if (moved == MAP_FAILED) return moved;
  engine::unmapped(address_of(at), bytes, caller);
  mappings().push_back({next_address, to, sharing::none});
  next_address += (to + 2 * page - 1) & ~(page - 1);
  return moved;
}

}  // namespace

void forget_mappings() {
  for (const mapping& m : mappings()) ::syscall(SYS_munmap, m.start, m.bytes);
  mappings().clear();
  next_address = layout::mappings;
}

// (What was unmapped again is still told of: no thread waits there.)
sharing sharing_of(std::uintptr_t address) {
  for (const mapping& m : mappings())
    if (address - m.start < m.bytes) return m.with;
  return sharing::none;
}

bool has_shared_mappings() {
  for (const mapping& m : mappings())
    if (m.with != sharing::none) return true;
  return false;
}

}  // namespace syncopate::instrument

using namespace syncopate;  // NOLINT(google-build-using-namespace): this file is the ABI

SYNCOPATE_EXPORT void* mmap(void* where, std::size_t bytes, int protection, int flags, int file,
                            off_t offset) noexcept {
  return instrument::map(where, bytes, protection, flags, file, offset);
}
SYNCOPATE_EXPORT void* mmap64(void* where, std::size_t bytes, int protection, int flags, int file,
                              off64_t offset) noexcept {
  return instrument::map(where, bytes, protection, flags, file, offset);
}
SYNCOPATE_EXPORT void* mremap(void* at, std::size_t bytes, std::size_t to, int flags,
                              ...) noexcept {
  std::va_list arguments;
  va_start(arguments, flags);
  void* const where = (flags & MREMAP_FIXED) != 0 ? va_arg(arguments, void*) : nullptr;
  va_end(arguments);
  return instrument::remap(at, bytes, to, flags, where, SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT int munmap(void* at, std::size_t bytes) noexcept {
  using namespace instrument;
  if (const auto* const where = SYNCOPATE_CALLER; bytes != 0 && by_program(where)) {
    const engine_scope inside;
    engine::unmapped(reinterpret_cast<engine::address>(at), bytes, where);
  }
  return static_cast<int>(::syscall(SYS_munmap, at, bytes));
}
