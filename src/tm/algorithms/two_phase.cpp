// two_phase.cpp -- two-phase locking with reader-writer locks; nobody starves.
//
// Source        Ramalhete, Correia & Felber, "2PLSF: two-phase locking with starvation-freedom",
//               PPoPP 2023. How we deviate: a lock and its readers are one word, which has room for
//               56 threads; transactions of further threads run alone.
// Reads         visible: 1 RMW per lock; no validation, ever.
// Writes        undo log; 1 RMW per lock. Commit: 1 RMW per lock held, no shared clock.
// Conflicts     who meets one for the first time takes a number; the lower number waits for the
//               other, the higher gives up, waits for the lower one to end, and begins again with
//               its number: it gives up once for each older one, and then it is the oldest. It
//               does not wait while somebody wants to run alone.
// Privatization nobody reads or writes what another has locked: nothing to do.
//
// State of a lock
//   bit s (0-55)   the thread in slot s reads
//   bits 56-63     slot + 1 of the thread that writes; it may wait for readers
//
// Invariants
//   I1  A thread touches memory only while it holds the lock: as reader with no other writer
//       entered at the moment its bit was set, as writer once it was the only reader.
//   I2  A thread that holds locks waits only for threads whose number is higher or that have none;
//       those give up or end without waiting for it. One that waits for a lower number holds none.
//       So nobody waits in a circle, and the lowest number never gives up.
// Memory order (each tag stands at its site below)
//   [L]  acq_rel RMW that takes a lock, or finds it taken.
//   [U]  release RMW that gives it up -- synchronizes with [L].
//   [N]  numbers, and whether the one waited for still runs: relaxed; what is seen late is seen at
//        the next look.
//   [G]  relaxed look at a lock: decides only what [L] expects, or whom to wait for.
//   [O]  relaxed look for the thread's own bit or number, which nobody else sets or clears.
#include "tm/core/backoff.h"
#include "tm/core/engine.h"
#include "tm/core/regime.h"
#include "tm/core/threads.h"
#include "tm/protocols/in_place.h"
#include "tm_tables.h"

namespace syncopate::tm {
namespace {

using lock_word = std::atomic<u64>;

constexpr unsigned writer_shift = 56;
constexpr u64 readers_mask = (u64{1} << writer_shift) - 1;
constexpr unsigned stripe_shift = 5;

// What two transactions that met each other need, of the thread in each slot. By the slot alone:
// others look it up.
struct alignas(64) rank {
  std::atomic<u64> number{0};  // its turn; 0: it has met no conflict
  // The slot of the one that it waits for to end, and that one's number; 0: none.
  u64 older_slot = 0, older_number = 0;
};
constinit rank ranks[writer_shift];
rank& rank_of(const transaction* tx) noexcept { return ranks[tx->slot]; }

constinit lock_word locks[record_count];
alignas(64) constinit std::atomic<u64> next_number{1};

lock_word& lock_of(address a) noexcept {
  return locks[((a >> stripe_shift) + (a >> 25) * 0x2545f) & (record_count - 1)];
}
u64 reader_bit(const transaction* tx) noexcept { return u64{1} << tx->slot; }
u64 writer_of(u64 seen) noexcept { return seen >> writer_shift; }
u64 as_writer(const transaction* tx) noexcept { return u64{tx->slot + 1} << writer_shift; }

u64 number_of(u64 slot) noexcept {
  const u64 number = ranks[slot].number.load(std::memory_order_relaxed);  // [N]
  return number != 0 ? number : ~u64{0};
}

struct opponent {
  u64 number = ~u64{0}, slot = ~u64{0};
};

// Whether the transaction that this one gave way to still runs, and nobody wants to run alone.
bool should_give_way(const rank& mine) noexcept {
  const transaction* const older = thread_in_slot(static_cast<u32>(mine.older_slot));
  return number_of(mine.older_slot) == mine.older_number &&         // [N]
         older->active.load(std::memory_order_relaxed) != 0 &&      // [N]
         now.word.load(std::memory_order_relaxed) == regime::open;  // [N]
}

[[gnu::noinline, gnu::cold]] void give_way(rank& mine) noexcept {
  constexpr std::int64_t look = 50'000;  // ns
  static constinit std::atomic<u32> nobody_wakes{0};
  for (backoff p; should_give_way(mine);) {
    if (!p.is_over()) {
      p.wait();
      continue;
    }
    const machine::deadline limit = machine::after(look);
    machine::park(nobody_wakes, 0, &limit);
  }
  mine.older_number = 0;
}

// The one with the lowest number among those that hold the lock against this transaction.
opponent lowest_opponent(u64 seen, const transaction* tx, bool readers_too) noexcept {
  opponent lowest;
  if (writer_of(seen) != 0 && writer_of(seen) != tx->slot + 1)
    lowest = {number_of(writer_of(seen) - 1), writer_of(seen) - 1};
  if (!readers_too) return lowest;
  for (u64 others = seen & readers_mask & ~reader_bit(tx); others != 0; others &= others - 1) {
    const u64 slot = static_cast<u64>(__builtin_ctzll(others));
    if (const u64 n = number_of(slot); n < lowest.number) lowest = {n, slot};
  }
  return lowest;
}

// One step of waiting for the lock; restarts where an older transaction holds it.
void stand_back(const lock_word& lock, transaction* tx, backoff& p, bool readers_too, cause why) {
  rank& mine = rank_of(tx);
  if (mine.number.load(std::memory_order_relaxed) == 0)                     // [N]
    mine.number.store(next_number.fetch_add(1, std::memory_order_relaxed),  // [N]
                      std::memory_order_relaxed);                           // [N]
  const u64 seen = lock.load(std::memory_order_relaxed);                    // [G]
  const opponent lowest = lowest_opponent(seen, tx, readers_too);
  if (lowest.number < mine.number.load(std::memory_order_relaxed)) {  // [N]
    mine.older_slot = lowest.slot;
    mine.older_number = lowest.number;
    observer::loses_wanted(tx, thread_in_slot(static_cast<u32>(lowest.slot)));
    restart(tx, why);
  }
  p.wait();
}

struct two_phase : in_place<two_phase> {
  static void hold(lock_word& lock, transaction* tx) {
    owned_orec* const entry = tx->owned.push();
    if (entry == nullptr) restart(tx, cause::memory);
    *entry = {&lock, 0};
  }

  [[gnu::noinline]] static void lock_to_read(lock_word& lock, transaction* tx) {
    hold(lock, tx);
    for (backoff p;;) {
      const u64 before = lock.fetch_or(reader_bit(tx), std::memory_order_acq_rel);  // [L]
      if (writer_of(before) == 0) return;
      lock.fetch_and(~reader_bit(tx), std::memory_order_release);  // [U]
      stand_back(lock, tx, p, false, cause::read_conflict);
    }
  }
  [[gnu::noinline]] static void lock_to_write(lock_word& lock, transaction* tx) {
    u64 seen = lock.load(std::memory_order_relaxed);  // [G]
    if ((seen & reader_bit(tx)) == 0) hold(lock, tx);
    for (backoff p;;) {
      seen = lock.load(std::memory_order_relaxed);  // [G]
      if (writer_of(seen) == 0) {
        if (lock.compare_exchange_weak(seen, seen | as_writer(tx) | reader_bit(tx),
                                       std::memory_order_acq_rel,
                                       std::memory_order_relaxed))  // [L]
          break;
        continue;
      }
      stand_back(lock, tx, p, false, cause::write_conflict);
    }
    for (backoff p;;) {
      seen = lock.load(std::memory_order_acquire);  // [L]
      if ((seen & readers_mask) == reader_bit(tx)) return;
      stand_back(lock, tx, p, true, cause::write_conflict);
    }
  }

  template <class T>
  static T load(const T* at, transaction* tx) {
    if (__builtin_expect(!is_aligned(at), 0)) return load_pieces(at, tx);
    const address a = reinterpret_cast<address>(at);
    if (is_captured(tx, a)) return peek(at);
    lock_word& lock = lock_of(a);
    if ((lock.load(std::memory_order_relaxed) & reader_bit(tx)) == 0) {  // [O]
      observer::wants(tx, a);
      lock_to_read(lock, tx);
    }
    return peek(at);
  }
  template <class T>
  static T load_again(const T* at, transaction*) {
    return peek(at);
  }

  static void own(address a, transaction* tx) {
    lock_word& lock = lock_of(a);
    if (writer_of(lock.load(std::memory_order_relaxed)) == tx->slot + 1) return;  // [O]
    observer::wants(tx, a);
    lock_to_write(lock, tx);
  }

  template <class T>
  static void store(T* at, T value, transaction* tx) {
    const address a = reinterpret_cast<address>(at);
    if (__builtin_expect(!is_aligned(at), 0)) return store_pieces(at, value, tx);
    if (!is_captured(tx, a)) own(a, tx);
    else if (tx->checkpoints.empty()) return poke(at, value);
    if (__builtin_expect(!tx->undo.add(at, peek(at)), 0)) restart(tx, cause::memory);
    poke(at, value);
  }
  static u32 begin(transaction* tx) {
    if (__builtin_expect(tx->slot >= writer_shift, 0)) restart(tx, cause::unsafe_call);
    if (tx->attempts == 0) forget_number(tx);
    else if (rank_of(tx).older_number != 0) give_way(rank_of(tx));
    return started;
  }

  static void forget_number(transaction* tx) {
    std::atomic<u64>& number = rank_of(tx).number;
    if (number.load(std::memory_order_relaxed) != 0)  // [N]
      number.store(0, std::memory_order_relaxed);     // [N]
  }
  static void unlock_all(transaction* tx) {
    const u64 mine = reader_bit(tx);
    for (const owned_orec& o : tx->owned) {
      const u64 seen = o.record->load(std::memory_order_relaxed);  // [O]
      const u64 keep = writer_of(seen) == tx->slot + 1 ? ~(mine | ~readers_mask) : ~mine;
      o.record->fetch_and(keep, std::memory_order_release);  // [U]
    }
    tx->owned.clear();
  }

  static void count_locks(const transaction* tx, u32& to_read, u32& to_write) {
    for (const owned_orec& o : tx->owned)
      ++(writer_of(o.record->load(std::memory_order_relaxed)) == tx->slot + 1 ? to_write
                                                                              : to_read);  // [O]
  }

  static bool commit(transaction* tx) {
    observer::commits_with(tx, [&](u32& reads, u32& writes) { count_locks(tx, reads, writes); });
    observer::publishes(tx);
    unlock_all(tx);
    forget_number(tx);
    return true;
  }

  static void roll_back(transaction* tx) {
    observer::publishes(tx);
    tx->undo.undo(0, tx->stack_begin - tx->stack_extent, tx->stack_begin);
    unlock_all(tx);
  }
};

}  // namespace

extern const operations two_phase_operations = make_operations<two_phase>("two_phase");

}  // namespace syncopate::tm
