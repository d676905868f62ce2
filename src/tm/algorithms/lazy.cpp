// lazy.cpp -- redo log, ownership records acquired at commit, snapshots that are extended.
//
// Source        Spear, Dalessandro, Marathe & Scott, "A comprehensive strategy for contention
//               management in software transactional memory", PPoPP 2009 (lazy acquire, extendable
//               time stamps); privatization: Marathe, Spear & Scott, "Scalable techniques for
//               transparent privatization", ICPP 2008 (poll a counter on reads; finish in order).
// Reads         invisible; 2 loads of shared words and 8 B of log per record.
// Writes        redo log. Commit: 1 RMW + 1 store per record, 1 RMW + 1 store for the clock.
// Conflicts     found at the next read after another's commit, and at commit.
// Privatization a commit is over when those with earlier times have written back; a transaction
//               that is doomed finds the clock changed before it uses what it read.
//
// Invariants
//   I1  From the moment the clock says v, until completed says v, the records of commit v are
//   owned.
//   I2  All that a transaction has read is what commits up to its snapshot left.
//   I3  completed grows by ones: each commit that took a time ends it, also if it fails.
// Memory order (each tag stands at its site below)
//   [C]  RMW of the clock after the records are owned: who sees the new time finds them owned. The
//        fence behind it stands before all that is written later, also privately: who reads that
//        sees the new time with [V].
//   [V]  acquire fence between a value and the second look at the clock.
//   [A]  acquire load of a record or the clock.
//   [D]  seq_cst: two that end at a time each mark their own commit and then look at the other's;
//        one of them sees both marks. Acquire loads of completed synchronize with its RMW.
#include "tm/core/backoff.h"
#include "tm/core/fences.h"
#include "tm/protocols/orecs.h"
#include "tm/protocols/redo.h"

namespace syncopate::tm {
namespace {

// Commits that are over, by their times. Whoever ends a commit passes the turn on for all that are
// over: one that waits and is preempted holds nobody up.
constexpr u64 slots = 1024;
constinit std::atomic<u64> over[slots];

void end_commit(u64 version) noexcept {
  for (backoff p; version - commits.completed.load(std::memory_order_acquire) > slots;)
    p.wait();                                                                                // [D]
  over[version % slots].store(version, std::memory_order_seq_cst);                           // [D]
  u64 done = commits.completed.load(std::memory_order_seq_cst);                              // [D]
  while (over[(done + 1) % slots].load(std::memory_order_seq_cst) == done + 1)               // [D]
    if (commits.completed.compare_exchange_weak(done, done + 1, std::memory_order_seq_cst))  // [D]
      ++done;
  for (backoff p; commits.completed.load(std::memory_order_acquire) < version;) p.wait();  // [D]
}

struct lazy : redo<lazy> {
  [[gnu::noinline]] static void extend(transaction* tx) {
    const u64 now = commits.now.load(std::memory_order_acquire);  // [A]
    if (!reads_are_valid(tx)) restart(tx, cause::read_conflict);
    tx->snapshot = now;
  }

  // The fast path calls nothing; everything else is a tail call.
  template <class T>
  static T load(const T* at, transaction* tx) {
    if (!is_unwritten(at, tx)) return load_slow(at, tx);
    orec& record = orec_of(reinterpret_cast<address>(at));
    const u64 seen = record.load(std::memory_order_acquire);  // [A]
    const T value = peek(at);
    std::atomic_thread_fence(std::memory_order_acquire);                                 // [V]
    if (__builtin_expect(commits.now.load(std::memory_order_relaxed) != tx->snapshot ||  // [V]
                             is_owned(seen) || tx->read_orecs.is_full(),
                         0))
      return read_memory(at, tx);
    if (!note_read_unchecked(tx, record, reinterpret_cast<address>(at))) restart(tx, cause::memory);
    return value;
  }
  template <class T>
  static T load_for_write(const T* at, transaction* tx) {
    return load(at, tx);
  }
  template <class T>
  static T load_again(const T* at, transaction* tx) {
    return load(at, tx);
  }

  template <class T>
  [[gnu::noinline]] static T read_memory(const T* at, transaction* tx) {
    orec& record = orec_of(reinterpret_cast<address>(at));
    const u64 seen = record.load(std::memory_order_acquire);  // [A]
    T value = peek(at);
    std::atomic_thread_fence(std::memory_order_acquire);                                 // [V]
    if (__builtin_expect(commits.now.load(std::memory_order_relaxed) != tx->snapshot ||  // [V]
                             is_owned(seen),
                         0))
      value = read_slow(at, tx);
    if (__builtin_expect(!note_read(tx, record, reinterpret_cast<address>(at)), 0))
      restart(tx, cause::memory);
    return value;
  }
  template <class T>
  [[gnu::noinline]] static T read_slow(const T* at, transaction* tx) {
    orec& record = orec_of(reinterpret_cast<address>(at));
    for (backoff p;;) {
      if (commits.now.load(std::memory_order_acquire) != tx->snapshot) extend(tx);  // [A]
      const u64 seen = record.load(std::memory_order_acquire);                      // [A]
      if (is_owned(seen)) {
        p.wait();
        continue;
      }
      const T value = peek(at);
      std::atomic_thread_fence(std::memory_order_acquire);                            // [V]
      if (commits.now.load(std::memory_order_relaxed) == tx->snapshot) return value;  // [V]
    }
  }

  static u32 begin(transaction* tx) {
    forget(tx);
    tx->read_orecs.clear_to_first();
    tx->snapshot = commits.now.load(std::memory_order_acquire);  // [A]
    return started;
  }

  static bool commit(transaction* tx) {
    if (tx->writes.empty()) return keep_memory(tx), true;
    if (!own_writes(tx)) return false;
    const u64 version = commits.now.fetch_add(1, std::memory_order_seq_cst) + 1;  // [C]
    fence_after_rmw();                                                            // [C]
    const bool valid = version == tx->snapshot + 1 || reads_are_valid_at_commit(tx);
    if (valid) {
      observer::publishes(tx);
      tx->writes.write_back();
      release_orecs(tx, version);
      keep_memory(tx);
    } else {
      restore_orecs(tx);
    }
    end_commit(version);
    return valid;
  }

  static bool has_changed(const transaction* tx) { return records_have_changed(tx); }
  static void roll_back(transaction* tx) {
    restore_memory(tx);
    restore_orecs(tx);
  }
};

}  // namespace

extern const operations lazy_operations = make_operations<lazy>("lazy");

}  // namespace syncopate::tm
