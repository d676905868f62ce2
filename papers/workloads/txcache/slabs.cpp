// slabs.cpp -- chunks of a few sizes, cut from pages of one size. A class without a page gets its
// first one even beyond the limit; maintenance.cpp moves pages from class to class.
#include "state.h"

#include <sys/mman.h>

namespace workloads::txcache {

namespace {

constexpr u64 smallest_chunk = sizeof(item) + 24;

// Each chunk is a quarter larger than the one before, up to a whole page.
unsigned make_classes(slabs& s) {
  unsigned count = 0;
  for (u64 size = smallest_chunk; count < most_classes - 1 && size < s.page_size / 2;
       size = size * 5 / 4)
    s.of[count++].chunk_size = (size + 7) / 8 * 8;
  s.of[count++].chunk_size = s.page_size;
  for (unsigned i = 0; i < count; ++i) s.of[i].chunks_in_page = s.page_size / s.of[i].chunk_size;
  return count;
}

SECTION_FUNCTION bool take_page(u64 slab_class) {
  slabs& s = cache.slab;
  auto& own = s.of[slab_class];
  if (own.pages != 0 && s.pages_taken >= s.page_limit) return false;
  if (s.pages_taken == s.pages) return false;
  own.fresh = s.arena + s.pages_taken * s.page_size;
  own.fresh_count = own.chunks_in_page;
  ++own.pages;
  s.class_of_page[s.pages_taken++] = slab_class;
  return true;
}

SECTION_FUNCTION item* take_chunk(u64 slab_class) {
  auto& own = cache.slab.of[slab_class];
  if (item* const it = own.free; it != nullptr) {
    remove_free_chunk(it);
    return it;
  }
  if (own.fresh_count == 0 && !take_page(slab_class)) return nullptr;
  item* const it = reinterpret_cast<item*>(own.fresh);
  own.fresh += own.chunk_size;
  --own.fresh_count;
  return it;
}

// Only what is asked for again and again is worth a page.
constexpr u64 enough = 8;

SECTION_FUNCTION void note_starving(u64 slab_class) {
  slabs& s = cache.slab;
  if (++s.of[slab_class].wanted < enough || cache.slabs_wakeup.requested) return;
  s.starving = slab_class;
  cache.slabs_wakeup.requested = true;
  wake(cache.slabs_wakeup);
}

}  // namespace

const char* prepare_slabs(const settings& chosen) {
  slabs& s = cache.slab;
  s.page_size = chosen.page_size;
  s.page_limit = chosen.memory / chosen.page_size;
  s.classes = make_classes(s);
  s.pages = s.page_limit + s.classes;
  void* const arena = mmap(nullptr, s.pages * s.page_size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (arena == MAP_FAILED) return "--memory: the system does not have that much";
  s.arena = static_cast<char*>(arena);
  s.class_of_page = static_cast<u64*>(malloc(s.pages * sizeof(u64)));
  return s.class_of_page == nullptr ? "no memory for the table of pages" : nullptr;
}

u64 class_for(u64 size) {
  const slabs& s = cache.slab;
  for (unsigned i = 0; i < s.classes; ++i)
    if (s.of[i].chunk_size >= size) return i;
  return no_class;
}

item* allocate_chunk(u64 slab_class) {
  item* it;
  CRITICAL_SECTION(cache.slabs_lock) {
    it = take_chunk(slab_class);
    if (it == nullptr) note_starving(slab_class);
    else {
      it->state = item_state::held;
      it->slab_class = slab_class;
      it->newer = it->older = it->next_in_bucket = nullptr;
    }
  }
  return it;
}

void free_chunk(item* it) {
  CRITICAL_SECTION(cache.slabs_lock) {
    auto& own = cache.slab.of[it->slab_class];
    SECTION_ASSERT(it->state == item_state::held);
    it->state = item_state::free;
    it->newer = nullptr;
    it->older = own.free;
    if (own.free != nullptr) own.free->newer = it;
    own.free = it;
    ++own.free_count;
  }
}

void remove_free_chunk(item* it) {
  auto& own = cache.slab.of[it->slab_class];
  if (it->newer != nullptr) it->newer->older = it->older;
  else own.free = it->older;
  if (it->older != nullptr) it->older->newer = it->newer;
  --own.free_count;
}

}  // namespace workloads::txcache
