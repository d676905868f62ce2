// hash_table.h -- a fixed number of buckets, each a list in order; each key once. It keeps no count
// of its elements: every two insertions would conflict on that.
#pragma once

#include "list.h"

namespace workloads::stamp {

template <class Key, class Value, class Hash, class Less = std::less<Key>>
class hash_table {
 public:
  using bucket = list<Key, Value, Less>;
  using node = typename bucket::node;

  // Rounds the number of buckets up to a power of two.
  explicit hash_table(std::size_t buckets) {
    while (mask_ + 1 < buckets) mask_ = 2 * mask_ + 1;
    buckets_ = new bucket[mask_ + 1];
  }
  ~hash_table() { delete[] buckets_; }
  hash_table(const hash_table&) = delete;
  hash_table& operator=(const hash_table&) = delete;

  [[nodiscard]] std::size_t buckets() const { return mask_ + 1; }
  [[nodiscard]] const bucket& at(std::size_t i) const { return buckets_[i]; }

  [[nodiscard]] node* find(Key key) const { return of(key).find(key); }
  // As list's.
  bool insert(Key key, Value value) { return of(key).insert(key, value); }
  bool erase(Key key) { return of(key).erase(key); }

 private:
  [[nodiscard]] bucket& of(Key key) const { return buckets_[Hash{}(key)&mask_]; }

  std::size_t mask_ = 0;
  bucket* buckets_;
};

}  // namespace workloads::stamp
