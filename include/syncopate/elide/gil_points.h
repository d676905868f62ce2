// gil_points.h -- the yield points of a runtime and what was learned about each.
//
// Invariants
//   I1  The table is read and written outside of transactions only: it is in no footprint, so that
//       learning aborts nobody.
//   I2  An entry's place, once taken, keeps its pc. So an index is good for ever.
//   I3  A lost update of an entry's state costs a little learning and nothing else: loads and
//       stores are whole words.
// Entries have cache lines of their own; threads count in records of their own (gil_record), which
// go into the entry in batches.
//
// Memory order (each tag stands at its site below)
//   [P]  relaxed load and CAS of an entry's pc: the address is all that it says (I2).
//   [L]  relaxed: an entry's state (I3).
//   [C]  relaxed RMW of count_: each change gets a place of its own. They are read when no thread
//        adds any more.
#pragma once

#include <syncopate/elide/gil_lengths.h>
#include <syncopate/machine.h>

#include <array>
#include <atomic>
#include <cstdint>

// What a thread counts of one yield point. In C's name space: a part of syncopate_gil_thread.
struct alignas(64) syncopate_gil_record {
  std::uint32_t begun = 0, lost = 0;  // not yet learned from (lengths::learn)
  std::uint64_t begins = 0;           // transactions, their repetitions not counted
  std::uint64_t fallbacks = 0;        // that ended under the lock
  std::uint32_t aborts[6] = {};       // by gil_abort
};

namespace syncopate::elide {

using gil_record = ::syncopate_gil_record;

// Why a transaction of the lock aborted.
enum class gil_abort : unsigned char {
  lock_held,
  conflict,
  capacity,
  needs_lock,
  explicit_,
  other
};
inline constexpr std::array<const char*, 6> gil_abort_names{"lock_held",  "conflict", "capacity",
                                                            "needs_lock", "explicit", "other"};

// Yield points beyond Size share the last entry.
template <std::uint32_t Size>
class gil_points {
 public:
  static constexpr std::uint32_t size = Size;
  static constexpr std::uint32_t program = Size;  // index: all that have no length of their own

  // The entry of the place, made at its first use. Lock-free.
  [[nodiscard]] std::uint32_t find(const void* pc) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(pc);
    const std::uint32_t start = static_cast<std::uint32_t>((address >> 2) * 2654435761u) >> 12;
    for (std::uint32_t probe = 0; probe < most_probes; ++probe) {
      const std::uint32_t index = (start + probe) % (size - 1);
      const void* there = entries_[index].pc.load(std::memory_order_relaxed);  // [P]
      if (there == nullptr &&
          entries_[index].pc.compare_exchange_strong(there, pc, std::memory_order_relaxed))  // [P]
        return index;
      if (there == pc) return index;
    }
    return size - 1;
  }

  [[nodiscard]] length_state state(std::uint32_t index) const noexcept {
    return lengths::unpack(entries_[index].state.load(std::memory_order_relaxed));  // [L]
  }
  void set_state(std::uint32_t index, length_state s) noexcept {
    entries_[index].state.store(lengths::pack(s), std::memory_order_relaxed);  // [L]
  }
  [[nodiscard]] const void* pc(std::uint32_t index) const noexcept {
    return entries_[index].pc.load(std::memory_order_relaxed);  // [P]
  }

  // What people call the place; empty: nobody has said. Requires: one thread at a time.
  [[nodiscard]] const char* name(std::uint32_t index) const noexcept {
    return entries_[index].name;
  }
  // name_of(pc, to, room) writes at most `room` bytes, a zero at the end; nothing: it has no name.
  template <class Name>
  void name_all(Name name_of) {
    for (entry& each : entries_)
      if (const void* const pc = each.pc.load(std::memory_order_relaxed))  // [P]
        name_of(pc, each.name, sizeof each.name);
  }

 private:
  static constexpr std::uint32_t most_probes = Size > 32 ? 32 : Size - 1;
  struct alignas(64) entry {
    std::atomic<const void*> pc{nullptr};
    std::atomic<std::uint64_t> state{0};  // lengths::pack
    char name[48] = {};
  };
  std::array<entry, size + 1> entries_{};
};

// The first changes of lengths, in about the order in which they were made.
template <std::uint32_t Room>
class gil_history {
 public:
  struct change {
    std::uint64_t when;  // ticks
    std::uint32_t point;
    std::uint32_t length;
  };
  static constexpr std::uint32_t room = Room;

  void add(const change& c) noexcept {
    if (count_.load(std::memory_order_relaxed) >= room) return;                  // [C]
    const std::uint32_t place = count_.fetch_add(1, std::memory_order_relaxed);  // [C]
    if (place < room) changes_[place] = c;
  }
  [[nodiscard]] std::uint32_t size() const noexcept {
    const std::uint32_t count = count_.load(std::memory_order_relaxed);  // [C]
    return count < room ? count : room;
  }
  [[nodiscard]] const change& operator[](std::uint32_t i) const noexcept { return changes_[i]; }

 private:
  std::atomic<std::uint32_t> count_{0};
  std::array<change, room> changes_{};
};

}  // namespace syncopate::elide
