// state.cpp -- the cache's beginning and end, and what --verbose prints.
#include "state.h"

namespace workloads::txcache {

cache_state cache;
bool verbose = false;
const char* const stage_name = TXCACHE_STAGE_NAME;

const char* start(const settings& chosen) {
  cache.chosen = chosen;
  cache.table.mask = (u64{1} << chosen.hash_power) - 1;
  cache.table.old_mask = cache.table.mask;
  write(cache.table.moved, no_expansion);
  write(cache.now, first_second);
  cache.table.primary = static_cast<item**>(calloc(cache.table.mask + 1, sizeof(item*)));
  if (cache.table.primary == nullptr) return "no memory for the hash table";
  if (const char* const error = prepare_slabs(chosen)) return error;
  start_maintenance();
  return nullptr;
}

void stop() { stop_maintenance(); }

u32 hash_of(const char* text, std::size_t size) {
  u64 hash = 14695981039346656037u;  // FNV-1a
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ static_cast<u8>(text[i])) * 1099511628211u;
  return static_cast<u32>(hash ^ hash >> 32);
}

void print_event(void* packed) {
  static const char* const texts[] = {
      "the hash table grows; buckets", "the hash table has grown; buckets",
      "a slab page has changed its class; page", "a slab page stays where it is; page",
      "no memory for an item; bytes"};
  const u64 both = reinterpret_cast<u64>(packed);
  fprintf(stderr, "txcache: %s %llu\n", texts[both & 0xff],
          static_cast<unsigned long long>(both >> 8));
}

}  // namespace workloads::txcache
