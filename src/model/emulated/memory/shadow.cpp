#include "shadow.h"

#include <cerrno>
#include <cstring>

#include <sys/mman.h>

#include "model/front/program/options.h"

namespace syncopate::emulated {

void make_shadow() noexcept {
  if (shadow_is_there()) return;
  void* const wanted = reinterpret_cast<void*>(shadow_base);
  void* const got = mmap(wanted, shadow_bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got != wanted) {
    instrument::fail(
        "the emulated machine cannot map its table of cache lines, 16 TiB of address"
        " space: %s (limits: ulimit -v, vm.overcommit_memory=2)",
        std::strerror(errno));
  }
  madvise(wanted, shadow_bytes, MADV_NOHUGEPAGE);  // 2 MiB of table for each line otherwise
  madvise(wanted, shadow_bytes, MADV_DONTDUMP);
  shadow_made.store(true, std::memory_order_release);  // [M]
}

void clear_shadow() noexcept {
  madvise(reinterpret_cast<void*>(shadow_base), shadow_bytes, MADV_DONTNEED);
}

}  // namespace syncopate::emulated
