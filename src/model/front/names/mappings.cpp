// mappings.cpp -- see mappings.h; mmap, mmap64 and munmap of the program.
#include "model/front/names/mappings.h"

#include <cerrno>
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

void* map(void* where, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  const auto system = [&](void* at, int how) {
    return reinterpret_cast<void*>(::syscall(SYS_mmap, at, bytes, protection, how, file, offset));
  };
  if (!in_program() || where != nullptr) return system(where, flags);
  const engine_scope inside;
  void* const at = system(reinterpret_cast<void*>(next_address), flags | MAP_FIXED_NOREPLACE);
  if (at == MAP_FAILED) return errno == EEXIST ? system(nullptr, flags) : at;
  sharing with = sharing::none;
  if ((flags & MAP_TYPE) != MAP_PRIVATE)
    with = (flags & MAP_ANONYMOUS) != 0 ? sharing::with_children : sharing::with_all;
  mappings().push_back({next_address, bytes, with});
  next_address += (bytes + 2 * page - 1) & ~(page - 1);
  return at;
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
SYNCOPATE_EXPORT int munmap(void* at, std::size_t bytes) noexcept {
  using namespace instrument;
  if (const auto* const where = SYNCOPATE_CALLER; bytes != 0 && by_program(where)) {
    const engine_scope inside;
    engine::unmapped(reinterpret_cast<engine::address>(at), bytes, where);
  }
  return static_cast<int>(::syscall(SYS_munmap, at, bytes));
}
