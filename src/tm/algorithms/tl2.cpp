// tl2.cpp -- Transactional Locking II: a fixed snapshot, redo log, ownership records acquired at
// commit.
//
// Source        Dice, Shalev & Shavit, "Transactional Locking II", DISC 2006. How we deviate:
//               privatization, which TL2 leaves to the program.
// Reads         invisible; 2 loads of the record; 8 B of log, none in transactions that the
//               compiler knows to be read-only.
// Writes        redo log. Commit: 1 RMW + 1 store per record, 1 RMW on the clock.
// Conflicts     whatever is newer than the snapshot, also where it would not matter.
// Privatization a commit that wrote waits for all transactions that began before it, and sleeps if
//               that takes long.
//
// Memory order (each tag stands at its site below)
//   [B]  store of the snapshot, full fence, second look at the clock -- against [C] and the loads
//        of snapshots behind it: a commit that this transaction's snapshot does not have waits for
//        it.
//   [C]  RMW of the clock after the records are owned, full fence, loads of active and snapshots.
//   [A]  acquire load of a record -- synchronizes with its release.
//   [V]  acquire fence between a value and the second look at its record.
//   [E]  release store of `seen`: the end of what the transaction read happens-before the commit
//        that has waited for it (quiescence.h).
#include "tm/core/fences.h"
#include "tm/protocols/orecs.h"
#include "tm/protocols/quiescence.h"
#include "tm/protocols/redo.h"

namespace syncopate::tm {
namespace {

struct tl2 : redo<tl2> {
  // The fast path calls nothing, so that it needs no stack frame: everything else is a tail call.
  template <class T>
  static T load(const T* at, transaction* tx) {
    if (!is_unwritten(at, tx)) return load_slow(at, tx);
    orec& record = orec_of(reinterpret_cast<address>(at));
    const u64 seen = record.load(std::memory_order_acquire);  // [A]
    const T value = peek(at);
    std::atomic_thread_fence(std::memory_order_acquire);  // [V]
    if (__builtin_expect(is_owned(seen) || version_of(seen) > tx->snapshot ||
                             tx->read_orecs.is_full() ||
                             record.load(std::memory_order_relaxed) != seen,  // [V]
                         0))
      return read_memory(at, tx);
    if ((tx->properties & read_only) == 0 &&
        !note_read_unchecked(tx, record, reinterpret_cast<address>(at)))
      restart(tx, cause::memory);
    return value;
  }

  template <class T>
  [[gnu::noinline]] static T read_memory(const T* at, transaction* tx) {
    orec& record = orec_of(reinterpret_cast<address>(at));
    const u64 seen = record.load(std::memory_order_acquire);  // [A]
    const T value = peek(at);
    std::atomic_thread_fence(std::memory_order_acquire);  // [V]
    if (__builtin_expect(is_owned(seen) || version_of(seen) > tx->snapshot ||
                             record.load(std::memory_order_relaxed) != seen,  // [V]
                         0)) {
      observer::loses(tx, reinterpret_cast<address>(at), owner_of(seen));
      restart(tx, cause::read_conflict);
    }
    if ((tx->properties & read_only) == 0 &&
        __builtin_expect(!note_read(tx, record, reinterpret_cast<address>(at)), 0))
      restart(tx, cause::memory);
    return value;
  }

  static u32 begin(transaction* tx) {
    forget(tx);
    tx->read_orecs.clear_to_first();
    do {
      tx->snapshot = commits.now.load(std::memory_order_acquire);           // [A]
      tx->seen.exchange(tx->snapshot, std::memory_order_seq_cst);           // [B]
      fence_after_rmw();                                                    // [B]
    } while (commits.now.load(std::memory_order_seq_cst) != tx->snapshot);  // [B]
    return started;
  }

  static bool commit(transaction* tx) {
    if (tx->writes.empty()) return keep_memory(tx), stop_being_older(tx), true;
    if (!own_writes(tx)) return false;
    const u64 version = commits.now.fetch_add(1, std::memory_order_seq_cst) + 1;  // [C]
    fence_after_rmw();                                                            // [C]
    if (version != tx->snapshot + 1 && !reads_are_valid_at_commit(tx)) return false;
    observer::publishes(tx);
    tx->writes.write_back();
    release_orecs(tx, version);
    keep_memory(tx);  // before waiting: others may wait for that
    wait_for_older(tx, version, false);
    return true;
  }

  static bool has_changed(const transaction* tx) {
    return (tx->properties & read_only) != 0 || records_have_changed(tx);
  }
  static void roll_back(transaction* tx) {
    restore_memory(tx);
    restore_orecs(tx);
    stop_being_older(tx);
  }
  static void stop_being_older(transaction* tx) {
    tx->seen.store(~u64{0}, std::memory_order_release);  // [E]
    ring_bell();
  }
};

}  // namespace

extern const operations tl2_operations = make_operations<tl2>("tl2");

}  // namespace syncopate::tm
