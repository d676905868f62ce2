// closing.cpp -- see closing.h. What was unmapped is mapped again at once, without any rights or
// memory, and nothing of ours is mapped in between; a mapping that another thread has made there
// meanwhile is left alone.
//
// Memory order (each tag stands at its site below)
//   [K]  relaxed: limits that may be off by what threads do at once.
#include "record/closing.h"

#include <link.h>

#include "record/internal.h"
#include "record/maps.h"

namespace syncopate::record {

namespace {

using range = closing::range;

constexpr std::uint64_t page = 4096;
// Of a process's address space and of its 65,530 mappings others want most.
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40;
constexpr unsigned most_kept = 8192;

constinit std::atomic<std::uint64_t> kept_bytes{0};
constinit std::atomic<unsigned> kept{0};

struct modules {
  range* all;
  std::size_t count;
  unsigned long long removed;
};

range extent_of(const dl_phdr_info& module) noexcept {
  range r{UINT64_MAX, 0};
  for (unsigned i = 0; i < module.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = module.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uint64_t begin = module.dlpi_addr + segment.p_vaddr;
    const std::uint64_t end = begin + segment.p_memsz;
    if (begin < r.begin) r.begin = begin;
    if (end > r.end) r.end = end;
  }
  return {r.begin & -page, (r.end + page - 1) & -page};
}

int add_module(dl_phdr_info* module, std::size_t, void* argument) {
  modules& found = *static_cast<modules*>(argument);
  found.removed = module->dlpi_subs;
  if (found.all == nullptr || found.count == closing::most) return 1;
  const range r = extent_of(*module);
  if (r.begin < r.end) found.all[found.count++] = r;
  return 0;
}

bool is_among(const modules& found, const range& r) noexcept {
  for (std::size_t i = 0; i < found.count; ++i)
    if (found.all[i].begin == r.begin) return true;
  return found.count == closing::most;
}

void keep(const range& r) noexcept {
  const std::uint64_t bytes = r.end - r.begin;
  if (kept.load(std::memory_order_relaxed) >= most_kept ||              // [K]
      kept_bytes.load(std::memory_order_relaxed) + bytes > most_bytes)  // [K]
    return;
  kept.fetch_add(1, std::memory_order_relaxed);            // [K]
  kept_bytes.fetch_add(bytes, std::memory_order_relaxed);  // [K]
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  const long at = sys::call(SYS_mmap, r.begin, bytes, PROT_NONE, flags, -1, 0);
  // Kernels before 4.17 do not know the flag and take the address for a wish.
  if (at >= 0 && static_cast<std::uint64_t>(at) != r.begin) sys::call(SYS_munmap, at, bytes);
}

}  // namespace

closing::closing() noexcept {
  if (!enabled || local.inside || sys::limit(RLIMIT_AS) != RLIM_INFINITY) return;
  note_closing();
  before_ = static_cast<range*>(sys::pages(2 * most * sizeof(range)));
  modules found{before_, 0, 0};
  if (before_ != nullptr) ::dl_iterate_phdr(add_module, &found);
  count_ = found.count;
  removed_ = found.removed;
}

closing::~closing() noexcept {
  if (before_ == nullptr) return;
  modules now{nullptr, 0, 0};
  ::dl_iterate_phdr(add_module, &now);
  if (now.removed != removed_) {
    now.all = before_ + most;  // mapped before: now it could come to lie where the module was
    ::dl_iterate_phdr(add_module, &now);
    for (std::size_t i = 0; i < count_; ++i)
      if (!is_among(now, before_[i])) keep(before_[i]);
  }
  sys::free_pages(before_, 2 * most * sizeof(range));
}

}  // namespace syncopate::record
