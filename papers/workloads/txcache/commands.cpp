// commands.cpp -- what the protocol's commands do to items.
#include <algorithm>

#include "state.h"

namespace workloads::txcache {

namespace {

constexpr std::int64_t longest_relative = 60 * 60 * 24 * 30;  // beyond it, a date

// The second at which it ends, on the cache's clock; 0: never.
u64 end_of(std::int64_t expires) {
  if (expires == 0) return 0;
  const u64 now = read(cache.now);
  if (expires < 0) return first_second - 1;
  if (expires <= longest_relative) return now + static_cast<u64>(expires);
  const std::int64_t left = expires - static_cast<std::int64_t>(time(nullptr));
  return left <= 0 ? now : now + static_cast<u64>(left);
}

void fill(item* it, const key& k, const store_request& request) {
  it->hash = k.hash;
  it->key_size = k.size;
  it->value_size = request.size;
  it->flags = request.flags;
  it->expires = end_of(request.expires);
  it->cas = 0;
  memcpy(it->bytes, k.text, k.size);
  if (request.size != 0) memcpy(it->data(), request.data, request.size);
  memcpy(it->data() + request.size, "\r\n", 2);
}

// The item lock is held by those below.

SECTION_FUNCTION void replace_item(item* old, item* it) {
  if (old != nullptr) unlink_item(old);
  link_item(it);
}

// A copy of `old` with the value of `it` behind it, or before it.
SECTION_FUNCTION item* join(item* old, item* it, bool append) {
  item* const both = allocate_item(it->key_size, old->value_size + it->value_size);
  if (both == nullptr) return nullptr;
  both->hash = it->hash;
  both->key_size = it->key_size;
  both->value_size = old->value_size + it->value_size;
  both->flags = old->flags;
  both->expires = old->expires;
  both->cas = 0;
  item* const first = append ? old : it;
  item* const second = append ? it : old;
  memcpy(both->bytes, it->bytes, it->key_size);
  memcpy(both->data(), first->data(), first->value_size);
  memcpy(both->data() + first->value_size, second->data(), second->value_size + 2);
  return both;
}

SECTION_FUNCTION outcome store_joined(item* old, item* it, bool append) {
  add(old->references, 1);  // making room must not take it
  item* const both = join(old, it, append);
  outcome result = outcome::no_memory;
  if (both != nullptr) {
    replace_item(old, both);
    drop_item(both);
    result = outcome::stored;
  }
  drop_item(old);
  return result;
}

SECTION_FUNCTION outcome store_found(item* old, item* it, method how, u64 cas) {
  if (how == method::cas && old == nullptr) return outcome::not_found;
  if (how == method::cas && old->cas != cas) return outcome::exists;
  const bool needs_old = how == method::replace || how == method::append || how == method::prepend;
  if (how == method::add ? old != nullptr : needs_old && old == nullptr) {
    if (old != nullptr) use_item(old);
    return outcome::not_stored;
  }
  if (how == method::append || how == method::prepend)
    return store_joined(old, it, how == method::append);
  replace_item(old, it);
  return outcome::stored;
}

SECTION_FUNCTION bool number_in(item* it, u64& number) {
  char* end = nullptr;
  if (it->value_size == 0 || !(it->data()[0] >= '0' && it->data()[0] <= '9')) return false;
  number = LIBRARY(strtoull)(it->data(), &end, 10);
  return end != it->data() && (*end == ' ' || *end == '\r' || *end == '\n');
}

constexpr u64 longest_number = 24;

SECTION_FUNCTION outcome write_number(item* old, const char* digits, u64 length) {
  if (length <= old->value_size && read(old->references) == 1) {
    memset(old->data() + length, ' ', old->value_size - length);
    memcpy(old->data(), digits, length);
    old->cas = next_cas();
    use_item(old);
    return outcome::changed;
  }
  add(old->references, 1);
  item* const it = allocate_item(old->key_size, length);
  if (it != nullptr) {
    it->hash = old->hash;
    it->key_size = old->key_size;
    it->value_size = length;
    it->flags = old->flags;
    it->expires = old->expires;
    memcpy(it->bytes, old->bytes, old->key_size);
    memcpy(it->data(), digits, length);
    memcpy(it->data() + length, "\r\n", 2);
    replace_item(old, it);
    drop_item(it);
  }
  drop_item(old);
  return it == nullptr ? outcome::no_memory : outcome::changed;
}

SECTION_FUNCTION outcome change_item(item* old, u64 amount, bool subtract, u64& result) {
  u64 number = 0;
  if (!number_in(old, number)) return outcome::not_a_number;
  if (!subtract) number += amount;
  else number = amount > number ? 0 : number - amount;
  char digits[longest_number];
  const int length =
      LIBRARY(snprintf)(digits, sizeof digits, "%llu", static_cast<unsigned long long>(number));
  result = number;
  return write_number(old, digits, static_cast<u64>(length));
}

}  // namespace

value get(worker* self, const key& k) {
  item* found;
  ITEM_SECTION(k.hash) {
    found = find_live_item(k.hash, k.text, k.size);
    if (found != nullptr) {
      add(found->references, 1);
      use_item(found);
    }
  }
  CRITICAL_SECTION(self->lock) {
    ++self->counts.gets;
    if (found != nullptr) ++self->counts.get_hits;
  }
  if (found == nullptr) return {};
  return {found, found->data(), found->value_size, static_cast<u32>(found->flags), found->cas};
}

void release(item* held) { drop_item(held); }

outcome store(worker* self, const key& k, const store_request& request) {
  if (class_for(item_size(k.size, request.size)) == no_class) return outcome::too_large;
  item* const it = allocate_item(k.size, request.size);
  if (it == nullptr) return outcome::no_memory;
  fill(it, k, request);
  outcome result;
  ITEM_SECTION(k.hash) {
    item* const old = find_live_item(k.hash, k.text, k.size);
    result = store_found(old, it, request.how, request.cas);
  }
  drop_item(it);
  CRITICAL_SECTION(self->lock) {
    ++self->counts.sets;
    if (request.how == method::cas) {
      ++self->counts.cas;
      self->counts.cas_hits += result == outcome::stored;
      self->counts.cas_bad += result == outcome::exists;
    }
  }
  return result;
}

outcome remove(worker* self, const key& k) {
  item* found;
  ITEM_SECTION(k.hash) {
    found = find_live_item(k.hash, k.text, k.size);
    if (found != nullptr) unlink_item(found);
  }
  CRITICAL_SECTION(self->lock) {
    ++self->counts.deletes;
    self->counts.delete_hits += found != nullptr;
  }
  return found == nullptr ? outcome::not_found : outcome::deleted;
}

outcome touch(worker* self, const key& k, std::int64_t expires) {
  const u64 end = end_of(expires);
  item* found;
  ITEM_SECTION(k.hash) {
    found = find_live_item(k.hash, k.text, k.size);
    if (found != nullptr) {
      found->expires = end;
      use_item(found);
    }
  }
  CRITICAL_SECTION(self->lock) {
    ++self->counts.touches;
    self->counts.touch_hits += found != nullptr;
  }
  return found == nullptr ? outcome::not_found : outcome::touched;
}

outcome change(worker* self, const key& k, u64 amount, bool subtract, u64& result) {
  outcome ended;
  u64 number = 0;
  ITEM_SECTION(k.hash) {
    ended = outcome::not_found;
    item* const old = find_live_item(k.hash, k.text, k.size);
    if (old != nullptr) ended = change_item(old, amount, subtract, number);
  }
  result = number;
  const bool hit = ended != outcome::not_found;
  CRITICAL_SECTION(self->lock) {
    counters& counts = self->counts;
    ++(subtract ? counts.decrements : counts.increments);
    (subtract ? counts.decrement_hits : counts.increment_hits) += hit;
  }
  return ended;
}

void flush(worker* self, u64 delay) {
  CRITICAL_SECTION(cache.cache_lock) {
    if (delay == 0) write(cache.flushed_cas, cache.last_cas);
    else cache.flush_at = read(cache.now) + delay;
  }
  CRITICAL_SECTION(self->lock) { ++self->counts.flushes; }
}

void tick(u64 now) {
  CRITICAL_SECTION(cache.cache_lock) {
    write(cache.now, now);
    if (cache.flush_at != 0 && cache.flush_at <= now) {
      write(cache.flushed_cas, cache.last_cas);
      cache.flush_at = 0;
    }
  }
}

}  // namespace workloads::txcache
