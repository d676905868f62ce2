// items.cpp -- the life of an item: allocated, linked, found, used, unlinked, freed.
#include "state.h"

namespace workloads::txcache {

namespace {

constexpr unsigned most_tries = 50;  // items that are looked at for one that can go

// In a section under the cache lock: the oldest item of the class that nobody uses goes.
SECTION_FUNCTION bool evict_one(u64 slab_class) {
  item* it = cache.uses[slab_class].oldest;
  for (unsigned tries = 0; it != nullptr && tries < most_tries; ++tries) {
    item* const newer = it->newer;
    const u64 hash = it->hash;
    if (try_lock_item(hash)) {
      const bool unused = read(it->references) == 1;
      if (unused) unlink_item_locked(it);
      unlock_tried_item(hash);
      if (unused) return true;
    }
    it = newer;
  }
  return false;
}

SECTION_FUNCTION item* allocate_or_evict(u64 slab_class) {
  item* it = allocate_chunk(slab_class);
  if (it != nullptr || !evict_one(slab_class)) return it;
  CRITICAL_SECTION(cache.statistics_lock) { ++cache.counts.evictions; }
  return allocate_chunk(slab_class);
}

SECTION_FUNCTION void ask_for_larger_table() {
  const hash_table& t = cache.table;
  const u64 buckets = t.mask + 1;
  if (t.items <= buckets + buckets / 2 || cache.hash_wakeup.requested) return;
  if (buckets >> largest_hash_power != 0) return;
  cache.hash_wakeup.requested = true;
  wake(cache.hash_wakeup);
}

SECTION_FUNCTION void count_linked(const item* it) {
  CRITICAL_SECTION(cache.statistics_lock) {
    ++cache.counts.items;
    ++cache.counts.total_items;
    cache.counts.bytes += item_size(it->key_size, it->value_size);
  }
}

}  // namespace

item* allocate_item(u64 key_size, u64 value_size) {
  item* it = nullptr;
  CRITICAL_SECTION(cache.cache_lock) {
    const u64 slab_class = class_for(item_size(key_size, value_size));
    if (slab_class != no_class) it = allocate_or_evict(slab_class);
    if (it == nullptr) log_event(event::no_memory, value_size);
    else write(it->references, 1);
  }
  return it;
}

void link_item(item* it) {
  CRITICAL_SECTION(cache.cache_lock) {
    SECTION_ASSERT(it->state == item_state::held);
    it->state = item_state::linked;
    it->cas = ++cache.last_cas;
    it->last_used = read(cache.now);
    add(it->references, 1);
    insert_into_table(it);
    add_newest(it);
    ++cache.table.items;
    ask_for_larger_table();
    count_linked(it);
  }
}

void unlink_item_locked(item* it) {
  SECTION_ASSERT(it->state == item_state::linked);
  it->state = item_state::held;
  remove_from_table(it);
  remove_from_uses(it);
  --cache.table.items;
  CRITICAL_SECTION(cache.statistics_lock) {
    --cache.counts.items;
    cache.counts.bytes -= item_size(it->key_size, it->value_size);
  }
  drop_item(it);
}

void unlink_item(item* it) {
  CRITICAL_SECTION(cache.cache_lock) { unlink_item_locked(it); }
}

item* find_live_item(u64 hash, const char* key, u64 key_size) {
  item* const it = find_in_table(hash, key, key_size);
  if (it == nullptr) return nullptr;
  const bool expired = it->expires != 0 && it->expires <= read(cache.now);
  if (!expired && it->cas > read(cache.flushed_cas)) return it;
  unlink_item(it);
  return nullptr;
}

void use_item(item* it) {
  const u64 now = read(cache.now);
  if (now - it->last_used < cache.chosen.use_interval) return;
  CRITICAL_SECTION(cache.cache_lock) {
    it->last_used = now;
    remove_from_uses(it);
    add_newest(it);
  }
}

u64 next_cas() {
  u64 cas;
  CRITICAL_SECTION(cache.cache_lock) { cas = ++cache.last_cas; }
  return cas;
}

void drop_item(item* it) {
  if (add(it->references, ~u64{0}) == 0) free_chunk(it);
}

}  // namespace workloads::txcache
