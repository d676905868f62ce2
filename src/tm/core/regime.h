// regime.h -- who may run now: all transactions side by side, or one alone.
//
// Beginning and ending touch no shared word that others write: a transaction shows in a word of its
// own that it is active, and reads `word`, which changes only when a transaction has to run alone.
//
// State of word
//   open         optimistic transactions run side by side
//   closed       nobody may begin; who needs to, takes the mutex
//   tx | solo    the thread of this descriptor runs without taking the mutex, and nobody else does:
//                it was the only one for a while
//   tx | solo | quick  the same, and light fences cost nothing, nobody waits (waiters): its thread
//                may begin as quick.h says
//   in_hardware  hardware transactions run side by side; any other runs alone
//   narrow       a transaction that failed often runs; others finish, and do not begin (hourglass)
//
// Invariants
//   I1  A transaction runs alone only while word is closed and it has the mutex, and has seen every
//       other thread inactive since; or while word was tx | solo after it showed itself active.
//   I2  word is written only by the holder of the mutex.
// Memory order (each tag stands at its site)
//   [A]  relaxed store of active, light fence, acquire load of word -- against [C]: either the
//        beginner sees the closed word, or the closer sees it active. The epoch that it shows is an
//        acquire load: the snapshot is at least as new.
//   [C]  store of word, heavy fence, loads of all threads' active. The same again with
//        closer_sleeps, before the closer sleeps: whoever leaves later wakes it.
//   [H]  where hardware transactions are preferred: seq_cst store of word, then load of software,
//        against fetch_add of software, then load of word: either the closer knows of the software
//        transaction, or that one sees the closed word. A hardware transaction sees it closed, or
//        aborts when the store takes the word away from it; nothing is read before that.
//   [U]  release decrement of software -- synchronizes with hardware transactions, and with who
//        runs alone and finds no software transaction: what those did happens-before.
//   [E]  release store of active = 0 -- synchronizes with [C]'s acquire load: what the transaction
//        did happens-before the one that runs alone.
//   [O]  release store of word -- synchronizes with [A]: what ran alone happens-before who begins.
//        Also of `narrow`: who has failed before may begin then, and reads no older store.
//   [S]  relaxed store of word: tx | solo lets only its own thread begin; and no thread begins
//        before configure() has chosen (pthread_once in attach()).
//   [W]  waiters: seq_cst increment of who waits, before it looks at what it has read; who commits
//        looks at it after the commit. One that is missed costs at most the time limit of the
//        sleep.
//   [V]  release RMW of the counts of commits, acquire loads by who waits: who sees the new count
//        sees the commit, and park() compares the count again.
//   [Q]  looking: relaxed store while `active` still shows the transaction, so that no block goes
//        in between; release store when it looks no longer -- synchronizes with oldest_epoch().
//   [G]  relaxed look under the mutex, which orders all who write the word (I2).
//   [N]  relaxed: does not change while the thread is active; else a guess.
//   [Z]  relaxed: only what park() compares with.
//
// Checked by    tests/check/regime_scenarios.cpp: each order but the epoch's, which a fence behind
//               it hides there, since the explored machine makes light_fence() a full one.
#pragma once

#include "tm/core/transaction.h"

#include <syncopate/locks/auto_lock.h>

namespace syncopate::tm {

class regime {
 public:
  enum : address { open = 0, closed = 1, solo = 2, narrow = 4, in_hardware = 8, quick = 16 };

  // Shows the thread active. Returns word.
  [[gnu::always_inline]] address enter(transaction* tx) const noexcept {
    tx->active.store(epoch.load(std::memory_order_acquire), std::memory_order_relaxed);  // [A]
    machine::light_fence();
    return word.load(std::memory_order_acquire);  // [A]
  }

  // Shows the thread inactive. Returns whether somebody may be waiting for that: wake_closer().
  [[gnu::always_inline]] bool stop(transaction* tx, address expected) const noexcept {
    tx->active.store(0, std::memory_order_release);  // [E]
    machine::light_fence();
    return __builtin_expect(word.load(std::memory_order_relaxed) != expected, 0);  // [C]
  }
  void wake_closer(transaction* tx) const noexcept;
  // Both.
  [[gnu::always_inline]] void leave(transaction* tx, address expected) const noexcept {
    if (stop(tx, expected)) wake_closer(tx);
  }

  static address solo_of(const transaction* tx) noexcept {
    return reinterpret_cast<address>(tx) + solo;
  }
  // The usual one.
  static address quick_solo_of(const transaction* tx) noexcept { return solo_of(tx) + quick; }
  static bool is_solo_of(address word, const transaction* tx) noexcept {
    return (word & ~address{quick}) == solo_of(tx);
  }

  // Waits until no other transaction runs. Requires: the thread is not active.
  // `in_turn`: the transaction came to take its turn, not to stop others (adaptive.h).
  void acquire(transaction* tx, bool in_turn = false) noexcept;
  // Lets others run again. Requires: acquire().
  void release(transaction* tx) noexcept;

  // Hourglass: nobody begins until widen(); those that run go on. Requires: not active. Returns
  // false if another transaction has done it.
  bool try_narrow() noexcept;
  void widen() noexcept;
  // Sleeps until the regime is not narrow, or for a millisecond.
  void wait_while_narrow() const noexcept;

  // For a transaction that was rolled back, to wait until something that it read has changed.
  // Requires of start_waiting(): the thread is still active, so that whoever runs alone later knows
  // of it. Returns what has been committed so far.
  struct commits_so_far {
    u32 all, unlogged;
  };
  [[nodiscard]] commits_so_far start_waiting(transaction* tx) noexcept;
  // Sleeps until some transaction has committed since start_waiting(), or for a few milliseconds,
  // as often as the algorithm it ran under says that nothing has changed.
  void wait_for_change(const transaction* tx, const operations& ran_under,
                       commits_so_far before) noexcept;
  // The waiting is over.
  void count_waiter_off(transaction* tx) noexcept;
  // To be called after each commit. `logged`: the algorithm's has_changed() knows of it.
  [[gnu::always_inline]] void tell_waiters(bool logged) noexcept {
    if (__builtin_expect(waiters.load(std::memory_order_relaxed) != 0, 0))  // [W]
      wake_waiters(logged);
  }

  // Chooses what release() leaves behind: open with this algorithm, or, if null, one at a time.
  // `hardware`: hardware transactions first, before that. Requires: acquire(), or that no
  // transaction has run yet.
  void choose(const operations* algorithm, bool hardware = false) noexcept;

  [[nodiscard]] bool is_optimistic() const noexcept {
    return optimistic.load(std::memory_order_relaxed) != nullptr;  // [N]
  }

  // Whether hardware transactions are tried first. For who is active, it does not change; others
  // only guess: `software` tells a hardware transaction the truth.
  [[nodiscard]] bool prefers_hardware() const noexcept {
    return hardware_first.load(std::memory_order_relaxed);  // [N]
  }

  alignas(64) std::atomic<address> word{closed};       // begin_x86_64.S reads it
  std::atomic<const operations*> optimistic{nullptr};  // written while nothing optimistic runs
  std::atomic<bool> hardware_first{false};             // the same
  bool may_be_solo = true;
  bool may_be_quick = false;  // and begin as quick.h says
  bool slices = false;  // who runs solo, and is busy, is left so for a while; guarded by the mutex
  std::atomic<bool> closer_sleeps{false};
  std::atomic<u32> waiters{0};  // transactions that retry, and sleep

  // Says, where hardware transactions are preferred, that one in software runs. Returns false if
  // the word, which was `expected`, has changed meanwhile.
  bool try_count_software(address expected) noexcept {
    software.fetch_add(1, std::memory_order_seq_cst);                   // [H]
    if (word.load(std::memory_order_seq_cst) == expected) return true;  // [H]
    software.fetch_sub(1, std::memory_order_relaxed);                   // [H]
    return false;
  }
  // That it has come to its end.
  void count_software_off() noexcept { software.fetch_sub(1, std::memory_order_release); }  // [U]

  // Hardware transactions run only while this is 0: where hardware_first is set, it counts the
  // software transactions that run; else it is not_in_hardware.
  static constexpr u32 not_in_hardware = 1;
  alignas(64) std::atomic<u32> software{not_in_hardware};

  alignas(64) auto_lock mutex;

 private:
  void wake_waiters(bool logged) noexcept;
  // `was_quick`: the word that is closed now let a thread begin without light fences.
  void wait_for_others(const transaction* tx, bool was_quick) noexcept;
  // Sleeps until the solo thread's slice of time is over, or it does not run transactions anymore.
  void leave_slice(const transaction* owner) const noexcept;
  // The thread is alone no longer.
  void end_solo(const transaction* owner) noexcept;

  const operations* last_optimistic_ = nullptr;
  transaction* last_ = nullptr;  // who had the mutex last, and how often in a row
  u32 streak_ = 0;
  u64 solo_since_ = 0;  // the count of its commits when the thread was left alone
  // Commits while there are waiters; and those of transactions that ran alone.
  std::atomic<u32> commits_{0}, unlogged_commits_{0};
  u32 needed_ = 16;  // this many in a row before a thread is left alone
};

extern constinit regime now;

}  // namespace syncopate::tm
