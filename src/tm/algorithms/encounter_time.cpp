// encounter_time.cpp -- encounter-time locking: a store acquires the ownership record at once and
// writes in place.
//
// Source        Riegel, Fetzer & Felber, "Time-based transactional memory with scalable time
//               bases", SPAA 2007; Felber, Fetzer & Riegel, TinySTM, PPoPP 2008 (write-through);
//               GCC's ml_wt. How we deviate: a load looks at the clock again after it has read, so
//               that a transaction that is doomed never uses what another has made private.
// Reads         invisible; 2 loads of shared words and 8 B of log per record.
// Writes        undo log; 1 RMW per record. Commit: 1 RMW on the clock, 1 store per record.
// Conflicts     writers meet when they write; who finds a record owned waits for it, if it owns
//               none itself, else gives up.
// Privatization a commit waits for transactions that began before it and have written in place
//               (they may not have rolled back yet), and sleeps if that takes long. Readers are not
//               waited for.
//
// Invariants
//   I1  Memory under a record that nobody owns is committed; a record's version is the clock's
//       value of the commit that wrote last.
//   I2  All that a transaction has read is what memory held when the clock was its snapshot.
// Memory order (each tag stands at its site below)
//   [O]  RMW that owns a record, and a full fence, before the next look at the clock. Against [C]:
//        either the owner sees the new time there, or the one who commits sees `writing`.
//   [W]  store of `writing` before [O].
//   [C]  RMW of the clock, and a full fence, before the loads of `writing`. The fence also stands
//        before what the thread does to memory that it made private: who reads that sees the new
//        time with [V].
//   [A]  acquire load of a record or the clock -- synchronizes with [C] and orecs.h's [R].
//   [V]  acquire fence between a value and the second look at the clock.
//   [E]  release store of `seen` or `writing`: what the transaction did under the older snapshot,
//        or wrote and undid, happens-before the commit that has waited for it (quiescence.h).
//   [B]  relaxed store of `seen` as it begins: a commit that has to wait for this transaction sees
//        it behind [O]; of others, which see an older one, it finds the new time itself.
//   [G]  relaxed look at a record, or the value of a failed [O]: decides only whom to wait for, and
//        what [O] expects.
#include "tm/core/engine.h"
#include "tm/core/fences.h"
#include "tm/protocols/in_place.h"
#include "tm/protocols/orecs.h"
#include "tm/protocols/quiescence.h"

namespace syncopate::tm {
namespace {

struct encounter_time : in_place<encounter_time> {
  // Moves the snapshot to the present. Restarts where what was read is no longer valid.
  [[gnu::noinline]] static void extend(transaction* tx, cause why) {
    const u64 now = commits.now.load(std::memory_order_acquire);  // [A]
    if (!reads_are_valid(tx)) restart(tx, why);
    tx->snapshot = now;
    tx->seen.store(now, std::memory_order_release);  // [E]
    if (!tx->owned.empty()) ring_bell();
  }

  // The fast path calls nothing, so that it needs no stack frame: everything else is a tail call.
  template <class T>
  static T load(const T* at, transaction* tx) {
    orec& record = orec_of(reinterpret_cast<address>(at));
    const u64 seen = record.load(std::memory_order_acquire);  // [A]
    const T value = peek(at);
    std::atomic_thread_fence(std::memory_order_acquire);  // [V]
    if (__builtin_expect(is_owned(seen) || tx->read_orecs.is_full() || !is_aligned(at) ||
                             commits.now.load(std::memory_order_relaxed) != tx->snapshot ||  // [V]
                             record.load(std::memory_order_relaxed) != seen,                 // [V]
                         0))
      return load_slow(at, tx);
    if (!note_read_unchecked(tx, record, reinterpret_cast<address>(at))) restart(tx, cause::memory);
    return value;
  }

  template <class T>
  [[gnu::noinline]] static T load_slow(const T* at, transaction* tx) {
    if (__builtin_expect(!is_aligned(at), 0)) return load_pieces(at, tx);
    orec& record = orec_of(reinterpret_cast<address>(at));
    for (;;) {
      const u64 seen = record.load(std::memory_order_acquire);  // [A]
      if (__builtin_expect(is_owned(seen), 0)) {
        if (seen == owned_by(tx)) return peek(at);
        if (outlast(record, seen, tx)) continue;
        observer::loses(tx, reinterpret_cast<address>(at), owner_of(seen));
        restart(tx, cause::read_conflict);
      }
      const T value = peek(at);
      std::atomic_thread_fence(std::memory_order_acquire);  // [V]
      if (__builtin_expect(commits.now.load(std::memory_order_relaxed) != tx->snapshot,
                           0)) {  // [V]
        extend(tx, cause::read_conflict);
        continue;
      }
      if (__builtin_expect(record.load(std::memory_order_relaxed) != seen, 0)) continue;  // [V]
      if (__builtin_expect(!note_read(tx, record, reinterpret_cast<address>(at)), 0))
        restart(tx, cause::memory);
      return value;
    }
  }
  [[gnu::always_inline]] static void own(address a, transaction* tx) {
    orec& record = orec_of(a);
    const u64 seen = record.load(std::memory_order_relaxed);  // [G]
    if (seen == owned_by(tx)) return;
    observer::wants(tx, a);
    acquire(record, seen, tx);
  }
  // Waits for the owner of a record to give it up: less is lost than by beginning again. Returns
  // false after a long time, and at once where the transaction owns records itself: two would wait
  // for each other.
  [[gnu::noinline]] static bool outlast(const orec& record, u64 seen, const transaction* tx) {
    constexpr u64 longest = 2'000'000;  // nanoseconds
    if (!tx->owned.empty()) return false;
    const u64 began = machine::now();
    for (backoff p; record.load(std::memory_order_relaxed) == seen; p.wait())  // [G]
      if (p.is_over() && machine::now() - began > longest) return false;
    return true;
  }
  [[noreturn]] static void lose(u64 seen, transaction* tx) {
    observer::loses_wanted(tx, owner_of(seen));
    restart(tx, cause::write_conflict);
  }
  [[gnu::noinline]] static void acquire(orec& record, u64 seen, transaction* tx) {
    if (is_owned(seen)) {
      if (!outlast(record, seen, tx)) lose(seen, tx);
      return acquire(record, record.load(std::memory_order_relaxed), tx);  // [G]
    }
    tx->writing.store(true, std::memory_order_relaxed);  // [W]
    owned_orec* const entry = tx->owned.push();
    if (entry == nullptr) restart(tx, cause::memory);
    *entry = {&record, seen};
    if (!record.compare_exchange_strong(seen, owned_by(tx), std::memory_order_seq_cst,  // [O]
                                        std::memory_order_relaxed)) {                   // [G]
      tx->owned.pop();
      lose(seen, tx);
    }
    fence_after_rmw();  // [O]
    // Its version may be newer than the snapshot, and what was read before may be stale. The record
    // itself may have been read: then its version must not be.
    if (commits.now.load(std::memory_order_acquire) == tx->snapshot) return;  // [A]
    if (version_of(seen) > tx->snapshot && has_read(record, tx)) restart(tx, cause::write_conflict);
    extend(tx, cause::write_conflict);
  }
  static bool has_read(const orec& record, const transaction* tx) {
    for (orec* const& r : tx->read_orecs) {
      if (r != &record) continue;
      observer::loses_read(tx, static_cast<std::size_t>(&r - tx->read_orecs.begin()), nullptr);
      return true;
    }
    return false;
  }

  template <class T>
  static void store(T* at, T value, transaction* tx) {
    const address a = reinterpret_cast<address>(at);
    if (__builtin_expect(is_captured(tx, a), 0)) {
      if (!tx->checkpoints.empty() && !tx->undo.add_block(at, sizeof(T)))
        restart(tx, cause::memory);
      return poke(at, value);
    }
    if (__builtin_expect(!is_aligned(at), 0)) return store_pieces(at, value, tx);
    own(a, tx);
    if (__builtin_expect(!tx->undo.add(at, peek(at)), 0)) restart(tx, cause::memory);
    poke(at, value);
  }
  static u32 begin(transaction* tx) {
    tx->read_orecs.clear_to_first();
    tx->snapshot = commits.now.load(std::memory_order_acquire);  // [A]
    tx->seen.store(tx->snapshot, std::memory_order_relaxed);     // [B]
    return started;
  }

  static bool commit(transaction* tx) {
    if (tx->owned.empty()) return true;
    const u64 version = commits.now.fetch_add(1, std::memory_order_seq_cst) + 1;  // [C]
    fence_after_rmw();                                                            // [C]
    if (version != tx->snapshot + 1 && !reads_are_valid(tx)) return false;
    observer::publishes(tx);
    release_orecs(tx, version);
    tx->writing.store(false,
                      std::memory_order_release);  // [E] before waiting, which rings the bell
    wait_for_older(tx, version, true);
    return true;
  }

  static bool has_changed(const transaction* tx) { return records_have_changed(tx); }
  static void roll_back(transaction* tx) {
    if (!tx->owned.empty()) observer::publishes(tx);
    tx->undo.undo(0, tx->stack_begin - tx->stack_extent, tx->stack_begin);
    // With new versions: a load between a store and its undoing must find the record changed.
    if (!tx->owned.empty()) {
      release_orecs(tx, commits.now.fetch_add(1, std::memory_order_seq_cst) + 1);  // [C]
      tx->read_orecs.clear();  // what it read by owning is not there, so it says too little
    }
    if (!tx->writing.load(std::memory_order_relaxed)) return;  // [W]
    tx->writing.store(false, std::memory_order_release);       // [E]
    ring_bell();
  }
};

}  // namespace

extern const operations encounter_time_operations =
    make_operations<encounter_time>("encounter_time");

}  // namespace syncopate::tm
