// address_index.h -- open-addressing index from (address, kind) to lock id.
//
// Stores ids only; keys are read from the entries. No tombstones: erasing moves later ones back.
// Not thread-safe.
//
// Invariants
//   I1  At most half of the slots are used, so that every search ends.
//   I2  No empty slot lies between an id's home slot and its slot.
#pragma once

#include "record/internal.h"

namespace syncopate::record {

class address_index {
 public:
  template <class Table>
  std::uint32_t find(std::uint64_t address, object_kind kind, const Table& entries) const noexcept {
    if (size_ == 0) return 0;
    for (std::uint32_t i = home(address, static_cast<std::uint8_t>(kind));; i = next(i)) {
      const std::uint32_t id = ids_[i];
      if (id == 0) return 0;
      const lock_entry& e = *entries.at(id);
      if (e.address == address && e.object == static_cast<std::uint8_t>(kind)) return id;
    }
  }

  // Makes sure that one more insert() keeps I1; false when there is no memory.
  template <class Table>
  [[nodiscard]] bool make_room(const Table& entries) noexcept {
    if (2 * (used_ + 1) <= size_) return true;
    const std::uint32_t old_size = size_;
    std::uint32_t* const old = ids_;
    const std::uint32_t size = old_size == 0 ? 1024 : 2 * old_size;
    auto* fresh = static_cast<std::uint32_t*>(sys::pages(size * sizeof *ids_));
    if (fresh == nullptr) return false;
    ids_ = fresh;
    size_ = size;
    used_ = 0;
    for (std::uint32_t i = 0; i < old_size; ++i)
      if (old[i] != 0) insert(old[i], entries);
    sys::free_pages(old, old_size * sizeof *ids_);
    return true;
  }

  // Requires: make_room() since the last insertion, or an erase() before it.
  template <class Table>
  void insert(std::uint32_t id, const Table& entries) noexcept {
    std::uint32_t i = home_of(id, entries);
    while (ids_[i] != 0) i = next(i);
    ids_[i] = id;
    ++used_;
  }

  // Takes the id out if it is there.
  template <class Table>
  void erase(std::uint32_t id, const Table& entries) noexcept {
    if (size_ == 0) return;
    std::uint32_t hole = home_of(id, entries);
    while (ids_[hole] != id) {
      if (ids_[hole] == 0) return;
      hole = next(hole);
    }
    --used_;
    for (std::uint32_t i = next(hole); ids_[i] != 0; i = next(i)) {
      // I2: the one at `i` may move into the hole if its home is not behind the hole.
      const std::uint32_t from_home = (i - home_of(ids_[i], entries)) & (size_ - 1);
      const std::uint32_t from_hole = (i - hole) & (size_ - 1);
      if (from_home < from_hole) continue;
      ids_[hole] = ids_[i];
      hole = i;
    }
    ids_[hole] = 0;
  }

  void forget() noexcept {
    sys::free_pages(ids_, size_ * sizeof *ids_);
    ids_ = nullptr;
    size_ = used_ = 0;
  }

 private:
  std::uint32_t home(std::uint64_t address, std::uint8_t kind) const noexcept {
    const std::uint64_t h = (address ^ std::uint64_t{kind} << 56) * 0x9e3779b97f4a7c15u;
    return static_cast<std::uint32_t>(h >> 32) & (size_ - 1);
  }
  template <class Table>
  std::uint32_t home_of(std::uint32_t id, const Table& entries) const noexcept {
    const lock_entry& e = *entries.at(id);
    return home(e.address, e.object);
  }
  std::uint32_t next(std::uint32_t i) const noexcept { return (i + 1) & (size_ - 1); }

  std::uint32_t* ids_ = nullptr;
  std::uint32_t size_ = 0, used_ = 0;  // size: a power of two, or 0
};

}  // namespace syncopate::record
