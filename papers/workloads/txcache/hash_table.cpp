// hash_table.cpp -- chained buckets, protected by the locks of their items (I4, I5 of state.h).
#include "state.h"

namespace workloads::txcache {

SECTION_FUNCTION static item** bucket_of(u64 hash) {
  hash_table& t = cache.table;
  const u64 old_bucket = hash & t.old_mask;
  if (old_bucket >= read(t.moved)) return &t.old[old_bucket];
  return &t.primary[hash & t.mask];
}

item* find_in_table(u64 hash, const char* key, u64 key_size) {
  for (item* it = *bucket_of(hash); it != nullptr; it = it->next_in_bucket)
    if (it->hash == hash && it->key_size == key_size &&
        LIBRARY(memcmp)(it->bytes, key, key_size) == 0)
      return it;
  return nullptr;
}

void insert_into_table(item* it) {
  item** const bucket = bucket_of(it->hash);
  it->next_in_bucket = *bucket;
  *bucket = it;
}

void remove_from_table(item* it) {
  item** at = bucket_of(it->hash);
  while (*at != it) {
    SECTION_ASSERT(*at != nullptr);
    at = &(*at)->next_in_bucket;
  }
  *at = it->next_in_bucket;
  it->next_in_bucket = nullptr;
}

void move_bucket(u64 bucket) {
  hash_table& t = cache.table;
  for (item* it = t.old[bucket]; it != nullptr;) {
    item* const next = it->next_in_bucket;
    item** const to = &t.primary[it->hash & t.mask];
    it->next_in_bucket = *to;
    *to = it;
    it = next;
  }
  t.old[bucket] = nullptr;
  write(t.moved, bucket + 1);
}

}  // namespace workloads::txcache
