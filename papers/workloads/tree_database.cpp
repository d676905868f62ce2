// tree_database.cpp -- an in-memory B+ tree under one lock, which random operations read and
// change.
//
// Source      Izraelevitz, Xiang & Scott, "Performance Improvement via Always-Abort HTM", section
//             IV-A.3, figure 10: Kyoto Cabinet's GrassDB, a B+ tree under one readers-writer lock,
//             and its own test with random operations, most of which write. Written anew from that
//             description. As there, the database counts its records, and keeps its leaves in order
//             of use, in 16 lists with a small lock each: every operation moves its leaf to the
//             front of one.
// An operation  sets (half), gets, or removes (a quarter each) a random key. --lock rwlock is what
//             the library has: gets share it.
// Deviations  Records are two numbers. Leaves that removals empty stay.
// Check       Keys are in order, as many as sets added and removals took, each with its value.
#include "common.h"
#include "presets.h"
#include "untracked.h"

#include <syncopate/locks/tatas_lock.h>

#include <array>
#include <shared_mutex>

namespace {
using namespace workloads;

constexpr std::uint32_t fanout = 32;

struct alignas(64) node {
  std::uint32_t count = 0;
  bool is_leaf = true;
  bool is_listed = false;  // among the leaves in order of use
  node *newer = nullptr, *older = nullptr;
  std::uint64_t keys[fanout];  // of an inner node: keys[i] <= all below child[i + 1]
  union {
    std::uint64_t values[fanout];
    node* child[fanout + 1];
  };
};

class tree {
 public:
  // Every other key below `keys`.
  explicit tree(std::uint64_t keys) { fill(keys); }
  ~tree() { clear(root_); }
  tree(const tree&) = delete;
  tree& operator=(const tree&) = delete;

  [[nodiscard]] const std::uint64_t* find(std::uint64_t key) {
    node* at = root_;
    while (!at->is_leaf) at = at->child[place(*at, key)];
    use(*at);
    const std::uint32_t i = rank(*at, key);
    return i < at->count && at->keys[i] == key ? &at->values[i] : nullptr;
  }

  // Returns whether the key is new.
  bool set(std::uint64_t key, std::uint64_t value) {
    if (root_->count == fanout) {
      node* const above = new node;
      above->is_leaf = false;
      above->child[0] = root_;
      root_ = above;
      split(*above, 0);
    }
    node* at = root_;
    while (!at->is_leaf) {
      std::uint32_t i = place(*at, key);
      if (at->child[i]->count == fanout) {
        split(*at, i);
        if (key >= at->keys[i]) ++i;
      }
      at = at->child[i];
    }
    use(*at);
    const std::uint32_t i = rank(*at, key);
    const bool is_new = i == at->count || at->keys[i] != key;
    if (is_new) {
      std::copy_backward(at->keys + i, at->keys + at->count, at->keys + at->count + 1);
      std::copy_backward(at->values + i, at->values + at->count, at->values + at->count + 1);
      ++at->count;
      ++count_;
    }
    at->keys[i] = key;
    at->values[i] = value;
    return is_new;
  }

  // Returns whether the key was there.
  bool remove(std::uint64_t key) {
    node* at = root_;
    while (!at->is_leaf) at = at->child[place(*at, key)];
    use(*at);
    const std::uint32_t i = rank(*at, key);
    if (i == at->count || at->keys[i] != key) return false;
    std::copy(at->keys + i + 1, at->keys + at->count, at->keys + i);
    std::copy(at->values + i + 1, at->values + at->count, at->values + i);
    --at->count;
    --count_;
    return true;
  }

  // How many keys there are; -1 where they are not in order, or not as many as were counted, or a
  // value is not its key's.
  [[nodiscard]] std::int64_t audit(std::uint64_t keys) const {
    std::int64_t sum = 0;
    std::uint64_t least = 0;
    return audit(*root_, keys, least, sum) && sum == count_ ? sum : -1;
  }

 private:
  struct alignas(128) use_list {
    syncopate::tatas_lock<> lock;
    node* newest = nullptr;
  };

  // Moves the leaf to the front of its list.
  void use(node& leaf) {
    use_list& list = lists_[reinterpret_cast<std::uintptr_t>(&leaf) / sizeof leaf % lists_.size()];
    const std::lock_guard hold(list.lock);
    if (list.newest == &leaf) return;
    if (leaf.is_listed) {  // not the newest, so there is a newer one
      leaf.newer->older = leaf.older;
      if (leaf.older != nullptr) leaf.older->newer = leaf.newer;
    }
    leaf.is_listed = true;
    leaf.newer = nullptr;
    leaf.older = list.newest;
    if (list.newest != nullptr) list.newest->newer = &leaf;
    list.newest = &leaf;
  }

  static std::uint32_t rank(const node& in, std::uint64_t key) {
    return static_cast<std::uint32_t>(std::lower_bound(in.keys, in.keys + in.count, key) - in.keys);
  }
  // The child below which the key belongs.
  static std::uint32_t place(const node& in, std::uint64_t key) {
    return static_cast<std::uint32_t>(std::upper_bound(in.keys, in.keys + in.count, key) - in.keys);
  }

  // Requires: `above` has room, its child is full.
  static void split(node& above, std::uint32_t i) {
    node *const left = above.child[i], *const right = new node;
    constexpr std::uint32_t half = fanout / 2;
    right->is_leaf = left->is_leaf;
    right->count = fanout - half - (left->is_leaf ? 0 : 1);
    const std::uint32_t from = fanout - right->count;
    std::copy(left->keys + from, left->keys + fanout, right->keys);
    if (left->is_leaf) std::copy(left->values + from, left->values + fanout, right->values);
    else std::copy(left->child + from, left->child + fanout + 1, right->child);
    left->count = half;
    std::copy_backward(above.keys + i, above.keys + above.count, above.keys + above.count + 1);
    std::copy_backward(above.child + i + 1, above.child + above.count + 1,
                       above.child + above.count + 2);
    above.keys[i] = left->keys[half];
    above.child[i + 1] = right;
    ++above.count;
  }

  // Level by level, nodes two thirds full.
  void fill(std::uint64_t keys) {
    constexpr std::uint64_t full = fanout * 2 / 3;
    const std::uint64_t records = (keys + 1) / 2;
    count_ = static_cast<std::int64_t>(records);
    std::vector<node*> level((records + full - 1) / full);
    for (node*& each : level) each = ::new node;
    fill_leaves(level.data(), level.size(), records, full);
    std::vector<std::uint64_t> least(level.size());
    for (std::size_t i = 0; i < level.size(); ++i) least[i] = 2 * i * full;
    while (level.size() > 1) {
      std::vector<node*> above((level.size() + full - 1) / full);
      std::vector<std::uint64_t> least_above(above.size());
      for (std::size_t i = 0; i < above.size(); ++i) {
        above[i] = ::new node;
        least_above[i] = least[i * full];
        fill_inner(*above[i], level.data() + i * full, least.data() + i * full,
                   std::min(full, level.size() - i * full));
      }
      level = std::move(above);
      least = std::move(least_above);
    }
    root_ = level.front();
  }
  WORKLOADS_UNTRACKED static void fill_leaves(node** leaves, std::size_t count,
                                              std::uint64_t records, std::uint64_t full) {
    for (std::size_t l = 0; l < count; ++l)
      for (std::uint64_t r = l * full; r < records && r < (l + 1) * full; ++r) {
        node* const leaf = leaves[l];
        leaf->keys[leaf->count] = 2 * r;
        leaf->values[leaf->count] = 2 * r;
        leaf->count = leaf->count + 1;
      }
  }
  WORKLOADS_UNTRACKED static void fill_inner(node& to, node* const* below,
                                             const std::uint64_t* least, std::uint64_t count) {
    to.is_leaf = false;
    to.count = static_cast<std::uint32_t>(count - 1);
    for (std::uint64_t i = 0; i < count; ++i) {
      to.child[i] = below[i];
      if (i > 0) to.keys[i - 1] = least[i];
    }
  }

  static bool audit(const node& in, std::uint64_t keys, std::uint64_t& least, std::int64_t& sum) {
    for (std::uint32_t i = 0; i < in.count + (in.is_leaf ? 0 : 1); ++i) {
      if (!in.is_leaf) {
        if (!audit(*in.child[i], keys, least, sum)) return false;
        continue;
      }
      if (in.keys[i] < least || in.values[i] % keys != in.keys[i]) return false;
      least = in.keys[i] + 1;
      ++sum;
    }
    return true;
  }
  static void clear(node* at) {
    if (!at->is_leaf)
      for (std::uint32_t i = 0; i <= at->count; ++i) clear(at->child[i]);
    delete at;
  }

  node* root_ = nullptr;
  alignas(64) std::int64_t count_ = 0;
  std::array<use_list, 16> lists_;
};

// A lock by its name, or a readers-writer lock.
class database_lock {
 public:
  explicit database_lock(const options& o) {
    if (o.text("lock") != "rwlock") one_ = make_lock(o);
  }
  void lock() { one_ ? one_->lock() : shared_.lock(); }
  void unlock() { one_ ? one_->unlock() : shared_.unlock(); }
  void lock_shared() { one_ ? one_->lock() : shared_.lock_shared(); }
  void unlock_shared() { one_ ? one_->unlock() : shared_.unlock_shared(); }

 private:
  std::unique_ptr<named_lock> one_;
  std::shared_mutex shared_;
};
}  // namespace

int main(int argc, char** argv) {
  const options o(argc, argv, "Threads read and change a B+ tree with one lock (Kyoto Cabinet).",
                  {{"lock", "rwlock", "rwlock, a lock of `syncopate list`, or pthread"},
                   threads_option,
                   {"keys", "100000", "keys are drawn from so many; half are there at first"},
                   tiny_preset_option(),
                   running_time.as_option(),
                   between_option,
                   pin_option,
                   seed_option});
  const std::uint64_t keys = o.number("keys", 2), microseconds = o.number("microseconds");
  const std::uint64_t seed = o.number("seed"), between = o.number("between");
  if (keys > 1u << 30) o.refuse("--keys needs 2 to 1073741824");
  database_lock lock(o);
  tree records(keys);
  const std::int64_t before = records.audit(keys);
  std::atomic<std::int64_t> net{0};
  std::atomic<bool> all_right{true};
  const outcome result = run_threads(o, [&](std::uint32_t me) {
    random_numbers random(seed, me);
    const std::uint64_t until = machine::now() + microseconds * 1000;
    std::uint64_t operations = 0;
    std::int64_t mine = 0;
    bool right = true;
    do {
      const std::uint64_t key = random.below(keys), dice = random.below(4);
      if (dice == 3) {
        const std::shared_lock held(lock);
        const std::uint64_t* const value = records.find(key);
        right = right && (value == nullptr || *value % keys == key);
      } else {
        bool changed = false;
        {
          const std::lock_guard held(lock);
          changed = dice == 2 ? records.remove(key) : records.set(key, operations * keys + key);
        }
        if (changed) mine += dice == 2 ? -1 : 1;
      }
      ++operations;
      compute(between);
    } while (machine::now() < until);
    net.fetch_add(mine, std::memory_order_relaxed);
    if (!right) all_right.store(false, std::memory_order_relaxed);
    return operations;
  });
  const std::int64_t after = records.audit(keys);
  const bool consistent = before >= 0 && after == before + net.load(std::memory_order_relaxed) &&
                          all_right.load(std::memory_order_relaxed);
  return report("tree_database", o, result, consistent,
                member("lock", o.text("lock")) + member("keys", keys));
}
