// orecs.h -- ownership records: for every 32 bytes of memory, one word that says who is writing
// them, or when they were written last; and the clock that those times come from.
//
// State of a record
//   version * 2       free; the bytes were last written by the commit that the clock numbered so
//   transaction | 1   owned
//
// Memory order (each tag stands at its site below)
//   [O]  seq_cst RMW that owns a record.
//   [R]  release store that gives it up -- synchronizes with the algorithms' acquire loads of
//        records: what was written in place, or back, happens-before who finds the record free.
//   [V]  relaxed: the algorithm has looked at the clock, with acquire, or has a fence before.
//   [G]  relaxed look at a record, or the value of a failed [O]: decides only what [O] expects, and
//        whom it lost to.
#pragma once

#include "tm/core/regime.h"
#include "tm_tables.h"

namespace syncopate::tm {

using orec = std::atomic<u64>;

inline constexpr unsigned stripe_shift = 5;

extern constinit orec orecs[record_count];
struct alignas(64) commit_clock {
  std::atomic<u64> now{0};
  alignas(64) std::atomic<u64> completed{0};  // for algorithms that finish in the clock's order
};
extern constinit commit_clock commits;

// Neighboring bytes have neighboring records. What is 32 MiB apart would share one: heaps of
// threads, which lie 64 MiB apart and look alike, are moved against each other by the upper bits.
[[nodiscard, gnu::always_inline]] inline orec& orec_of(address a) noexcept {
  return orecs[((a >> stripe_shift) + (a >> 25) * 0x2545f) & (record_count - 1)];
}

[[nodiscard]] inline bool is_owned(u64 seen) noexcept { return (seen & 1) != 0; }
[[nodiscard]] inline const transaction* owner_of(u64 seen) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the record's word is a number or a pointer
  return is_owned(seen) ? reinterpret_cast<const transaction*>(seen - 1) : nullptr;
}
[[nodiscard]] inline u64 owned_by(const transaction* tx) noexcept {
  return reinterpret_cast<address>(tx) | 1;
}
[[nodiscard]] inline u64 version_of(u64 seen) noexcept { return seen >> 1; }

// Who watches keeps an address for each entry.
[[nodiscard]] inline bool make_room_for_read(transaction* tx) noexcept {
  if constexpr (observer::watches) return tx->read_orecs.grow(1);
  return tx->read_twice.make_room(
      tx->read_orecs, [](const orec* record) { return reinterpret_cast<address>(record); });
}

// Enters a record, for the address `a` under it, in the read log, unless it was the last to be
// entered. Returns false when there is no memory.
[[nodiscard, gnu::always_inline]] inline bool note_read(transaction* tx, orec& record,
                                                        address a) noexcept {
  auto& log = tx->read_orecs;
  if (!log.empty() && log.back() == &record) return true;
  if (log.is_full() && __builtin_expect(!make_room_for_read(tx), 0)) return false;
  log.push_unchecked(&record);
  return observer::reads(tx, a);
}

// The same. Requires: the log is not full. Calls nothing (where nobody watches), for loads without
// a stack frame.
[[nodiscard, gnu::always_inline]] inline bool note_read_unchecked(transaction* tx, orec& record,
                                                                  address a) noexcept {
  auto& log = tx->read_orecs;
  if (!log.empty() && log.back() == &record) return true;
  log.push_unchecked(&record);
  return observer::reads(tx, a);
}

// Whether nobody has written what the transaction read, since its snapshot.
[[nodiscard]] inline bool reads_are_valid(const transaction* tx) noexcept {
  for (orec* const& record : tx->read_orecs) {
    const u64 seen = record->load(std::memory_order_relaxed);  // [V]
    // Owned by this transaction: it was checked against the snapshot when it was acquired.
    if (is_owned(seen) ? seen != owned_by(tx) : version_of(seen) > tx->snapshot) {
      observer::loses_read(tx, static_cast<std::size_t>(&record - tx->read_orecs.begin()),
                           owner_of(seen));
      return false;
    }
  }
  return true;
}

// What algorithms with records know of a transaction that waits (operations.h). Hardware
// transactions leave no trace in records.
[[nodiscard]] inline bool records_have_changed(const transaction* tx) noexcept {
  return now.prefers_hardware() || tx->read_orecs.empty() || !reads_are_valid(tx);
}

// Owns the records of all words in the redo log. Returns false where another transaction owns one,
// or there is no memory; those owned so far are in tx->owned.
[[nodiscard]] inline bool own_writes(transaction* tx) noexcept {
  for (const redo_entry& e : tx->writes) {
    orec& record = orec_of(e.word);
    u64 seen = record.load(std::memory_order_relaxed);  // [G]
    if (seen == owned_by(tx)) continue;
    observer::wants(tx, e.word);
    if (is_owned(seen)) {
      observer::loses_wanted(tx, owner_of(seen));
      return false;
    }
    owned_orec* const entry = tx->owned.push();
    if (entry == nullptr) return false;
    *entry = {&record, seen};
    if (!record.compare_exchange_strong(seen, owned_by(tx), std::memory_order_seq_cst,  // [O]
                                        std::memory_order_relaxed)) {                   // [G]
      tx->owned.pop();
      observer::loses_wanted(tx, owner_of(seen));
      return false;
    }
  }
  return true;
}

// As reads_are_valid(), for a transaction that owns its records since its commit began: those that
// it owns now may have been written by others since they were read.
[[nodiscard]] inline bool reads_are_valid_at_commit(const transaction* tx) noexcept {
  if (!reads_are_valid(tx)) return false;
  for (const owned_orec& o : tx->owned) {
    if (version_of(o.before) <= tx->snapshot) continue;
    for (orec* const& record : tx->read_orecs) {
      if (record != o.record) continue;
      observer::loses_read(tx, static_cast<std::size_t>(&record - tx->read_orecs.begin()), nullptr);
      return false;
    }
  }
  return true;
}

inline void release_orecs(transaction* tx, u64 version) noexcept {
  for (const owned_orec& o : tx->owned)
    o.record->store(version << 1, std::memory_order_release);  // [R]
  tx->owned.clear();
}
inline void restore_orecs(transaction* tx) noexcept {
  for (const owned_orec& o : tx->owned)
    o.record->store(o.before, std::memory_order_release);  // [R]
  tx->owned.clear();
}

}  // namespace syncopate::tm
