// coarse_cache.cpp -- a cache of keys and values with one lock around all of it, as memcached had
// until version 1.4.5: clients' requests without the network.
//
// Source      Izraelevitz, Xiang & Scott, "Performance Improvement via Always-Abort HTM", section
//             IV-A.2, figure 9: memcached 1.4.5, whose cache_lock protects hash table and list of
//             recent use; keys of 8 bytes, uniformly distributed, values of 128 bytes. Written anew
//             from that description.
// A get       finds the item and holds on to it (a section); copies its value; lets go (a section).
// A set       looks for an expired item among the 50 least recently used, and takes a free one (a
//             section); fills it; puts it in the place of the old one, at the front of the list of
//             recent use, with the next version number, and frees the old one (a section); lets go
//             (a section). Within these, a second lock protects the free items, and a third the
//             statistics: items and bytes now, and items ever.
// Deviations  All keys are there from the start, and nothing expires. --work stands for the network
//             and the parsing of a request.
// Check       Every key is found once, with the value that its last set wrote; the list holds all
//             items, none of which anybody holds on to; each set has had its version number.
#include "common.h"
#include "presets.h"
#include "untracked.h"

#include <cstdlib>
#include <cstring>

namespace {
using namespace workloads;

constexpr std::uint32_t none = ~0u;
constexpr int looked_through = 50;  // for an expired item, by each set
constexpr std::uint32_t now = 1;    // in the seconds of expires

struct alignas(64) item {
  std::uint64_t key;
  std::uint32_t next;          // in its bucket, or of the free ones
  std::uint32_t newer, older;  // in order of use
  std::uint32_t holders;
  std::uint32_t expires;  // 0: never
  std::uint64_t version;
  std::uint64_t value[16];  // all the same
};

template <class T>
using block = std::unique_ptr<T[], decltype(&std::free)>;

// What is locked inside of a section of the cache.
struct alignas(128) inner_lock {
  explicit inner_lock(const options& o) : lock(make_lock(o)) {}
  std::unique_ptr<named_lock> lock;
};

struct free_items : inner_lock {
  using inner_lock::inner_lock;
  std::uint32_t first = none;
};

struct statistics : inner_lock {
  using inner_lock::inner_lock;
  std::uint64_t items = 0, bytes = 0, items_ever = 0;
};

// Not even zeroed by what machines see.
template <class T>
block<T> make_block(std::size_t count) {
  auto* const at = static_cast<T*>(std::aligned_alloc(64, (count * sizeof(T) + 63) / 64 * 64));
  if (at == nullptr) throw std::bad_alloc();
  return {at, &std::free};
}

class cache {
 public:
  // Values are the keys at first. Some more items than keys are free.
  cache(const options& o, std::uint32_t keys, std::uint32_t spare)
      : keys_(keys),
        items_(make_block<item>(keys + spare)),
        buckets_(make_block<std::uint32_t>(keys)),
        free_(o),
        counts_(o) {
    fill(items_.get(), buckets_.get(), keys, spare);
    free_.first = keys;
    newest_ = keys - 1;
    oldest_ = 0;
  }

  [[nodiscard]] std::uint32_t find(std::uint64_t key) const {
    std::uint32_t at = buckets_[bucket(key, keys_)];
    while (at != none && items_[at].key != key) at = items_[at].next;
    return at;
  }
  // Whether an item has expired among those that a set looks through: it would be used again.
  [[nodiscard]] bool any_expired(std::uint32_t now) const {
    std::uint32_t at = oldest_;
    for (int left = looked_through; left > 0 && at != none; --left, at = items_[at].newer)
      if (items_[at].holders == 0 && items_[at].expires != 0 && items_[at].expires < now)
        return true;
    return false;
  }
  // Returns an item of nobody's; none where there is none.
  std::uint32_t take() {
    const std::lock_guard hold(*free_.lock);
    const std::uint32_t taken = free_.first;
    if (taken != none) free_.first = items_[taken].next;
    return taken;
  }
  void give(std::uint32_t at) {
    const std::lock_guard hold(*free_.lock);
    items_[at].next = free_.first;
    free_.first = at;
  }
  void hold(std::uint32_t at) { ++items_[at].holders; }
  // The last one to let go of an item that was replaced frees it.
  void let_go(std::uint32_t at) {
    if (--items_[at].holders == 0 && items_[at].newer == replaced) give(at);
  }
  // Requires: an item with its key is in the table.
  void replace_by(std::uint32_t fresh) {
    std::uint32_t* link = &buckets_[bucket(items_[fresh].key, keys_)];
    while (items_[*link].key != items_[fresh].key) link = &items_[*link].next;
    const std::uint32_t old = *link;
    count(-1);
    items_[fresh].next = items_[old].next;
    *link = fresh;
    unlink(old);
    items_[old].newer = replaced;
    if (items_[old].holders == 0) give(old);
    count(1);
    items_[fresh].version = ++version_;
    items_[fresh].older = newest_;
    items_[fresh].newer = none;
    if (newest_ != none) items_[newest_].newer = fresh;
    else oldest_ = fresh;
    newest_ = fresh;
  }
  item& at(std::uint32_t i) { return items_[i]; }

  // `sets`: how many there were.
  [[nodiscard]] bool is_whole(std::uint64_t sets) const {
    if (counts_.items != 0 || counts_.bytes != 0 || counts_.items_ever != sets || version_ != sets)
      return false;
    std::vector<bool> seen(keys_);
    std::uint32_t listed = 0;
    for (std::uint32_t i = newest_; i != none && listed <= keys_; i = items_[i].older, ++listed) {
      const item& each = items_[i];
      if (each.key >= keys_ || seen[each.key] || find(each.key) != i || each.holders != 0)
        return false;
      seen[each.key] = true;
      for (const std::uint64_t part : each.value)
        if (part != each.value[0] || part % keys_ != each.key) return false;
    }
    return listed == keys_;
  }

 private:
  static constexpr std::uint32_t replaced = none - 1;

  static std::uint32_t bucket(std::uint64_t key, std::uint32_t buckets) {
    return static_cast<std::uint32_t>((key * 0x9e3779b97f4a7c15u >> 32) * buckets >> 32);
  }

  WORKLOADS_UNTRACKED static void fill(item* items, std::uint32_t* buckets, std::uint32_t keys,
                                       std::uint32_t spare) {
    for (std::uint32_t b = 0; b < keys; ++b) buckets[b] = none;
    for (std::uint32_t i = 0; i < keys + spare; ++i) {
      items[i].key = i;
      items[i].holders = items[i].expires = 0;
      items[i].version = 0;
      items[i].older = i == 0 ? none : i - 1;
      items[i].newer = i + 1 < keys ? i + 1 : none;
      for (std::uint64_t& part : items[i].value) part = i;
      if (i >= keys) {
        items[i].next = i + 1 < keys + spare ? i + 1 : none;
        continue;
      }
      const auto b = static_cast<std::uint32_t>((i * 0x9e3779b97f4a7c15u >> 32) * keys >> 32);
      items[i].next = buckets[b];
      buckets[b] = i;
    }
  }

  void unlink(std::uint32_t old) {
    const std::uint32_t newer = items_[old].newer, older = items_[old].older;
    if (newer != none) items_[newer].older = older;
    else newest_ = older;
    if (older != none) items_[older].newer = newer;
    else oldest_ = newer;
  }

  // `change`: how many items more.
  void count(std::int64_t change) {
    const std::lock_guard hold(*counts_.lock);
    counts_.items += static_cast<std::uint64_t>(change);
    counts_.bytes += static_cast<std::uint64_t>(change) * sizeof(item);
    if (change > 0) ++counts_.items_ever;
  }

  const std::uint32_t keys_;
  block<item> items_;
  block<std::uint32_t> buckets_;
  free_items free_;
  statistics counts_;
  alignas(64) std::uint32_t newest_ = none, oldest_ = none;
  alignas(64) std::uint64_t version_ = 0;
};

class client {
 public:
  client(cache& all, named_lock& lock, std::uint32_t keys, std::uint32_t me)
      : all_(all), lock_(lock), keys_(keys), me_(me) {}

  // Returns whether the value belongs to the key.
  bool get(std::uint64_t key) {
    lock_.lock();
    const std::uint32_t found = all_.find(key);
    all_.hold(found);
    lock_.unlock();
    const item& it = all_.at(found);
    bool right = it.key == key;
    for (const std::uint64_t part : it.value) right = right && part % keys_ == key;
    let_go(found);
    return right;
  }

  // Returns false when an item has expired, which none does.
  bool set(std::uint64_t key) {
    lock_.lock();
    const bool expired = all_.any_expired(now);
    const std::uint32_t fresh = all_.take();
    lock_.unlock();
    if (fresh == none) return !expired;  // others hold all that are spare
    item& it = all_.at(fresh);
    it.key = key;
    it.holders = 1;
    it.expires = 0;
    const std::uint64_t value = (++sets_ * 4096 + me_) * keys_ + key;
    for (std::uint64_t& part : it.value) part = value;
    lock_.lock();
    all_.replace_by(fresh);
    lock_.unlock();
    let_go(fresh);
    return !expired;
  }

  [[nodiscard]] std::uint64_t sets() const { return sets_; }

 private:
  void let_go(std::uint32_t item) {
    lock_.lock();
    all_.let_go(item);
    lock_.unlock();
  }

  cache& all_;
  named_lock& lock_;
  const std::uint32_t keys_, me_;
  std::uint64_t sets_ = 0;
};
}  // namespace

int main(int argc, char** argv) {
  const options o(argc, argv,
                  "Threads get and set values of a cache with one lock (memcached 1.4.5).",
                  {{"lock", "auto", "a lock of `syncopate list`, or pthread"},
                   threads_option,
                   {"keys", "100000", "all present; 256 bytes each"},
                   {"sets", "10", "percent of requests that write"},
                   {"work", "2000", "nanoseconds of a request outside of the cache"},
                   tiny_preset_option(),
                   running_time.as_option(),
                   pin_option,
                   seed_option});
  const std::uint64_t keys = o.number("keys", 1), sets = o.number("sets");
  const std::uint64_t microseconds = o.number("microseconds"), work = o.number("work");
  const std::uint64_t seed = o.number("seed"), threads = o.number("threads", 1);
  if (sets > 100) o.refuse("--sets is in percent");
  if (keys > 1u << 28) o.refuse("--keys needs 1 to 268435456");
  const auto lock = make_lock(o);
  cache all(o, static_cast<std::uint32_t>(keys), static_cast<std::uint32_t>(4 * threads));
  std::atomic<bool> all_right{true};
  std::atomic<std::uint64_t> all_sets{0};
  const outcome result = run_threads(o, [&](std::uint32_t me) {
    random_numbers random(seed, me);
    client mine(all, *lock, static_cast<std::uint32_t>(keys), me);
    const std::uint64_t until = machine::now() + microseconds * 1000;
    std::uint64_t requests = 0;
    bool right = true;
    do {
      const std::uint64_t key = random.below(keys);
      right = (random.below(100) < sets ? mine.set(key) : mine.get(key)) && right;
      compute(work);
      ++requests;
    } while (machine::now() < until);
    if (!right) all_right.store(false, std::memory_order_relaxed);
    all_sets.fetch_add(mine.sets(), std::memory_order_relaxed);
    return requests;
  });
  return report("coarse_cache", o, result,
                all_right.load(std::memory_order_relaxed) &&
                    all.is_whole(all_sets.load(std::memory_order_relaxed)),
                member("lock", o.text("lock")) + member("keys", keys) + member("sets", sets));
}
