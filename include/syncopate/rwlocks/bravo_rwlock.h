// bravo_rwlock.h -- over any reader-writer lock: while no writer comes, readers write no common
// line.
//
// Source        Dice & Kogan, "BRAVO: Biased Locking for Reader-Writer Locks", USENIX ATC 2019,
//               listing 1. How we deviate: the table of visible readers has a row for each thread
//               number instead of a hash of thread and lock, so that unlock_shared() needs nothing
//               that lock_shared() has found; a thread whose number is beyond it, or whose place
//               another lock has, reads by the lock below. A read within a read is counted there:
//               below it would wait for the writer that waits for the outer one.
// Fairness      that of the lock below; a writer may have to wait for readers that came by the
//               table before it, and for nobody that came by it after.
// Space         16 B and the lock below, per lock; one table of 32 KB for all.
// Uncontended   by the table: shared lock 3 loads + 1 store + 1 fence; shared unlock 2 loads + 1
//               store; on lines of the thread's own and one that all only read. Exclusive: 1 load
//               more than below.
// Contended     a writer that ends the bias looks through the table once, and for inhibit_factor
//               times as long nobody may bring the bias back: it costs writers a tenth at most.
//
// Invariants
//   I1  biased_ is set only by a reader that holds the lock below shared, or by a try_lock() that
//       found a reader by the table, and holds the lock below.
//   I2  A reader by the table has put the lock into its place and then found biased_ set. A writer
//       holds the lock below, has cleared biased_, and then found every place without the lock:
//       of two that come at once, one sees the other (both by sequentially consistent accesses).
//   I3  Only the thread of a row writes its places; nested is 0 where lock is null. A number's
//       former thread happens-before the next: in libsyncopate, where a thread sanitizer sees it
//       only if that is built with one, too (CMakePresets.json: tsan); else it tells of a race
//       between a reader that has ended and a writer.
//
// Memory order (each tag stands at its site below)
//   [V]  seq_cst store of a place and load of biased_ by a reader, store of biased_ and load of
//        places by a writer: I2. The load that finds biased_ set also has what the last writer did:
//        it comes from the release store [B], which that writer happens-before.
//   [B]  release store of biased_ by a reader with the lock below: after the last writer.
//   [R]  release store of null to a place -- synchronizes with the writer's load [V].
//   [X]  relaxed: the thread's own places, and hints.
//
// Checked by    tests/check/bravo_check.cpp (explored), tests/simulated_engine/readers.cpp (readers
//               share no line; the cost of writers), tests/unit/costs/costs.cpp (what a call
//               costs).
#pragma once

#include <syncopate/lock.h>
#include <syncopate/machine.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace syncopate {

// Who reads which lock, by thread number. Zeros: nobody.
template <std::size_t Threads, std::size_t Places>
class visible_readers {
 public:
  struct place {
    std::atomic<const void*> lock;
    std::uint32_t nested;  // the thread's own: reads within the read
  };
  struct alignas(64) row {
    place places[Places];
  };
  static inline constinit row rows[Threads]{};

  // Where a thread shows that it reads a lock; null: nowhere.
  static place* place_of(const void* lock, unsigned thread) noexcept {
    if (thread >= Threads) return nullptr;
    const auto number = reinterpret_cast<std::uintptr_t>(lock) / 64;
    return &rows[thread].places[(number ^ number / Places) % Places];
  }
};

// A shared hold is released by the thread that took it.
template <RwLock Under, class Table = visible_readers<512, 4>>
class bravo_rwlock {
 public:
  // Exclusive. Blocks.
  void lock() noexcept {
    below_.lock();
    if (biased_.load(std::memory_order_relaxed) != 0) end_bias();  // [X] only set by readers below
  }
  // Returns whether the lock was free and is now held. Waits for nobody; looks through the table
  // where there is a bias, and fails while a reader is there.
  [[nodiscard]] bool try_lock() noexcept {
    if (!below_.try_lock()) return false;
    if (biased_.load(std::memory_order_relaxed) == 0) return true;  // [X]
    biased_.store(0, std::memory_order_seq_cst);                    // [V]
    for (const auto& row : Table::rows)
      for (const auto& place : row.places)
        if (place.lock.load(std::memory_order_seq_cst) == this) {  // [V]
          biased_.store(1, std::memory_order_release);             // [B] as it was
          below_.unlock();
          return false;
        }
    return true;
  }
  // Requires: the calling thread holds the lock exclusively.
  void unlock() noexcept { below_.unlock(); }

  // Shared.
  void lock_shared() noexcept {
    if (read_by_table()) return;
    below_.lock_shared();
    consider_bias();
  }
  [[nodiscard]] bool try_lock_shared() noexcept {
    if (read_by_table()) return true;
    if (!below_.try_lock_shared()) return false;
    consider_bias();
    return true;
  }
  // Requires: the calling thread holds the lock shared.
  void unlock_shared() noexcept {
    auto* const mine = Table::place_of(this, machine::thread_index());
    if (mine == nullptr || mine->lock.load(std::memory_order_relaxed) != this)  // [X] I3
      below_.unlock_shared();
    else if (mine->nested != 0) --mine->nested;
    else mine->lock.store(nullptr, std::memory_order_release);  // [R]
  }

  // Whether readers go by the table; a hint.
  [[nodiscard]] bool is_biased() const noexcept {
    return biased_.load(std::memory_order_relaxed) != 0;  // [X]
  }

 private:
  static constexpr std::uint64_t inhibit_factor = 9;  // the paper's N

  bool read_by_table() noexcept {
    auto* const mine = Table::place_of(this, machine::thread_index());
    if (mine == nullptr) return false;
    const void* const reads = mine->lock.load(std::memory_order_relaxed);  // [X] I3
    if (reads == this) return ++mine->nested, true;
    if (reads != nullptr || biased_.load(std::memory_order_relaxed) == 0)  // [X] looked at again
      return false;
    mine->lock.store(this, std::memory_order_seq_cst);              // [V]
    if (biased_.load(std::memory_order_seq_cst) != 0) return true;  // [V]
    mine->lock.store(nullptr, std::memory_order_release);           // [R]
    return false;
  }

  // Requires: held shared, by the lock below.
  void consider_bias() noexcept {
    if (biased_.load(std::memory_order_relaxed) == 0 &&  // [X]
        static_cast<std::int64_t>(machine::ticks() -
                                  inhibited_until_.load(std::memory_order_relaxed)) >= 0)  // [X]
      biased_.store(1, std::memory_order_release);                                         // [B]
  }

  [[gnu::noinline, gnu::cold]] void end_bias() noexcept {
    const std::uint64_t start = machine::ticks();
    biased_.store(0, std::memory_order_seq_cst);  // [V]
    for (const auto& row : Table::rows)
      for (const auto& place : row.places)
        machine::wait_until(place.lock, std::memory_order_seq_cst,  // [V]
                            [this](const void* lock) { return lock != this; });
    const std::uint64_t now = machine::ticks();
    inhibited_until_.store(now + inhibit_factor * (now - start), std::memory_order_relaxed);  // [X]
  }

  Under below_;
  std::atomic<std::uint32_t> biased_{0};
  std::atomic<std::uint64_t> inhibited_until_{0};
};

}  // namespace syncopate
