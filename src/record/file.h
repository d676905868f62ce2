// file.h -- the record file: one shared mapping of a large fixed range; the file grows under it.
//
// Invariants
//   I1  Every byte below header->bytes_used has disk space reserved before anyone touches it: a
//       store to a page without space behind it raises SIGBUS in the recorded program.
//   I2  bytes_used is stored with release order after the new chunk's header is written.
//   I3  A descriptor is used only after fstat() has shown that it is still our file: programs close
//       and reuse descriptors that are not theirs.
//
// Memory order (each tag stands at its site below)
//   [H]  release store of the header when the file is mapped and its header filled, acquire load;
//        where recording stops, acq_rel.
//   [N]  release store of the count behind the item, acquire load: who reads the count finds the
//        item.
//   [G]  relaxed: under the table's lock.
//   [W]  relaxed: a number or a flag of the header that stands for itself, in a file that other
//        processes count in, too.
#pragma once

#include <cstddef>

#include "record/internal.h"

namespace syncopate::record {

// The header of the file in use; nullptr: none (before start, or in a fork's child until its first
// event). Acquire on read is not needed: whoever sees it non-null was ordered by start() or by the
// lock that open_record() runs under.
extern constinit std::atomic<file_header*> header;

inline constexpr std::size_t longest_path = 4096;

// `path` from the root, so that a chdir() of the program does not lose it; false when too long.
bool make_absolute(const char* path, char (&to)[longest_path]) noexcept;

// Creates the record at the absolute `path` or, if that exists, at path.PID, path.PID.1, ...; maps
// it and fills in the header. Returns 0 or an errno value.
int open_record(const char* path) noexcept;

// A new zeroed chunk of `bytes` (rounded up to 4,096) at the end of the file; nullptr when the file
// cannot grow any more (a flag in the header says why).
chunk_header* grow(chunk_kind, std::size_t bytes, std::uint32_t first) noexcept;

void set_flag(file_flag) noexcept;
// Stops the recording, since a lock of the recorder's own could not be had.
void give_up() noexcept;

// Lets go of the file without a further word in it, but for one: in the child of a fork.
void leave_file() noexcept;
// That word, once: whether the child has a file of its own. `error` is an errno value, 0 if it has.
void tell_parents_file(int error) noexcept;
// In a fork's child, until that: how many more there are that have no file.
void count_quiet_children(int more) noexcept;
// Removes a file that could not be begun.
void discard_record() noexcept;

inline std::size_t round_up(std::size_t bytes, std::size_t to) noexcept {
  return (bytes + to - 1) / to * to;
}

// Ids to items in chunks of growing size: `base` items in the first, twice as many in each
// following one until 32 * base. Readers need no lock; append() callers serialize themselves.
template <class Item, chunk_kind kind, std::uint32_t base, std::uint32_t limit>
class table {
 public:
  [[nodiscard]] std::uint32_t count() const noexcept {
    return count_.load(std::memory_order_acquire);  // [N]
  }
  // The item with this id, nullptr beyond the last one.
  [[nodiscard]] Item* at(std::uint32_t id) const noexcept {
    if (id >= count()) return nullptr;
    const place where = locate(id);
    return items(chunks_[where.chunk]) + where.index;
  }
  // Memory for the next item, not yet visible; nullptr when full or when the file cannot grow.
  [[nodiscard]] Item* reserve() noexcept {
    const std::uint32_t id = count_.load(std::memory_order_relaxed);  // [G]
    if (id >= limit) return nullptr;
    const place where = locate(id);
    if (chunks_[where.chunk] == nullptr)
      chunks_[where.chunk] = grow(kind, sizeof(chunk_header) + sizeof(Item) * where.capacity, id);
    if (chunks_[where.chunk] == nullptr) return nullptr;
    return items(chunks_[where.chunk]) + where.index;
  }
  // Makes the reserved item visible; returns its id.
  std::uint32_t append() noexcept {
    const std::uint32_t id = count_.load(std::memory_order_relaxed);  // [G]
    const place where = locate(id);
    publish(chunks_[where.chunk]->used, where.index + 1);
    count_.store(id + 1, std::memory_order_release);  // [N]
    return id;
  }
  void reset() noexcept {
    count_.store(0, std::memory_order_relaxed);  // [G]
    for (chunk_header*& chunk : chunks_) chunk = nullptr;
  }

 private:
  struct place {
    std::uint32_t chunk, index, capacity;
  };
  static constexpr std::uint32_t doublings = 5;
  static constexpr std::uint32_t largest = base << doublings;
  static constexpr std::uint32_t doubled = base * ((1u << doublings) - 1);

  static place locate(std::uint32_t id) noexcept {
    if (id >= doubled) {
      const std::uint32_t rest = id - doubled;
      return {doublings + rest / largest, rest % largest, largest};
    }
    const std::uint32_t k = 31u - static_cast<std::uint32_t>(__builtin_clz(id / base + 1));
    return {k, id - base * ((1u << k) - 1), base << k};
  }
  static Item* items(chunk_header* chunk) noexcept { return reinterpret_cast<Item*>(chunk + 1); }

  std::atomic<std::uint32_t> count_{0};
  chunk_header* chunks_[doublings + limit / largest + 1] = {};
};

}  // namespace syncopate::record
