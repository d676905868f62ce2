// table.h -- keys and values in shards. A key belongs to a bucket, a bucket lies in a shard; which,
// may change.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

class table {
 public:
  explicit table(std::size_t shards) : shards_(shards), shard_of_bucket_(buckets) {
    for (std::size_t bucket = 0; bucket < buckets; ++bucket)
      shard_of_bucket_[bucket] = bucket % shards;
  }

  // A key that is not there has the value 0.
  std::int64_t get(std::uint64_t key) {
    const std::shared_lock routes(routing_);
    shard& at = shard_of(key);
    const std::lock_guard hold(at.mutex);
    const auto found = at.values.find(key);
    return found == at.values.end() ? 0 : found->second;
  }

  // Returns the old value.
  std::int64_t put(std::uint64_t key, std::int64_t value) {
    const std::shared_lock routes(routing_);
    shard& at = shard_of(key);
    const std::lock_guard hold(at.mutex);
    return std::exchange(at.values[key], value);
  }

  // Returns the new value.
  std::int64_t add(std::uint64_t key, std::int64_t amount) {
    const std::shared_lock routes(routing_);
    shard& at = shard_of(key);
    const std::lock_guard hold(at.mutex);
    return at.values[key] += amount;
  }

  // Returns the new value of `from`.
  std::int64_t transfer(std::uint64_t from, std::uint64_t to, std::int64_t amount) {
    const std::shared_lock routes(routing_);
    shard &source = shard_of(from), &target = shard_of(to);
    std::unique_lock first(source.mutex, std::defer_lock), second(target.mutex, std::defer_lock);
    if (&source == &target) first.lock();
    else std::lock(first, second);
    target.values[to] += amount;
    return source.values[from] -= amount;
  }

  // Moves a whole bucket. Returns how many entries it had.
  std::int64_t move_bucket_of(std::uint64_t key, std::size_t shard_number) {
    const std::unique_lock routes(routing_);
    const std::size_t bucket = bucket_of(key);
    shard& source = shard_of(key);
    shard& target = shards_[shard_number % shards_.size()];
    if (&source == &target) return 0;
    std::int64_t moved = 0;
    for (auto each = source.values.begin(); each != source.values.end();) {
      if (bucket_of(each->first) != bucket) {
        ++each;
        continue;
      }
      target.values.insert(*each);
      each = source.values.erase(each);
      ++moved;
    }
    shard_of_bucket_[bucket] = shard_number % shards_.size();
    return moved;
  }

  // Calls visit(key, value) for all entries, in no order.
  template <class Visit>
  void for_each(Visit visit) {
    const std::unique_lock routes(routing_);
    for (const shard& each : shards_)
      for (const auto& [key, value] : each.values) visit(key, value);
  }

 private:
  static constexpr std::size_t buckets = 64;

  struct shard {
    std::mutex mutex;
    std::unordered_map<std::uint64_t, std::int64_t> values;
  };

  static std::size_t bucket_of(std::uint64_t key) {
    return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15u) >> 32) % buckets;
  }
  // Requires: the routes do not change meanwhile.
  shard& shard_of(std::uint64_t key) { return shards_[shard_of_bucket_[bucket_of(key)]]; }

  std::vector<shard> shards_;
  std::shared_mutex routing_;  // of shard_of_bucket_, and of which shard has which entries
  std::vector<std::size_t> shard_of_bucket_;
};
