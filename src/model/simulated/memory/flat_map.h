// flat_map.h -- open-addressing hash map from 64-bit keys to small values.
//
// Linear probing; erasing shifts the following entries back, so that there are no tombstones. The
// order of iteration depends on the keys alone, never on addresses of the simulator's own memory.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace syncopate::simulated {

template <class Value>
class flat_map {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  const Value* find(std::uint64_t key) const { return const_cast<flat_map*>(this)->find(key); }
  Value* find(std::uint64_t key) {
    if (size_ == 0) return nullptr;
    for (std::size_t at = home(key);; at = next(at)) {
      if (!slots_[at].used) return nullptr;
      if (slots_[at].key == key) return &slots_[at].value;
    }
  }

  // The key's value, new and value-initialized if it was absent. Invalidates pointers.
  Value& operator[](std::uint64_t key) {
    if ((size_ + 1) * 2 > slots_.size()) grow();
    std::size_t at = home(key);
    while (slots_[at].used && slots_[at].key != key) at = next(at);
    if (!slots_[at].used) {
      slots_[at] = {key, Value{}, true};
      ++size_;
    }
    return slots_[at].value;
  }

  bool erase(std::uint64_t key) {
    Value* found = find(key);
    if (!found) return false;
    std::size_t hole = home(key);
    while (slots_[hole].key != key || !slots_[hole].used) hole = next(hole);
    for (std::size_t at = next(hole); slots_[at].used; at = next(at)) {
      // An entry may fill the hole unless its home lies cyclically in (hole, at].
      const std::size_t from_home = (at - home(slots_[at].key)) & (slots_.size() - 1);
      const std::size_t from_hole = (at - hole) & (slots_.size() - 1);
      if (from_home < from_hole) continue;
      slots_[hole] = std::move(slots_[at]);
      hole = at;
    }
    slots_[hole] = {};
    --size_;
    return true;
  }

  void clear() {
    slots_.clear();
    size_ = 0;
  }

 private:
  struct slot {
    std::uint64_t key = 0;
    Value value{};
    bool used = false;
  };

  std::size_t home(std::uint64_t key) const {
    key ^= key >> 32;
    key *= 0x9e3779b97f4a7c15u;  // 2^64 / golden ratio: neighboring keys spread evenly
    return (key >> 20) & (slots_.size() - 1);
  }
  std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }

  void grow() {
    std::vector<slot> old = std::move(slots_);
    slots_ = std::vector<slot>(old.empty() ? 16 : old.size() * 2);
    for (slot& from : old) {
      if (!from.used) continue;
      std::size_t at = home(from.key);
      while (slots_[at].used) at = next(at);
      slots_[at] = std::move(from);
    }
  }

  std::vector<slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace syncopate::simulated
