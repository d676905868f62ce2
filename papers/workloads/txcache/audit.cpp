// audit.cpp -- every invariant of the cache's data, checked while nothing else runs; plain reads.
#include "state.h"

namespace workloads::txcache {

namespace {

bool all_hold;

void expect(bool condition, const char* what, u64 where) {
  if (condition) return;
  all_hold = false;
  fprintf(stderr, "txcache: audit: %s (at %llu)\n", what, static_cast<unsigned long long>(where));
}

void audit_item(const item* it, u64 bucket) {
  expect(it->state == item_state::linked, "an item in the table is not linked", bucket);
  expect(read(it->references) == 1, "a reference was not given back", bucket);
  expect((it->hash & cache.table.mask) == bucket, "an item is in another's bucket", bucket);
  expect(it->hash == hash_of(it->bytes, it->key_size), "a key has changed", bucket);
  expect(memcmp(it->bytes + it->key_size + it->value_size, "\r\n", 2) == 0,
         "a value has lost its end", bucket);
}

void audit_table() {
  const hash_table& t = cache.table;
  expect(read(t.moved) == no_expansion, "the table still grows", 0);
  u64 items = 0, bytes = 0;
  for (u64 bucket = 0; bucket <= t.mask; ++bucket) {
    for (const item* it = t.primary[bucket]; it != nullptr; it = it->next_in_bucket) {
      audit_item(it, bucket);
      ++items;
      bytes += item_size(it->key_size, it->value_size);
    }
  }
  expect(items == t.items, "the table's count is wrong", items);
  expect(items == cache.counts.items, "the statistics' count of items is wrong", items);
  expect(bytes == cache.counts.bytes, "the statistics' count of bytes is wrong", bytes);
}

u64 audit_uses(u64 slab_class) {
  const use_list& uses = cache.uses[slab_class];
  u64 count = 0;
  const item* newer = nullptr;
  for (const item* it = uses.newest; it != nullptr; newer = it, it = it->older, ++count) {
    expect(it->newer == newer, "the list of uses is broken", slab_class);
    expect(it->slab_class == slab_class, "an item is in another class's list", slab_class);
  }
  expect(uses.oldest == newer, "the list of uses has another end", slab_class);
  expect(uses.count == count, "the count of uses is wrong", slab_class);
  return count;
}

u64 audit_free(u64 slab_class) {
  const auto& own = cache.slab.of[slab_class];
  u64 count = 0;
  const item* newer = nullptr;
  for (const item* it = own.free; it != nullptr; newer = it, it = it->older, ++count) {
    expect(it->state == item_state::free, "a free chunk is in use", slab_class);
    expect(it->newer == newer, "the list of free chunks is broken", slab_class);
    const u64 page = static_cast<u64>(reinterpret_cast<const char*>(it) - cache.slab.arena) /
                     cache.slab.page_size;
    expect(cache.slab.class_of_page[page] == slab_class, "a chunk is of another class", page);
  }
  expect(own.free_count == count, "the count of free chunks is wrong", slab_class);
  return count;
}

void audit_slabs() {
  const slabs& s = cache.slab;
  u64 pages = 0, items = 0;
  for (u64 i = 0; i < s.classes; ++i) {
    const auto& own = s.of[i];
    const u64 used = audit_uses(i), free = audit_free(i);
    expect(used + free + own.fresh_count == own.pages * own.chunks_in_page,
           "chunks were lost, or came from nowhere", i);
    pages += own.pages;
    items += used;
  }
  expect(pages == s.pages_taken, "the count of pages is wrong", pages);
  expect(items == cache.table.items, "items are in no list of uses", items);
}

}  // namespace

bool audit() {
  all_hold = true;
  audit_table();
  audit_slabs();
  return all_hold;
}

}  // namespace workloads::txcache
