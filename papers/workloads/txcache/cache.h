// cache.h -- the cache, as its protocol and its load see it; the same for every stage. Every
// function may be called by any number of threads at once, each with a worker of its own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace workloads::txcache {

struct item;
struct worker;

struct settings {
  std::size_t memory = 64u << 20;    // bytes for items
  std::size_t page_size = 1u << 20;  // the largest item; what slab classes exchange
  unsigned hash_power = 10;          // the table begins with 2^hash_power buckets
  std::uint64_t use_interval = 60;   // seconds between two moves of an item to its list's head
};
inline constexpr unsigned smallest_hash_power = 8, largest_hash_power = 28;
inline constexpr std::size_t longest_key = 250;

extern const char* const stage_name;
extern bool verbose;

// Allocates, and starts the two maintenance threads. Returns null, or one line for the user.
// Before it, no other function may be called. stop() lets them finish what they were asked for.
const char* start(const settings& chosen);
void stop();

worker* add_worker();

// The cache's clock, in seconds, is at first_second when it starts; advanced by tick() alone.
inline constexpr std::uint64_t first_second = 2;  // so that there is a past, and 0 means never
void tick(std::uint64_t now);

struct key {
  const char* text;
  std::size_t size;    // at most longest_key
  std::uint32_t hash;  // hash_of(text, size)
};
std::uint32_t hash_of(const char* text, std::size_t size);

// A value, valid until release().
struct value {
  item* held;  // null: there is none
  const char* data;
  std::size_t size;
  std::uint32_t flags;
  std::uint64_t cas;
};
value get(worker* self, const key& k);
void release(item* held);

enum class method : unsigned char { set, add, replace, append, prepend, cas };
enum class outcome : unsigned char {
  stored,
  not_stored,
  exists,
  not_found,
  too_large,
  no_memory,
  deleted,
  touched,
  changed,
  not_a_number
};
struct store_request {
  method how;
  std::uint32_t flags;
  std::int64_t expires;  // as the protocol has it: seconds from now, or a date
  std::uint64_t cas;     // method::cas: what the item must have
  const char* data;
  std::size_t size;
};
outcome store(worker* self, const key& k, const store_request& request);
outcome remove(worker* self, const key& k);
outcome touch(worker* self, const key& k, std::int64_t expires);
// Adds, or subtracts down to 0; modulo 2^64. `result` is set where it returns `changed`.
outcome change(worker* self, const key& k, std::uint64_t amount, bool subtract,
               std::uint64_t& result);
// Forgets everything that is there now, or in `delay` seconds.
void flush(worker* self, std::uint64_t delay);

void count_connection(int change);

// The lines of `stats`; the caller frees the text.
enum class statistics_kind : unsigned char { general, slabs };
char* statistics_text(statistics_kind kind, unsigned threads);
void reset_statistics();

struct totals {
  std::uint64_t items, buckets, expansions, pages_moved, evictions;
};
totals current_totals();

// Checks every invariant of the data; prints what does not hold, and returns whether all did.
// Requires: no thread is in any other function.
bool audit();

// What the program did as transactions: zeros in the stages with locks.
struct serialization {
  std::uint64_t transactions, in_flight_switch, start_serial, abort_serial;
};
serialization count_serialization();

}  // namespace workloads::txcache
