// auto_rwlock.h -- reader-writer lock: one word for the uncontended case, a FIFO queue of sleepers.
//
// Source        Word and queue after nsync's mu and parking_lot's RwLock; preferences after POSIX
//               and glibc. How we deviate: a waiter that was woken in vain goes back to the front,
//               and is handed the lock once it is old; a hand-over that has cost much, because the
//               successor had no processor, is the last one for a while.
// Fairness      prefer readers (default; a reader may take the lock while writers wait, so that
//               recursive read locking cannot deadlock) or prefer writers. Among writers, and for
//               both against overtaking: eventual.
// Space         40 B; one element on each waiter's stack.
// Uncontended   lock 1 load + 1 RMW + 1 store; unlock 1 store + 1 RMW; shared lock 1 RMW; shared
//               unlock 1 load + 1 RMW; one cache line.
// Contended     a short locked section on guard_ per sleep and per wake.
//
// State of word_: bit 31 writer (held exclusively); bit 30 waiters (the queue is not empty); bit 29
// called (a waiter that was woken is on its way); bits 0-28 number of readers.
//
// Invariants
//   I1  writer excludes readers. Both in word_ are a writer and readers that counted themselves
//       too early: they leave again as readers do, and do not enter. Only who then waits without a
//       limit does so: a try_lock() that finds the lock held has found one who has it, or will.
//   I2  waiters is set and cleared with guard_ held, and tells whether the queue is empty.
//   I3  An element is in the queue until a releaser takes it out (then `turn` will be set) or its
//       waiter removes itself; both with guard_ held.
//   I4  The last holder to leave while waiters is set, and called is not, takes guard_, takes out
//       who is to go on, and touches only those waiters' elements after the release. Nobody
//       destroys the lock while a call on it has not returned, so guard_ is still there.
//   I5  A granted waiter owns the lock when its turn comes (word_ was set for it); a waiter that
//       was merely woken competes again, and if it loses it enters the queue at the front.
//   I6  After a fork the child's first use of the queue empties it: its elements belong to threads
//       that the child does not have.
//   I7  called is set with the wake that it tells of, and cleared by a woken waiter when it has the
//       lock, or in the RMW that finds the lock held and queues it again: until then it
//       will look at the lock, and leaving holders need not wake another.
//   I8  Readers that prefer readers do not stay behind a writer while others hold it: a holder
//       may wait for one of them. So they enter beside other readers, go on with readers that stood
//       before that writer, and are set going by the writer if readers were faster than it, by a
//       reader that was called when it has the lock.
//
// Memory order (each tag stands at its site below)
//   [A]  acquire RMW of word_ that takes the lock -- synchronizes with every earlier [R]. (When it
//        sets waiters instead, nothing but guard_ is needed.)
//   [R]  release RMW of word_ by a leaving holder; readers' decrements form a release sequence.
//   [G]  a grant: release store of turn by a releaser, acquire load by the waiter; it publishes the
//        time of the grant, too.
//   [X]  relaxed load or failed RMW: decides only what to try next; writer_ is a hint that is exact
//        for the thread itself.
//   [F]  release store and acquire load of generation_ around the reset of I6.
//   [Q]  acq_rel RMW of word_ by the last holder to leave: releases as [R], and acquires what
//        earlier readers released, since it may hand the lock to others by [G].
//   [W]  relaxed RMW of word_ that changes waiters (guard_ is held, and orders the queue) or called
//        (a hint) only; as an RMW it continues the release sequence of [R].
//
// Checked by    tests/conformance (exclusion, sharing, preferences), tests/check/rwlock_check.cpp
//               (explored), tests/check/mutants_check.cpp (that the invariants are asked),
//               tests/posix (test_rwlock_*.cpp),
//               tests/simulated_engine/{beside_foreign_load,readers}.cpp,
//               tests/unit/costs/costs.cpp (what a call costs).
#pragma once

#include <syncopate/lock.h>
#include <syncopate/locks/futex_lock.h>
#include <syncopate/machine.h>
#include <syncopate/rwlocks/waiter_queue.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstdint>

namespace syncopate {

class auto_rwlock {
 public:
  static constexpr std::uint32_t max_readers = (1u << 29) - 2;

  // Exclusive. Blocks; with a deadline returns whether the lock is held.
  void lock() noexcept {
    if (__builtin_expect(!try_lock(), 0)) wait_for(role::writer, rw_preference::readers, nullptr);
  }
  [[nodiscard]] bool lock_until(const machine::deadline* until) noexcept {
    return try_lock() || wait_for(role::writer, rw_preference::readers, until);
  }
  [[nodiscard]] bool try_lock() noexcept {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);  // [X]
    while ((seen & ~queue_bits) == 0)
      if (word_.compare_exchange_weak(seen, seen | writer, std::memory_order_acquire,  // [A]
                                      std::memory_order_relaxed)) {                    // [X]
        writer_.store(machine::self(), std::memory_order_relaxed);                     // [X]
        return true;
      }
    return false;
  }
  // Requires: the calling thread holds the lock exclusively.
  void unlock() noexcept {
    writer_.store(0, std::memory_order_relaxed);  // [X]
    std::uint32_t seen = writer;
    if (__builtin_expect(!word_.compare_exchange_strong(seen, 0,
                                                        std::memory_order_release,  // [R]
                                                        std::memory_order_relaxed),
                         0))  // [X]
      release_slow(writer);
  }

  // Shared.
  void lock_shared() noexcept { (void)lock_shared_until(rw_preference::readers, nullptr); }
  [[nodiscard]] bool lock_shared_until(rw_preference preference,
                                       const machine::deadline* until) noexcept {
    return begin_lock_shared(preference, until) || wait_for(role::reader, preference, until);
  }
  // The first step of lock_shared_until(): returns whether the lock was open, and is now held. Who
  // waits without a limit will read, and may be seen before; that is one RMW, which never fails.
  [[nodiscard]] bool begin_lock_shared(rw_preference preference,
                                       const machine::deadline* until) noexcept {
    if (until != nullptr) return try_lock_shared(preference);
    const std::uint32_t before = word_.fetch_add(1, std::memory_order_acquire);  // [A]
    if (__builtin_expect(readers_may_enter(before, preference), 1)) return true;
    unlock_shared();
    return false;
  }
  // Nobody sees that it was tried in vain.
  [[nodiscard]] bool try_lock_shared(rw_preference preference = rw_preference::readers) noexcept {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);  // [X]
    while (readers_may_enter(seen, preference))
      if (word_.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire,  // [A]
                                      std::memory_order_relaxed))                 // [X]
        return true;
    return false;
  }
  // Requires: the calling thread holds the lock shared.
  void unlock_shared() noexcept {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);  // [X]
    do {
      if (__builtin_expect(seen == (waiters | 1), 0)) return release_slow(1);
    } while (!word_.compare_exchange_weak(seen, seen - 1, std::memory_order_release,  // [R]
                                          std::memory_order_relaxed));                // [X]
  }

  // Kernel thread id of the exclusive holder, 0 if none; exact when it is the caller.
  [[nodiscard]] int exclusive_owner() const noexcept {
    return writer_.load(std::memory_order_relaxed);  // [X]
  }
  // Whether anybody holds the lock, or a writer does; hints. A transaction that reads false has
  // subscribed: whoever takes the lock writes word_.
  [[nodiscard]] bool is_write_locked() const noexcept {
    return (word_.load(std::memory_order_relaxed) & writer) != 0;  // [X]
  }
  [[nodiscard]] bool is_locked() const noexcept {
    return (word_.load(std::memory_order_relaxed) & ~queue_bits) != 0;  // [X]
  }
  [[nodiscard]] bool contended() const noexcept {
    return (word_.load(std::memory_order_relaxed) & waiters) != 0;  // [X]
  }
  [[nodiscard]] std::uint32_t reader_count() const noexcept {
    return word_.load(std::memory_order_relaxed) & count_mask;  // [X]
  }

  // Any thread; what it looks at, it looks at with guard_ held.
  void check_invariants() noexcept {
    lock_guard();
    [[maybe_unused]] const std::uint32_t seen = word_.load(std::memory_order_relaxed);  // [X]
    queue_.check_invariants();                                                          // I3
    assert(((seen & waiters) != 0) == !queue_.is_empty());                              // I2
    guard_.unlock();
  }
  // Requires: nobody holds the lock, or waits.
  void check_at_rest() const noexcept {
    assert(word_.load(std::memory_order_relaxed) == 0);  // [X] I7
    assert(queue_.is_empty());
  }

 private:
  enum : std::uint32_t {
    writer = 1u << 31,
    waiters = 1u << 30,
    called = 1u << 29,
    queue_bits = waiters | called,
    count_mask = called - 1
  };
  using waiter = rw_waiter;
  using role = rw_role;
  // Ticks: how long a waiter polls before it sleeps (as waits::spin_then_park, halved because both
  // sides of a rwlock poll), and after how long it may be handed the lock (0.5 ms at 2 GHz).
  static constexpr std::uint64_t spin_ticks = 10'000, old_age = 1u << 20;
  static constexpr std::uint32_t max_pauses = 16;
  // Between two grants: so many times what the last one has cost, so that at most a quarter of the
  // time goes into them; and at least, and at most, in ticks (as hand_over_period).
  static constexpr std::uint64_t pay_back = 3, least_pause = 3u << 15, most_pause = 1u << 28;
  static constexpr unsigned stamp_shift = 10;
  static constexpr std::uint32_t farthest = most_pause >> stamp_shift;

  static bool readers_may_enter(std::uint32_t seen, rw_preference preference) noexcept {
    return (seen & writer) == 0 && (seen & count_mask) < max_readers &&
           (preference == rw_preference::readers || (seen & queue_bits) == 0);
  }
  static bool free_for(std::uint32_t seen, role as) noexcept {
    return as == role::writer ? (seen & ~queue_bits) == 0 : (seen & writer) == 0;
  }

  // ---- waiting --------------------------------------------------------------------------------

  bool take(role as, rw_preference preference) noexcept {
    return as == role::writer ? try_lock() : try_lock_shared(preference);
  }

  bool spin(role as, rw_preference preference) noexcept {
    const std::uint64_t limit = machine::ticks() + spin_ticks;
    for (std::uint32_t pauses = 1;; pauses = pauses < max_pauses ? 2 * pauses : max_pauses) {
      if (free_for(word_.load(std::memory_order_relaxed), as) && take(as, preference))  // [X]
        return true;
      if (static_cast<std::int64_t>(machine::ticks() - limit) >= 0) return false;
      machine::spin(pauses);
    }
  }

  [[gnu::noinline, gnu::cold]] bool wait_for(role as, rw_preference preference,
                                             const machine::deadline* until) noexcept {
    waiter me;
    me.arrival = machine::ticks();
    me.as = as;
    me.prefers = preference;
    const bool may_spin = machine::may_spin();
    if (may_spin && spin(as, preference)) return true;
    for (bool again = false;; again = true) {
      if (!enqueue_unless_free(me, again)) return true;
      while (me.turn.load(std::memory_order_acquire) == waiter::waiting) {  // [G]
        if (machine::park(me.turn, waiter::waiting, until) != machine::park_result::timed_out)
          continue;
        if (withdraw(me)) return false;
        // Chosen at the last moment: the releaser is about to say how.
        machine::wait_until(me.turn, std::memory_order_relaxed,  // [X] the loop looks again
                            [](std::uint32_t turn) { return turn != waiter::waiting; });
      }
      if (me.turn.load(std::memory_order_relaxed) == waiter::granted) {  // [X]
        note_cost_of_grant(me);
        if (as == role::writer) writer_.store(machine::self(), std::memory_order_relaxed);  // [X]
        return true;
      }
      // Woken, not granted. A woken waiter does not defer to others that wait: it was their turn.
      if (take(as, rw_preference::readers) || (may_spin && spin(as, rw_preference::readers))) {
        const std::uint32_t seen = word_.fetch_and(~called, std::memory_order_relaxed);  // [W]
        if (as == role::reader && (seen & waiters) != 0) set_readers_going();
        return true;
      }
    }
  }

  // Takes guard_, and makes sure that the queue is this process's own (I6).
  void lock_guard() noexcept {
    const std::uint32_t now = machine::fork_generation();
    if (__builtin_expect(generation_.load(std::memory_order_acquire) != now, 0))  // [F]
      forget_parent(now);
    guard_.lock();
  }

  [[gnu::noinline, gnu::cold]] void forget_parent(std::uint32_t now) noexcept {
    static constinit futex_lock resetting;  // guard_ itself may be held by a thread left behind
    resetting.lock();
    if (generation_.load(std::memory_order_relaxed) != now) {     // [X] `resetting` orders it
      if (generation_.load(std::memory_order_relaxed) != 0) {     // [X]
        word_.fetch_and(~queue_bits, std::memory_order_relaxed);  // [X]
        queue_ = {};
        guard_.reset();
      }
      generation_.store(now, std::memory_order_release);  // [F]
    }
    resetting.unlock();
  }

  // Returns false with the lock held if it was free after all; else the waiter is in the queue.
  bool enqueue_unless_free(waiter& me, bool front) noexcept {
    waiter* going = nullptr;
    lock_guard();
    std::uint32_t seen = word_.load(std::memory_order_relaxed);  // [X]
    for (;;) {
      // Not `take`: with guard_ held nobody else sets waiters, and a reader that prefers writers
      // must queue behind those that wait.
      const bool enter =
          me.as == role::writer
              ? (seen & ~queue_bits) == 0
              : readers_may_enter(seen,
                                  front || queue_.is_empty() ? rw_preference::readers : me.prefers);
      const std::uint32_t entered = me.as == role::writer ? seen | writer : seen + 1;
      const std::uint32_t next =
          (enter ? entered : seen | waiters) & (front ? ~called : ~std::uint32_t{0});
      if (word_.compare_exchange_weak(seen, next, std::memory_order_acquire,  // [A]
                                      std::memory_order_relaxed)) {           // [X]
        if (!enter) {
          me.turn.store(waiter::waiting, std::memory_order_relaxed);  // [X]
          queue_.insert(me, front);
        }
        // Readers were faster than this writer: those behind it share the lock with them (I8). So
        // do those behind a reader.
        if (front && (seen & writer) == 0 && enter == (me.as == role::reader))
          going = take_out_readers();
        guard_.unlock();
        set_going(going, waiter::woken);
        if (enter && me.as == role::writer)
          writer_.store(machine::self(), std::memory_order_relaxed);  // [X]
        return !enter;
      }
    }
  }

  // All that may read beside the holders. Requires: guard_ is held, and no writer holds the lock.
  waiter* take_out_readers() noexcept {
    waiter* const going = queue_.take_out(role::reader);
    if (queue_.is_empty()) word_.fetch_and(~waiters, std::memory_order_relaxed);  // [W]
    return going;
  }
  // By a reader that was called, and has the lock: while it was on its way, a writer had the lock
  // once more, and left without looking after those that had come to wait (I8).
  [[gnu::noinline, gnu::cold]] void set_readers_going() noexcept {
    lock_guard();
    waiter* const going = take_out_readers();
    guard_.unlock();
    set_going(going, waiter::woken);
  }

  // Takes a waiter whose deadline has passed out of the queue; false if it was chosen before.
  bool withdraw(waiter& me) noexcept {
    waiter* going = nullptr;
    guard_.lock();
    const bool queued = me.queued;
    if (queued) {
      queue_.remove(me);
      // Readers may have waited behind this writer only: they share the lock with its holders.
      const bool readers_next = me.as == role::writer && !queue_.is_empty() &&
                                queue_.first()->as == role::reader &&
                                (word_.load(std::memory_order_relaxed) & writer) == 0;  // [X]
      if (readers_next) going = take_out_readers();
      else if (queue_.is_empty()) word_.fetch_and(~waiters, std::memory_order_relaxed);  // [W]
    }
    guard_.unlock();
    set_going(going, waiter::woken);
    return queued;
  }

  // ---- releasing ------------------------------------------------------------------------------

  // Gives up `mine` (writer, or one reader) and sets going whoever is next. Requires: held.
  [[gnu::noinline, gnu::cold]] void release_slow(std::uint32_t mine) noexcept {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);  // [X]
    while ((seen & called) != 0)
      if (word_.compare_exchange_weak(seen, seen - mine, std::memory_order_release,  // [R]
                                      std::memory_order_relaxed))                    // [X]
        return;
    lock_guard();
    seen = word_.load(std::memory_order_relaxed);  // [X]
    for (;;) {
      if (seen - mine != waiters) {
        // Other readers are inside (the last of them will do this), or nobody waits any more.
        guard_.unlock();
        if (word_.compare_exchange_strong(seen, seen - mine, std::memory_order_release,  // [R]
                                          std::memory_order_relaxed))                    // [X]
          return;
        guard_.lock();
        seen = word_.load(std::memory_order_relaxed);  // [X]
        continue;
      }
      const choice next = choose_locked();
      if (word_.compare_exchange_strong(seen, next.word, std::memory_order_acq_rel,  // [Q] [R]
                                        std::memory_order_relaxed)) {                // [X]
        waiter* const first = queue_.take_out(next.as);
        if (next.grant)
          for (waiter* w = first; w != nullptr; w = w->next) w->arrival = machine::ticks();
        guard_.unlock();
        set_going(first, next.grant ? waiter::granted : waiter::woken);
        return;
      }
    }
  }

  struct choice {
    role as;             // who goes on: the first waiter, a writer; or readers
    bool grant;          // with the lock in hand (old waiters), or to compete for it
    std::uint32_t word;  // what word_ has to become
  };

  // Requires: the queue is not empty.
  choice choose_locked() const noexcept {
    const waiter& first = *queue_.first();
    const rw_waiter_queue::company going = queue_.who_goes();
    const std::uint64_t time = machine::ticks();
    const bool grant = first.was_overtaken && time - first.arrival >= old_age && may_grant(time);
    const std::uint32_t held = first.as == role::writer ? std::uint32_t{writer} : going.readers;
    return {
        first.as, grant,
        (grant ? held : std::uint32_t{called}) | (going.others_stay ? std::uint32_t{waiters} : 0)};
  }

  // ---- how often the lock is handed over ------------------------------------------------------

  static std::uint32_t stamp_of(std::uint64_t time) noexcept {
    return static_cast<std::uint32_t>(time >> stamp_shift);
  }
  // The stamp wraps after 2^42 ticks: an old one may look young, which delays one grant.
  [[nodiscard]] bool may_grant(std::uint64_t time) const noexcept {
    const std::uint32_t ahead =
        next_grant_.load(std::memory_order_relaxed) - stamp_of(time);  // [X]
    return ahead - 1 >= farthest;
  }
  // From the grant until now all have waited for this thread. Requires: granted, and holding.
  void note_cost_of_grant(const waiter& me) noexcept {
    const std::uint64_t time = machine::ticks();
    const std::uint64_t pause = std::max(pay_back * (time - me.arrival), least_pause);
    next_grant_.store(stamp_of(time + std::min(pause, most_pause)),
                      std::memory_order_relaxed);  // [X]
  }

  static void set_going(waiter* w, std::uint32_t turn) noexcept {
    while (w != nullptr) {
      waiter* const next = w->next;
      const void* const address = &w->turn;
      w->turn.store(turn, std::memory_order_release);  // [G]
      machine::wake(address, 1);
      w = next;
    }
  }

  std::atomic<std::uint32_t> word_{0};
  futex_lock guard_;
  rw_waiter_queue queue_;  // guarded by guard_
  std::atomic<int> writer_{0};
  [[maybe_unused]] int shared_{0};  // glibc's mark of shared ones, where its object lies; not ours
  std::atomic<std::uint32_t> generation_{0};  // 0: never used, nothing to forget
  // From when on an old waiter may be handed the lock, in units of 2^stamp_shift ticks.
  std::atomic<std::uint32_t> next_grant_{0};
};

static_assert(RwLock<auto_rwlock>);

}  // namespace syncopate
