// item_locks.cpp -- the locks of items: mutexes, or words that transactions take and give back, or
// nothing, where the sections themselves are transactions.
#include <sched.h>

#include "item.h"

namespace workloads::txcache {

#if TXCACHE_STAGE < TXCACHE_RELAXED

static mutex locks[item_locks];

void lock_item(u64 hash) { locks[hash % item_locks].lock(); }
void unlock_item(u64 hash) { locks[hash % item_locks].unlock(); }
bool try_lock_item(u64 hash) { return locks[hash % item_locks].try_lock(); }
void unlock_tried_item(u64 hash) { locks[hash % item_locks].unlock(); }

#elif !TXCACHE_ITEM_TRANSACTIONS

// Accessed by transactions alone.
static u64 is_held[item_locks];

bool try_lock_item(u64 hash) {
  u64& word = is_held[hash % item_locks];
  if (word != 0) return false;
  word = 1;
  return true;
}

void unlock_tried_item(u64 hash) { is_held[hash % item_locks] = 0; }

void lock_item(u64 hash) {
  for (;;) {
    bool taken;
    CRITICAL_SECTION(nothing) { taken = try_lock_item(hash); }
    if (taken) return;
    sched_yield();
  }
}

void unlock_item(u64 hash) {
  CRITICAL_SECTION(nothing) { unlock_tried_item(hash); }
}

#else

void lock_item(u64) {}
void unlock_item(u64) {}
bool try_lock_item(u64) { return true; }
void unlock_tried_item(u64) {}

#endif

}  // namespace workloads::txcache
