// item.h -- an item: a chunk of a slab, with a key and a value while it is in use.
//
// Locks, in the order in which they are taken: the item lock of the key's hash, the cache lock, the
// slabs lock, the statistics locks. Whoever holds a later one may only try an item lock.
//
//   I1  `references` counts one for the table while linked, and one for each thread that uses the
//       item. It rises only under the item lock, falls at any time, and at 0 the chunk is free.
//   I2  What the item lock protects (L) is written by its holder, or by the thread that allocated
//       the item until it links it. Key, value and flags of a linked item never change, except a
//       number in place while references == 1.
//   I3  `state` and the list links (C) are accessed in sections alone.
//
// Each field has words of its own: a transaction may write back a whole word, and its neighbors may
// be written plainly at the time.
#pragma once

#include "stage.h"

namespace workloads::txcache {

enum class item_state : u64 {
  untouched,  // never allocated
  free,       // in the list of free chunks
  held,       // allocated, not in the table
  linked,     // in the table and in the list of uses
  moving      // belongs to the page that changes its class
};

struct item {
  item* next_in_bucket;        // L
  item *newer, *older;         // C: in the list of uses, or of free chunks
  item_state state;            // C
  reference_count references;  // I1
  u64 slab_class;              // C: slabs lock
  u64 cas;                     // L
  u64 expires;                 // L: 0: never
  u64 last_used;               // L
  u64 hash;                    // I2, as all below
  u64 key_size;
  u64 value_size;  // without the "\r\n" that follows it in memory, so that numbers end somewhere
  u64 flags;
  char bytes[];

  char* data() { return bytes + key_size; }
};

inline u64 item_size(u64 key_size, u64 value_size) {
  return sizeof(item) + key_size + value_size + 2;
}

// ---- item_locks.cpp ----

// A power of two, so that a bucket and the two that it is split into have one lock. The table's
// growth takes all; the thread sanitizer follows no more than 64 that one thread holds.
inline constexpr u64 item_locks = 32;

// Requires: nothing later in the order is held. Blocking.
void lock_item(u64 hash);
void unlock_item(u64 hash);
// In a section. Returns whether the lock was taken.
SECTION_FUNCTION bool try_lock_item(u64 hash);
SECTION_FUNCTION void unlock_tried_item(u64 hash);

class item_held {
 public:
  explicit item_held(u64 hash) : hash_(hash) { lock_item(hash); }
  ~item_held() { unlock_item(hash_); }
  item_held(const item_held&) = delete;
  item_held& operator=(const item_held&) = delete;

 private:
  u64 hash_;
};

#if TXCACHE_STAGE >= TXCACHE_RELAXED && TXCACHE_ITEM_TRANSACTIONS
#define ITEM_SECTION(HASH) CRITICAL_SECTION(nothing)
#else
#define ITEM_SECTION(HASH) if (const workloads::txcache::item_held item_held_here(HASH); true)
#endif

// ---- items.cpp; Requires, except of the first and the last: the item lock ----

// A chunk with one reference, or null. The oldest items make room.
SECTION_FUNCTION item* allocate_item(u64 key_size, u64 value_size);
SECTION_FUNCTION void link_item(item* it);
SECTION_FUNCTION void unlink_item(item* it);
// Requires: the cache lock, too.
SECTION_FUNCTION void unlink_item_locked(item* it);
// The item with this key, unless it is past its time or flushed: then it is unlinked.
SECTION_FUNCTION item* find_live_item(u64 hash, const char* key, u64 key_size);
// Moves it to the head of the list of uses, if it has not been there for a while.
SECTION_FUNCTION void use_item(item* it);
SECTION_FUNCTION u64 next_cas();
// Takes one reference away.
SECTION_FUNCTION void drop_item(item* it);

}  // namespace workloads::txcache
