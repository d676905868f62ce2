// state.h -- what all of the cache's files share: tables, lists, counters and their locks.
#pragma once

#include "cache.h"
#include "item.h"

namespace workloads::txcache {

inline constexpr unsigned most_classes = 64;
inline constexpr u64 no_expansion = ~u64{0};
inline constexpr u64 no_class = ~u64{0};

// The hash table; while it grows, buckets of `old` at and above `moved` are still in use.
//   I4  primary, old and the masks change only under all item locks and the cache lock.
//   I5  `moved` rises past a bucket only under that bucket's item lock: for a holder of another
//       one, the comparison with its own bucket does not change meanwhile.
struct hash_table {
  item **primary, **old;
  u64 mask, old_mask;
  watched moved;
  u64 items, expansions;  // cache lock
};

// The items of one slab class, by their last use (cache lock).
struct use_list {
  item *newest, *oldest;
  u64 count;
};

struct slab_class {  // slabs lock
  u64 chunk_size, chunks_in_page;
  item* free;
  u64 free_count;
  char* fresh;  // the rest of the page taken last, not yet cut
  u64 fresh_count;
  u64 pages;
  u64 wanted;  // allocations that failed, lately
};

struct slabs {
  char* arena;
  u64 page_size, pages, pages_taken, page_limit;
  u64* class_of_page;  // no_class while it moves
  unsigned classes;
  slab_class of[most_classes];
  u64 starving;     // the class that wants a page
  u64 pages_moved;  // so far
};

struct counters {
  u64 gets, get_hits, sets, deletes, delete_hits, touches, touch_hits, flushes;
  u64 increments, increment_hits, decrements, decrement_hits, cas, cas_hits, cas_bad;
};

struct alignas(64) worker {
  mutex lock;
  counters counts;
  worker* next;
};

struct global_counters {  // statistics lock
  u64 items, bytes, total_items, evictions, connections, total_connections;
};

struct cache_state {
  settings chosen;
  mutex cache_lock, slabs_lock, statistics_lock;
  hash_table table;
  use_list uses[most_classes];
  slabs slab;
  global_counters counts;
  worker* workers;                   // statistics lock
  u64 last_cas, flush_at;            // cache lock; flush_at 0: none is planned
  watched now, flushed_cas;          // items up to this one are gone
  wakeup hash_wakeup, slabs_wakeup;  // cache lock; slabs lock
};
extern cache_state cache;

// ---- hash_table.cpp; Requires: the item lock ----

SECTION_FUNCTION item* find_in_table(u64 hash, const char* key, u64 key_size);
SECTION_FUNCTION void insert_into_table(item* it);
SECTION_FUNCTION void remove_from_table(item* it);
// In a section under the cache lock, and with the bucket's item lock.
SECTION_FUNCTION void move_bucket(u64 bucket);

// ---- use_list.cpp; Requires: a section under the cache lock ----

SECTION_FUNCTION void add_newest(item* it);
SECTION_FUNCTION void remove_from_uses(item* it);

// ---- slabs.cpp; each is a section under the slabs lock ----

const char* prepare_slabs(const settings& chosen);
// The smallest class whose chunks have that size; no_class when none has.
SECTION_FUNCTION u64 class_for(u64 size);
SECTION_FUNCTION item* allocate_chunk(u64 slab_class);
SECTION_FUNCTION void free_chunk(item* it);
// Requires: the slabs lock.
SECTION_FUNCTION void remove_free_chunk(item* it);

// ---- maintenance.cpp ----

void start_maintenance();
void stop_maintenance();

}  // namespace workloads::txcache
