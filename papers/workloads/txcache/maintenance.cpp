// maintenance.cpp -- the two threads that workers wake: one makes the hash table larger, bucket by
// bucket; one gives a page of a slab class that has plenty to one that starves. Both only try item
// locks, which come before theirs in the order, and come back later to what was locked.
#include "state.h"

#include <sched.h>

#include <thread>
#include <vector>

namespace workloads::txcache {

namespace {

// ---- the hash table ---------------------------------------------------------------------------

void swap_tables(item** larger) {
  hash_table& t = cache.table;
  CRITICAL_SECTION(cache.cache_lock) {
    t.old = t.primary;
    t.old_mask = t.mask;
    t.primary = larger;
    t.mask = 2 * t.mask + 1;
    write(t.moved, 0);
  }
}

void begin_expansion(item** larger) {
#if TXCACHE_STAGE < TXCACHE_RELAXED || !TXCACHE_ITEM_TRANSACTIONS
  for (u64 i = 0; i < item_locks; ++i) lock_item(i);
  swap_tables(larger);
  for (u64 i = 0; i < item_locks; ++i) unlock_item(i);
#else
  swap_tables(larger);
#endif
}

void move_all_buckets(u64 count) {
  for (u64 bucket = 0; bucket < count;) {
    bool moved = false;
    CRITICAL_SECTION(cache.cache_lock) {
      if (try_lock_item(bucket)) {
        move_bucket(bucket);
        unlock_tried_item(bucket);
        moved = true;
      }
    }
    if (moved) ++bucket;
    else sched_yield();
  }
}

void end_expansion() {
  hash_table& t = cache.table;
  item** spent;
  CRITICAL_SECTION(cache.cache_lock) {
    spent = t.old;
    write(t.moved, no_expansion);
    ++t.expansions;
    cache.hash_wakeup.requested = false;
    log_event(event::table_has_grown, t.mask + 1);
  }
  free(spent);
}

void expand_table() {
  u64 buckets = 0;
  CRITICAL_SECTION(cache.cache_lock) {
    if (cache.hash_wakeup.requested) buckets = cache.table.mask + 1;
    if (buckets != 0) log_event(event::table_grows, 2 * buckets);
  }
  if (buckets == 0) return;
  item** const larger = static_cast<item**>(calloc(2 * buckets, sizeof(item*)));
  if (larger == nullptr) return;  // nobody asks again: the table stays as it is
  begin_expansion(larger);
  move_all_buckets(buckets);
  end_expansion();
}

// ---- slabs ------------------------------------------------------------------------------------

struct page_move {
  u64 page = 0, from = 0, to = 0;
};

// Requires: the slabs lock. The class that needs its pages least, if it needs them less.
SECTION_FUNCTION u64 choose_donor(u64 to) {
  slabs& s = cache.slab;
  u64 best = no_class;
  for (u64 i = 0; i < s.classes; ++i) {
    if (i == to || s.of[i].pages < 2 || 2 * s.of[i].wanted >= s.of[to].wanted) continue;
    if (best == no_class || s.of[i].wanted < s.of[best].wanted) best = i;
  }
  return best;
}

SECTION_FUNCTION u64 choose_page(u64 from) {
  const slabs& s = cache.slab;
  const auto& own = s.of[from];
  const u64 open = own.fresh_count == 0 ? s.pages  // the page that is not cut to its end stays
                                        : static_cast<u64>(own.fresh - s.arena) / s.page_size;
  for (u64 page = 0; page < s.pages_taken; ++page)
    if (s.class_of_page[page] == from && page != open) return page;
  return s.pages;
}

bool choose_move(page_move& move) {
  slabs& s = cache.slab;
  bool found = false;
  CRITICAL_SECTION(cache.slabs_lock) {
    found = false;
    if (cache.slabs_wakeup.requested) {
      move.to = s.starving;
      move.from = choose_donor(move.to);
      if (move.from != no_class) {
        move.page = choose_page(move.from);
        found = move.page != s.pages;
      }
      for (u64 i = 0; i < s.classes; ++i) s.of[i].wanted /= 2;
      if (!found) cache.slabs_wakeup.requested = false;
    }
  }
  return found;
}

// Requires: the cache lock.
SECTION_FUNCTION void unlink_if_unused(item* it) {
  const u64 hash = it->hash;
  if (!try_lock_item(hash)) return;
  if (read(it->references) == 1) unlink_item_locked(it);
  unlock_tried_item(hash);
}

SECTION_FUNCTION bool take_if_free(item* it) {
  bool taken;
  CRITICAL_SECTION(cache.slabs_lock) {
    if (it->state == item_state::free) {
      remove_free_chunk(it);
      it->state = item_state::moving;
    }
    taken = it->state == item_state::moving;
  }
  return taken;
}

// Takes a chunk out of use; whether it is out of use now. It cannot be allocated in between: that
// takes the cache lock.
bool empty_chunk(item* it) {
  bool empty;
  CRITICAL_SECTION(cache.cache_lock) {
    if (it->state == item_state::linked) unlink_if_unused(it);
    empty = take_if_free(it);
  }
  return empty;
}

item* chunk_at(u64 page, u64 chunk_size, u64 index) {
  return reinterpret_cast<item*>(cache.slab.arena + page * cache.slab.page_size +
                                 index * chunk_size);
}

// Makes chunks of the page, all of them in state `moving` and so nobody else's, free ones of a
// class.
void give_chunks(u64 page, u64 to, u64 first, u64 count) {
  const u64 size = cache.slab.of[to].chunk_size;
  for (u64 i = first; i < first + count; ++i) {
    item* const it = chunk_at(page, size, i);
    it->slab_class = to;
    it->state = item_state::free;
    it->newer = i == first ? nullptr : chunk_at(page, size, i - 1);
    it->older = i + 1 == first + count ? nullptr : chunk_at(page, size, i + 1);
  }
  item* const newest = chunk_at(page, size, first);
  item* const oldest = chunk_at(page, size, first + count - 1);
  auto& own = cache.slab.of[to];
  CRITICAL_SECTION(cache.slabs_lock) {
    oldest->older = own.free;
    if (own.free != nullptr) own.free->newer = oldest;
    own.free = newest;
    own.free_count += count;
  }
}

void finish_move(const page_move& move, bool moved) {
  slabs& s = cache.slab;
  CRITICAL_SECTION(cache.slabs_lock) {
    if (moved) {
      s.class_of_page[move.page] = move.to;
      --s.of[move.from].pages;
      ++s.of[move.to].pages;
      ++s.pages_moved;
    }
    cache.slabs_wakeup.requested = false;
    log_event(moved ? event::page_moved : event::page_stays, move.page);
  }
}

// Chunks that stay in use for that many looks keep the page where it is.
constexpr unsigned most_looks = 200;

bool empty_page(const page_move& move, std::vector<bool>& emptied) {
  const auto& from = cache.slab.of[move.from];  // sizes never change
  for (unsigned look = 0; look < most_looks; ++look) {
    bool all = true;
    for (u64 i = 0; i < from.chunks_in_page; ++i) {
      if (!emptied[i]) emptied[i] = empty_chunk(chunk_at(move.page, from.chunk_size, i));
      all = all && emptied[i];
    }
    if (all) return true;
    sched_yield();
  }
  return false;
}

void move_page() {
  page_move move;
  if (!choose_move(move)) return;
  const u64 chunks = cache.slab.of[move.from].chunks_in_page;
  std::vector<bool> emptied(chunks);
  const bool moved = empty_page(move, emptied);
  if (moved) {
    give_chunks(move.page, move.to, 0, cache.slab.of[move.to].chunks_in_page);
  } else {
    for (u64 i = 0; i < chunks; ++i)
      if (emptied[i]) give_chunks(move.page, move.from, i, 1);
  }
  finish_move(move, moved);
}

// ---- the threads ------------------------------------------------------------------------------

bool is_stopping(wakeup& w, mutex& lock) {
  bool stopping;
  CRITICAL_SECTION(lock) { stopping = w.stopping; }
  (void)lock;
  return stopping;
}

void maintain(wakeup& w, mutex& lock, void (*work)()) {
  for (;;) {
    await(w, lock);
    work();  // what was asked for before the end, too
    if (is_stopping(w, lock)) return;
  }
}

void ask_to_stop(wakeup& w, mutex& lock) {
  CRITICAL_SECTION(lock) {
    w.stopping = true;
    wake(w);
  }
  (void)lock;
}

std::thread hash_thread, slabs_thread;

}  // namespace

void start_maintenance() {
  hash_thread = std::thread([] { maintain(cache.hash_wakeup, cache.cache_lock, expand_table); });
  slabs_thread = std::thread([] { maintain(cache.slabs_wakeup, cache.slabs_lock, move_page); });
}

void stop_maintenance() {
  ask_to_stop(cache.hash_wakeup, cache.cache_lock);
  ask_to_stop(cache.slabs_wakeup, cache.slabs_lock);
  hash_thread.join();
  slabs_thread.join();
}

}  // namespace workloads::txcache
