#include "model/front/libc/memory_resources.h"

#include <cstdint>
#include <memory_resource>

#include <sys/mman.h>

#include "model/front/libc/call_memory.h"

namespace syncopate::instrument {
namespace {

// A class's table of virtual functions begins so, by the ABI: two words before the first, then two
// destructors. (What the program calls are entries of it: std::pmr's members are private.)
enum entry : std::size_t { allocates = 4, deallocates = 5 };

using allocate = void*(void*, std::size_t, std::size_t);
using deallocate = void(void*, void*, std::size_t, std::size_t);

template <class Resource>
struct watched {
  static constinit inline allocate* real_allocate = nullptr;
  static constinit inline deallocate* real_deallocate = nullptr;

  static void writes(void* resource, engine::place where) {
    if (by_program(where)) call_wrote(resource, sizeof(Resource), where);
  }
  static void* do_allocate(void* resource, std::size_t bytes, std::size_t alignment) {
    writes(resource, SYNCOPATE_CALLER);
    return real_allocate(resource, bytes, alignment);
  }
  static void do_deallocate(void* resource, void* block, std::size_t bytes, std::size_t alignment) {
    writes(resource, SYNCOPATE_CALLER);
    real_deallocate(resource, block, bytes, alignment);
  }
};

bool make_writable(void* from, void* to) {
  constexpr std::uintptr_t page = 4096;
  const auto low = reinterpret_cast<std::uintptr_t>(from) & ~(page - 1);
  const auto bytes = reinterpret_cast<std::uintptr_t>(to) - low;
  return SYNCOPATE_REAL(mprotect)(reinterpret_cast<void*>(low), bytes, PROT_READ | PROT_WRITE) == 0;
}

// The table that objects of the program have: its own copy, or the library's.
template <class Resource>
void watch(const char* table_name, bool takes_back) {
  auto** const table = static_cast<void**>(dlsym(RTLD_DEFAULT, table_name));
  if (table == nullptr) return;  // no program here has any
  using w = watched<Resource>;
  w::real_allocate = reinterpret_cast<allocate*>(table[allocates]);
  w::real_deallocate = reinterpret_cast<deallocate*>(table[deallocates]);
  if (!make_writable(table, table + deallocates + 1)) return;
  table[allocates] = reinterpret_cast<void*>(&w::do_allocate);
  if (takes_back) table[deallocates] = reinterpret_cast<void*>(&w::do_deallocate);
}

}  // namespace

void watch_memory_resources() {
  watch<std::pmr::monotonic_buffer_resource>("_ZTVNSt3pmr25monotonic_buffer_resourceE",
                                             false);  // (its do_deallocate does nothing)
  watch<std::pmr::unsynchronized_pool_resource>("_ZTVNSt3pmr28unsynchronized_pool_resourceE", true);
}

}  // namespace syncopate::instrument

using namespace syncopate::instrument;

#define RELEASE "_ZNSt3pmr28unsynchronized_pool_resource7releaseEv"
SYNCOPATE_EXPORT void syncopate_release_pools(void* resource) __asm__(RELEASE);
SYNCOPATE_EXPORT void syncopate_release_pools(void* resource) {
  static auto* const real = reinterpret_cast<void (*)(void*)>(dlsym(RTLD_NEXT, RELEASE));
  watched<std::pmr::unsynchronized_pool_resource>::writes(resource, SYNCOPATE_CALLER);
  real(resource);
}
