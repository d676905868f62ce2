// statistics.cpp -- counters of threads and of the whole, and the text of `stats`. The text is made
// in the section that protects the numbers, as the original's is: it grows by realloc and is
// written by snprintf there.
#include <gnu/libc-version.h>
#include <unistd.h>

#include "state.h"

namespace workloads::txcache {

namespace {

struct text {
  char* begin;
  u64 size, capacity;
};

constexpr u64 longest_line = 96, first_capacity = 256;

// Lines that find no memory are left out.
SECTION_FUNCTION bool make_room(text& to) {
  if (to.capacity - to.size >= longest_line) return true;
  const u64 capacity = to.capacity == 0 ? first_capacity : 2 * to.capacity;
  char* const larger = static_cast<char*>(LIBRARY(realloc)(to.begin, capacity));
  if (larger == nullptr) return false;
  to.begin = larger;
  to.capacity = capacity;
  return true;
}

SECTION_FUNCTION void add_line(text& to, const char* name, u64 number) {
  if (!make_room(to)) return;
  to.size += static_cast<u64>(LIBRARY(snprintf)(to.begin + to.size, to.capacity - to.size,
                                                "STAT %s %llu\r\n", name,
                                                static_cast<unsigned long long>(number)));
}

SECTION_FUNCTION void add_word(text& to, const char* name, const char* word) {
  if (!make_room(to)) return;
  to.size += static_cast<u64>(
      LIBRARY(snprintf)(to.begin + to.size, to.capacity - to.size, "STAT %s %s\r\n", name, word));
}

SECTION_FUNCTION void add_class_line(text& to, u64 slab_class, const char* name, u64 number) {
  if (!make_room(to)) return;
  to.size += static_cast<u64>(LIBRARY(snprintf)(to.begin + to.size, to.capacity - to.size,
                                                "STAT %llu:%s %llu\r\n",
                                                static_cast<unsigned long long>(slab_class + 1),
                                                name, static_cast<unsigned long long>(number)));
}

void add_counters(counters& sum, const counters& c) {
  const u64* const from = reinterpret_cast<const u64*>(&c);
  u64* const to = reinterpret_cast<u64*>(&sum);
  for (u64 i = 0; i < sizeof(counters) / sizeof(u64); ++i) to[i] += from[i];
}

worker* first_worker() {
  worker* first;
  CRITICAL_SECTION(cache.statistics_lock) { first = cache.workers; }
  return first;
}

counters sum_of_workers() {
  counters sum = {};
  for (worker* w = first_worker(); w != nullptr; w = w->next) {
    counters one;
    CRITICAL_SECTION(w->lock) { one = w->counts; }
    add_counters(sum, one);
  }
  return sum;
}

void add_worker_lines(text& to, const counters& c) {
  add_line(to, "cmd_get", c.gets);
  add_line(to, "cmd_set", c.sets);
  add_line(to, "cmd_flush", c.flushes);
  add_line(to, "cmd_touch", c.touches);
  add_line(to, "get_hits", c.get_hits);
  add_line(to, "get_misses", c.gets - c.get_hits);
  add_line(to, "delete_hits", c.delete_hits);
  add_line(to, "delete_misses", c.deletes - c.delete_hits);
  add_line(to, "incr_hits", c.increment_hits);
  add_line(to, "incr_misses", c.increments - c.increment_hits);
  add_line(to, "decr_hits", c.decrement_hits);
  add_line(to, "decr_misses", c.decrements - c.decrement_hits);
  add_line(to, "cas_hits", c.cas_hits);
  add_line(to, "cas_badval", c.cas_bad);
  add_line(to, "cas_misses", c.cas - c.cas_hits - c.cas_bad);
  add_line(to, "touch_hits", c.touch_hits);
  add_line(to, "touch_misses", c.touches - c.touch_hits);
}

void add_global_lines(text& to, unsigned threads) {
#if TXCACHE_STAGE == TXCACHE_ON_COMMIT
  // Asked outside: it does not change while the program runs.
  const char* const library = gnu_get_libc_version();
#endif
  CRITICAL_SECTION(cache.statistics_lock) {
#if TXCACHE_STAGE != TXCACHE_ON_COMMIT
    const char* const library = gnu_get_libc_version();
#endif
    add_word(to, "libc", library);
    add_line(to, "uptime", read(cache.now) - first_second);
    add_line(to, "curr_connections", cache.counts.connections);
    add_line(to, "total_connections", cache.counts.total_connections);
    add_line(to, "limit_maxbytes", cache.chosen.memory);
    add_line(to, "threads", threads);
    add_line(to, "bytes", cache.counts.bytes);
    add_line(to, "curr_items", cache.counts.items);
    add_line(to, "total_items", cache.counts.total_items);
    add_line(to, "evictions", cache.counts.evictions);
  }
}

void add_table_lines(text& to) {
  CRITICAL_SECTION(cache.cache_lock) {
    u64 power = 0;
    while (cache.table.mask >> power != 0) ++power;
    add_line(to, "hash_power_level", power);
    add_line(to, "hash_is_expanding", read(cache.table.moved) != no_expansion);
    add_line(to, "hash_expansions", cache.table.expansions);
  }
}

void add_slabs_lines(text& to) {
  CRITICAL_SECTION(cache.slabs_lock) {
    const slabs& s = cache.slab;
    u64 active = 0;
    for (u64 i = 0; i < s.classes; ++i) {
      const auto& c = s.of[i];
      if (c.pages == 0) continue;
      ++active;
      add_class_line(to, i, "chunk_size", c.chunk_size);
      add_class_line(to, i, "chunks_per_page", c.chunks_in_page);
      add_class_line(to, i, "total_pages", c.pages);
      add_class_line(to, i, "total_chunks", c.pages * c.chunks_in_page);
      add_class_line(to, i, "free_chunks", c.free_count + c.fresh_count);
    }
    add_line(to, "active_slabs", active);
    add_line(to, "slabs_moved", s.pages_moved);
    add_line(to, "total_malloced", s.pages_taken * s.page_size);
  }
}

}  // namespace

worker* add_worker() {
  worker* const added = new worker{};
  CRITICAL_SECTION(cache.statistics_lock) {
    added->next = cache.workers;
    cache.workers = added;
  }
  return added;
}

void count_connection(int change) {
  CRITICAL_SECTION(cache.statistics_lock) {
    cache.counts.connections += static_cast<u64>(change);
    if (change > 0) ++cache.counts.total_connections;
  }
}

char* statistics_text(statistics_kind kind, unsigned threads) {
  text to = {};
  if (kind == statistics_kind::slabs) {
    add_slabs_lines(to);
  } else {
    add_line(to, "pid", static_cast<u64>(getpid()));
    add_line(to, "time", static_cast<u64>(time(nullptr)));
    add_word(to, "stage", stage_name);
    add_line(to, "pointer_size", 8 * sizeof(void*));
    add_worker_lines(to, sum_of_workers());
    add_global_lines(to, threads);
    add_table_lines(to);
  }
  return to.begin;
}

void reset_statistics() {
  for (worker* w = first_worker(); w != nullptr; w = w->next) {
    CRITICAL_SECTION(w->lock) { w->counts = {}; }
  }
  CRITICAL_SECTION(cache.statistics_lock) {
    cache.counts.total_items = 0;
    cache.counts.evictions = 0;
    cache.counts.total_connections = 0;
  }
}

totals current_totals() {
  totals sum = {};
  CRITICAL_SECTION(cache.cache_lock) {
    sum.items = cache.table.items;
    sum.buckets = cache.table.mask + 1;
    sum.expansions = cache.table.expansions;
  }
  CRITICAL_SECTION(cache.slabs_lock) { sum.pages_moved = cache.slab.pages_moved; }
  CRITICAL_SECTION(cache.statistics_lock) { sum.evictions = cache.counts.evictions; }
  return sum;
}

}  // namespace workloads::txcache
