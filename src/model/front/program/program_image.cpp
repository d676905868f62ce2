#include "model/front/program/program_image.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include <link.h>
#include <sys/mman.h>

#include "model/front/libc/file_waits.h"
#include "model/front/libc/heap.h"
#include "model/front/libc/libc_range.h"
#include "model/front/libc/stream_locks.h"
#include "model/front/program/library_state.h"
#include "model/front/program/options.h"
#include "model/front/program/program_exit.h"
#include "model/front/threads/fiber_state.h"
#include "model/front/threads/thread_exit.h"

namespace syncopate::instrument {

namespace {

struct kept_range {
  std::uintptr_t low;
  std::vector<unsigned char> bytes;
};

struct image {
  std::vector<kept_range> ranges;
  heap_shared heap;
  std::vector<heap_cache> caches;  // by slot
  std::vector<exit_handler> handlers;
};
constinit image* kept = nullptr;

void keep_range(std::uintptr_t low, std::uintptr_t high) {
  if (low >= high) return;
  const auto* from = reinterpret_cast<const unsigned char*>(low);
  kept->ranges.push_back({low, {from, reinterpret_cast<const unsigned char*>(high)}});
}

// The executable comes first, and has no name; of its libraries those that were compiled for the
// machine are the program, too.
bool is_of_program(const dl_phdr_info& module) {
  if (module.dlpi_name == nullptr || module.dlpi_name[0] == '\0') return true;
  for (int i = 0; i < module.dlpi_phnum; ++i)
    if (module.dlpi_phdr[i].p_type == PT_DYNAMIC)
      return needs_machine(
          reinterpret_cast<const ElfW(Dyn)*>(module.dlpi_addr + module.dlpi_phdr[i].p_vaddr));
  return false;
}

// What the loader made read-only after relocation lies at the start of its writable segment.
int keep_module(dl_phdr_info* module, std::size_t, void*) {
  if (!is_of_program(*module)) return 0;
  std::uintptr_t read_only_end = 0;
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = module->dlpi_phdr[i];
    if (header.p_type != PT_GNU_RELRO) continue;
    read_only_end = (module->dlpi_addr + header.p_vaddr + header.p_memsz) & ~std::uintptr_t{4095};
  }
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = module->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_W) == 0) continue;
    const std::uintptr_t low = module->dlpi_addr + header.p_vaddr;
    const std::uintptr_t high = low + header.p_memsz;
    keep_range(low < read_only_end && read_only_end <= high ? read_only_end : low, high);
  }
  return 0;
}

// Pages that the program has protected are written again.
struct protected_pages {
  std::uintptr_t low;
  std::size_t bytes;
};
std::vector<protected_pages>& pages() {
  static auto& all = *new std::vector<protected_pages>;
  return all;
}

bool is_kept(const protected_pages& pages) {
  const auto overlaps = [&](std::uintptr_t low, std::uintptr_t high) {
    return pages.low < high && low < pages.low + pages.bytes;
  };
  return overlaps(layout::heap, program_heap.end) ||
         overlaps(layout::stacks, layout::stacks + layout::stack_slots * layout::stack_slot) ||
         std::any_of(kept->ranges.begin(), kept->ranges.end(), [&](const kept_range& range) {
           return overlaps(range.low, range.low + range.bytes.size());
         });
}

void make_writable() {
  auto* const protect = SYNCOPATE_REAL(mprotect);
  for (const protected_pages& each : pages())
    if (is_kept(each))
      protect(reinterpret_cast<void*>(each.low), each.bytes, PROT_READ | PROT_WRITE);
  pages().clear();
}

}  // namespace

void keep_program_image() {
  if (kept != nullptr) fail("internal error: the program's memory is kept twice");
  kept = new image;
  dl_iterate_phdr(keep_module, nullptr);
  if (program_heap.end != 0) keep_range(layout::heap, program_heap.next);
  kept->heap = program_heap;
  for_each_slot([](fiber& f) { kept->caches.push_back(f.heap); });
  kept->handlers = exit_handlers();
  keep_thread_keys();
  keep_main_locals();
  keep_library_state();
}

void restore_program_image() {
  std::fflush(stdout);  // to where the program has it now
  make_writable();
  forget_file_waits();
  forget_streams();
  restore_library_state();
  for (const kept_range& range : kept->ranges) {
    std::memcpy(reinterpret_cast<void*>(range.low), range.bytes.data(), range.bytes.size());
  }
  // The mapping stays; memory that earlier runs used is not zero.
  const std::uintptr_t used =
      program_heap.zero_from > program_heap.next ? program_heap.zero_from : program_heap.next;
  const std::uintptr_t end = program_heap.end;
  restore_thread_keys();
  program_heap = kept->heap;
  program_heap.end = end;
  program_heap.zero_from = used;
  for_each_slot([](fiber& f) {
    f.heap = f.slot < kept->caches.size() ? kept->caches[f.slot] : heap_cache{};
  });
  exit_handlers() = kept->handlers;
}

}  // namespace syncopate::instrument

SYNCOPATE_EXPORT int mprotect(void* at, std::size_t bytes, int protection) noexcept {
  using namespace syncopate::instrument;
  if (kept != nullptr && by_program(SYNCOPATE_CALLER)) {
    const engine_scope inside;
    pages().push_back({reinterpret_cast<std::uintptr_t>(at), bytes});
  }
  return SYNCOPATE_REAL(mprotect)(at, bytes, protection);
}
