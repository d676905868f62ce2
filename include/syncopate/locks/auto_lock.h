// auto_lock.h -- the lock for those who choose nothing: learns when to spin, sleeps otherwise, and
// lets nobody starve.
//
// Source        Three parts, each with its source, states and obligations: glibc's word
//               (auto/lock_word.h); the queue and the slot of the successor (auto/sleeper_queue.h,
//               auto/successor_slot.h, auto/hand_over_period.h); spinning (auto/spinner_slot.h,
//               auto/spin_tuning.h). Here is how a thread goes through them.
// Fairness      eventual: a running thread may overtake, until a waiter that was woken has waited
//               for one period since the last hand-over; then the lock is handed to it. The period
//               follows what hand-overs cost (auto/hand_over_period.h).
// Space         32 B per lock, laid out as the first 32 bytes of glibc's pthread_mutex_t; 0 B per
//               waiter.
// Uncontended   lock 1 RMW + 1 load + 1 store; unlock 1 load + 1 RMW + 1 store; one cache line.
// Contended     the successor and a newcomer poll, with growing pauses, and more newcomers where
//               there are processors to spare; the others sleep in FIFO order.
//
// Invariants
//   I1  Whoever waits spins, sleeps in the queue, or has the slot (one at most).
//   I2  Every sleeper has joined queue_ and then found word_ held (having marked it), or the slot
//       taken. So the wake it needs comes after it has joined: by the holder that finds the word
//       marked, or by the successor, who takes the lock as held_sleepers or passes the wake on
//       (give_up).
//   I3  unlock() announces a wake before it releases a lock that is marked, and wakes afterwards.
//       So a holder that wants one more sleeper awake marks the lock.
//   I4  The slot is granted only while the lock is held, which it then stays.
//   I5  A due successor has marked word_ after it became due: the holder it saw, or a later one,
//       finds it in unlock(). A holder that looked at the slot just before leaves the lock free;
//       then the successor looks again within due_timeout. So do the first sleeper, within
//       first_timeout, and the others, within other_timeout (they may have become the first),
//       because a holder may release through glibc's code, which knows neither slot nor queue.
//
// Memory order (each tag stands at its site below; those of the parts in the parts)
//   [X]  relaxed: a hint.
//
// Checked by    tests/conformance (exclusion, time-outs, hand-over under barging, every entry),
//               tests/check/lock_check.cpp (explored with two and three threads),
//               tests/check/spinner_check.cpp (nobody spins while the holder cannot run; a called
//               successor that is late),
//               tests/check/mutants_check.cpp (that its parts' invariants are asked),
//               tests/posix under SYNCOPATE_LOCK=auto (below glibc's condition variables, too),
//               tests/elide (transactions),
//               tests/simulated_engine/{convoy,late_balance,pollers,ratios}.cpp,
//               tests/simulated_engine/{beside,many_beside}_foreign_load.cpp.
#pragma once

#include <syncopate/locks/auto/hand_over_period.h>
#include <syncopate/locks/auto/lock_word.h>
#include <syncopate/locks/auto/sleeper_queue.h>
#include <syncopate/locks/auto/spin_tuning.h>
#include <syncopate/locks/auto/spinner_slot.h>
#include <syncopate/locks/auto/successor_slot.h>
#include <syncopate/locks/traits.h>
#include <syncopate/machine.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace syncopate {

class auto_lock {
 public:
  static constexpr lock_traits traits{
      .fair = fairness::eventual,
      .timed = true,
      .glibc_word = true,
      .keeps_owner = true,
      .remembers_contention = true,
      .summary = "learns when to spin, sleeps otherwise, hands over to waiters that waited long",
      .source = "glibc's word protocol; abseil, WTF::Lock, parking_lot for the policies"};

  // Blocks until the lock is held.
  void lock() noexcept {
    if (__builtin_expect(word_.take(lock_word::held), 1)) note_holder();
    else lock_contended();
  }

  // Blocks until the lock is held (true) or the deadline has passed (false).
  [[nodiscard]] bool lock_until(const machine::deadline& until) noexcept {
    if (!word_.take(lock_word::held) && !lock_slow(&until)) return false;
    note_holder();
    return true;
  }

  // Returns whether the lock was free and is now held. Wait-free.
  [[nodiscard]] bool try_lock() noexcept {
    if (!word_.take(lock_word::held)) return false;
    note_holder();
    return true;
  }

  // The same for a caller that has machine::known_self() at hand. Requires: me is it, and not 0.
  [[nodiscard]] bool try_lock_as(int me) noexcept {
    if (!word_.take(lock_word::held)) return false;
    note_holder(me);
    return true;
  }

  // Requires: the calling thread holds the lock (any thread, where the holder is gone for good).
  void unlock() noexcept {
    if (__builtin_expect(!unlock_uncontended(), 0)) unlock_contended();
  }

  // The first half of unlock(): returns false, with the lock still held, where a waiter has to be
  // seen to; then unlock() is next.
  [[nodiscard]] bool unlock_uncontended() noexcept {
    holder_ = {0, 0};
    if (__builtin_expect(successor_.may_be_taken(), 0)) return false;
    return word_.release_held();
  }

  // Whether some thread holds the lock; a hint. A transaction that reads false has subscribed:
  // whoever takes the lock writes word_ by an atomic instruction, which aborts it.
  [[nodiscard]] bool is_locked() const noexcept { return !word_.is_free(); }

  // Whether somebody sleeps; a hint.
  [[nodiscard]] bool contended() const noexcept {
    return word_.is_marked() || successor_.may_be_taken();
  }

  // Whether some thread has ever found the lock held; a hint, which in rare cases is forgotten.
  [[nodiscard]] bool has_been_contended() const noexcept {
    return successor_.look() != 0 || queue_.was_used() || spinner_.was_used();
  }

  // Kernel thread id of the holder, 0 if free or unknown; a hint unless the caller is the holder.
  [[nodiscard]] int owner() const noexcept { return holder_.owner; }

  // Requires: the calling thread holds the lock.
  void check_invariants() const noexcept {
    word_.check_held();
    successor_.check_held();  // I4
    spinner_.check_invariants();
  }
  // Requires: nobody holds the lock, or waits.
  void check_at_rest() const noexcept {
    assert(word_.is_free());
    queue_.check_at_rest();
    successor_.check_at_rest();
    spinner_.check_at_rest();
  }

 private:
  friend struct auto_lock_layout;

  using lock_word = auto_parts::lock_word;
  using successor_slot = auto_parts::successor_slot;
  using sleeper_queue = auto_parts::sleeper_queue;
  enum class outcome { acquired, woken, gave_up, timed_out };

  static constexpr std::uint32_t explore_one_in = 16;   // slow paths that spin as long as can pay
  static constexpr std::uint32_t max_pauses = 16;       // between two polls of a newcomer
  static constexpr std::uint64_t preempted = 1u << 18;  // ticks between two looks of a spinner
  static constexpr unsigned enough_processors = 4;  // for holder, successor, spinner and another

  // A successor takes a lock only if it is free at several looks in a row: a busy lock is left to
  // the thread that runs with it, until the successor is due; an idle one is taken in less than a
  // microsecond. *Measured* on 16 processors: each look less brings 1 to 5 % at 2,000 cycles
  // inside and 20,000 outside; with one, empty sections are half as many
  // (docs/internals/auto-measured.md).
  static constexpr int successor_looks = 3;
  static constexpr std::uint32_t look_pauses = 6, successor_pauses = 128;
  static constexpr std::uint64_t yield_every = 1u << 15;  // ticks a successor keeps the processor
  static constexpr std::int64_t nap = 50'000;  // ns between a successor's looks from its sleep
  static constexpr std::int64_t due_timeout = 1'000'000;     // ns, the same once it is due (I5)
  static constexpr std::int64_t first_timeout = 2'000'000;   // ns, the same for the first sleeper
  static constexpr std::int64_t other_timeout = 50'000'000;  // ns, the same for the others
  static constexpr std::uint32_t late_one_in = 16;  // contended unlocks that look at the clock
  // Between two yields at least so many times as long as the last took. *Simulated* beside 2 busy
  // processes, sums over sections of 200 to 400 cycles: with 2, 4, 8 threads 1.36, 0.98, 3.35 times
  // the sections of yields that each thread learned by itself (docs/internals/preemption.md).
  static constexpr std::uint64_t yield_share = 4;
  static constexpr std::uint64_t soon = hand_over_period::least / 4;  // ticks from look to look
  static constexpr int most_finds = 8;  // of a successor: more is as good
  // One wake in so many also goes to word_, where waiters inside glibc's code sleep.
  static constexpr std::uint32_t glibc_share = 16;

  // One waiter's way through lock_slow().
  struct attempt {
    const machine::deadline* until;
    std::uint64_t arrival;
  };

  // The hot path has no call in it whose result it needs: the first time in a thread goes out of
  // line as a whole.
  void note_holder() noexcept {
    const int me = machine::known_self();
    if (__builtin_expect(me == 0, 0)) return note_new_holder();
    note_holder(me);
  }
  void note_holder(int me) noexcept {
    // As few stores as can be: the next locked instruction waits for every earlier one.
    holder_ = std::bit_cast<holder>(std::uint64_t{static_cast<std::uint32_t>(me)} | std::uint64_t{1}
                                                                                        << 32);
    const auto here = static_cast<std::uint16_t>(machine::processor_hint());
    if (__builtin_expect(processor_.load(std::memory_order_relaxed) != here, 0))  // [X]
      processor_.store(here, std::memory_order_relaxed);                          // [X]
  }
  [[gnu::noinline, gnu::cold]] void note_new_holder() noexcept {
    (void)machine::self();
    note_holder();
  }

  [[gnu::noinline, gnu::cold]] void lock_contended() noexcept {
    (void)lock_slow(nullptr);
    note_holder();
  }

  // The holder took the lock on this very processor: while we run, it does not.
  [[nodiscard]] bool holder_cannot_run() const noexcept {
    return processor_.load(std::memory_order_relaxed) ==  // [X]
           static_cast<std::uint16_t>(machine::processor());
  }

  [[gnu::noinline]] bool lock_slow(const machine::deadline* until) noexcept {
    attempt my{until, machine::ticks()};
    if (machine::may_spin() && (!has_queue() || may_overtake()) &&
        spin_as_newcomer(my) == outcome::acquired)
      return true;
    for (;;) {
      outcome end = sleep(my);
      if (end == outcome::woken) end = succeed(my);  // gave_up: another has the slot; sleep again
      if (end == outcome::acquired) return true;
      if (end == outcome::timed_out) return false;
    }
  }

  // ---- spinning -------------------------------------------------------------------------------

  // Others wait already. With more threads than processors, spinners may only fill the run queues,
  // and being preempted in the middle of a spin is the longest wait.
  [[nodiscard]] bool has_queue() const noexcept {
    return word_.is_marked() || successor_.is_taken();
  }

  [[nodiscard]] static bool has_enough_processors() noexcept {
    return machine::processors() >= enough_processors;
  }

  // A newcomer polls all the same, or each section ends in a wake-up, during which the lock is idle
  // and a processor, too. *Simulated* with 4 and 8 threads on 2 processors, sections as long as
  // what is outside of them (3,000 ticks): 1.55 times as fast as where all sleep behind a queue,
  // and as fast as tatas; the longest wait 0.1 and 0.4 ms, tatas' 20 and 18 ms
  // (tests/simulated_engine/ratios.cpp). Also while a waiter that was called is late: it is queued
  // on another processor, and would not come to this one for milliseconds. *Measured* on 2, with 8
  // and 32 threads: 1.2 and 1.4 times as fast as where newcomers then sleep
  // (docs/internals/auto-measured.md). But with processors to spare not where the successor is the
  // only other waiter of a hectic lock: the holder then does many sections at full speed, until the
  // successor is due. *Measured* on 16 processors, 4 to 64 threads: sections of 1,000 and 5,000
  // ticks 1.5 to 1.9 times as fast, of 100 ticks 0.9 times.
  [[nodiscard]] bool may_overtake() const noexcept {
    return !has_enough_processors() || queue_.has_sleepers() || spinner_.tuning().pace == 0;
  }

  outcome spin_as_newcomer(attempt& my) noexcept {
    spin_tuning now;
    if (holder_cannot_run()) return outcome::gave_up;
    if (!spinner_.announce(now)) return spin_beside(my, now);
    now = now.or_first();
    const bool explore = (my.arrival / spin_tuning::budget_unit) % explore_one_in == 0;
    const outcome end = spin(my, my.arrival + now.ticks(explore), now.pace);
    if (end == outcome::acquired) {
      const std::uint64_t waited = machine::ticks() - my.arrival;
      now = now.after_success(waited, note_change_of_holder());
    } else if (!explore) {
      now = now.after_failure();
    }
    spinner_.withdraw(now);
    return end;
  }

  // Another newcomer spins already. With processors to spare, and unless the lock is hectic, one
  // more does no harm; where all but one slept, the lock would be idle. It teaches nothing.
  outcome spin_beside(attempt& my, const spin_tuning& learned) noexcept {
    if (!has_enough_processors() || learned.pace != 0) return outcome::gave_up;
    return spin(my, my.arrival + learned.or_first().ticks(false), learned.pace);
  }

  // Returns whether the last contended change was only just before.
  // A change costs about 500 ticks of cache misses (bench/pthread_load contended, 2 threads).
  bool note_change_of_holder() noexcept {
    const std::uint64_t time = machine::ticks();
    const bool is_hectic = successor_.just_changed(time);
    successor_.note_change(time);
    return is_hectic;
  }

  outcome spin(attempt& my, std::uint64_t limit, std::uint32_t pace) noexcept {
    std::uint64_t last = my.arrival;
    for (std::uint32_t pauses = 1u << pace;; pauses = pauses < max_pauses ? 2 * pauses : pauses) {
      if (word_.is_free()) {
        if (word_.take(lock_word::held)) return outcome::acquired;
      } else if (holder_cannot_run()) {
        return outcome::gave_up;
      }
      // A gap between two looks: we were preempted, so more threads want to run than can. Going to
      // sleep starts a queue, and with a queue newcomers leave the processors to others.
      const std::uint64_t time = machine::ticks();
      if (time - last > preempted || static_cast<std::int64_t>(time - limit) >= 0)
        return outcome::gave_up;
      last = time;
      machine::spin(pauses);
    }
  }

  static bool has_passed(std::uint64_t time) noexcept {
    return static_cast<std::int64_t>(machine::ticks() - time) >= 0;
  }

  // ---- sleeping -------------------------------------------------------------------------------

  outcome sleep(attempt& my) noexcept {
    const sleeper_queue::ticket mine = queue_.join();
    outcome end = outcome::acquired;
    if (successor_.is_taken() || !word_.take_or_mark()) end = sleep_counted(my, mine);
    queue_.leave();
    if (end == outcome::acquired) successor_.uncall();
    return end == outcome::timed_out ? give_up() : end;
  }

  // Returns woken also without cause: the slot, if free, is then ours as well as another's.
  outcome sleep_counted(attempt& my, sleeper_queue::ticket mine) noexcept {
    for (;;) {
      const std::int64_t timeout = sleeper_queue::is_first(mine) ? first_timeout : other_timeout;
      const bool expires = my.until != nullptr && machine::remaining(*my.until) < timeout;
      const machine::deadline look = machine::after(timeout);
      if (queue_.sleep(mine, expires ? my.until : &look) != machine::park_result::timed_out)
        return outcome::woken;
      if (expires) return outcome::timed_out;
      if (successor_slot::role_of(successor_.look()) <= successor_slot::called &&
          word_.take_or_mark())
        return outcome::acquired;
    }
  }

  // A waiter whose time is up may have been called, or may be the successor that others rely on
  // (I2): it clears the way, makes the next unlock() wake somebody, and passes on a wake it may
  // have got.
  outcome give_up() noexcept {
    successor_.uncall();
    if (word_.take_or_mark()) return outcome::acquired;
    queue_.announce_wake();
    sleeper_queue::wake_one(queue_.futex());
    return outcome::timed_out;
  }

  // ---- succeeding -----------------------------------------------------------------------------

  // Takes the slot and waits in it: first for the lock to be free, then, due, for the grant.
  // gave_up: another thread has the slot.
  outcome succeed(attempt& my) noexcept {
    successor_slot::state seen;
    if (!successor_.occupy(seen)) return outcome::gave_up;
    outcome end = wait_until_due(my);
    finds = end == outcome::acquired ? std::min(finds + 1, most_finds)
                                     : std::max(finds - 1, -most_finds);
    if (end == outcome::gave_up) {
      successor_.become_due(seen);
      end = wait_for_grant(my);  // a grant may race with a time-out: that one has left the slot
      if (end == outcome::timed_out) return give_up();
    }
    successor_.leave(machine::ticks());
    return end == outcome::timed_out ? give_up() : end;
  }

  [[nodiscard]] bool is_idle() const noexcept {
    for (std::uint32_t look = 1;; ++look) {
      if (!word_.is_free()) return false;
      if (look == successor_looks) return true;
      machine::spin(look * look_pauses);  // unequal, so as not to keep step with the lock's users
    }
  }

  // gave_up: due.
  outcome wait_until_due(attempt& my) noexcept {
    const std::uint64_t start = machine::ticks();
    const std::uint64_t due_time =
        start - successor_.ticks_since_change(start) + hand_over.period();
    std::uint64_t yield_time = start + yield_every;
    for (std::uint32_t pauses = 1;; pauses = pauses < successor_pauses ? 2 * pauses : pauses) {
      if (is_idle() && word_.take(lock_word::held_sleepers)) return outcome::acquired;
      if (has_passed(due_time)) return outcome::gave_up;
      if (!machine::may_spin() || holder_cannot_run()) {
        // The holder needs this processor.
        const machine::deadline look = machine::after(nap);
        successor_.sleep(successor_.look(), &look);
      } else if (has_passed(yield_time)) {
        machine::yield();
        yield_time = machine::ticks() + yield_every;
      } else {
        machine::spin(pauses);
      }
      if (my.until != nullptr && machine::remaining(*my.until) <= 0) return outcome::timed_out;
    }
  }

  [[nodiscard]] bool is_granted() const noexcept {
    if (!successor_.is_granted()) return false;
    // From the grant until now all have waited for this thread.
    hand_over.note(successor_.ticks_since_change(machine::ticks()));
    return true;
  }

  // Polls for a period before it sleeps: where it sleeps before the section has ended, the lock
  // stands still until it is awake.
  outcome wait_for_grant(attempt& my) noexcept {
    if (word_.take_or_mark()) return outcome::acquired;
    const std::uint64_t limit = machine::ticks() + hand_over_period::least;
    while (machine::may_spin() && !holder_cannot_run() && !has_passed(limit)) {
      if (is_granted()) return outcome::acquired;
      machine::relax();
    }
    successor_slot::state asleep;
    if (!successor_.fall_asleep(asleep)) return is_granted() ? outcome::acquired : outcome::gave_up;
    for (;;) {
      const bool expires = my.until != nullptr && machine::remaining(*my.until) < due_timeout;
      const machine::deadline look = machine::after(due_timeout);
      const auto result = successor_.sleep(asleep, expires ? my.until : &look);
      if (is_granted()) return outcome::acquired;
      if (result != machine::park_result::timed_out) continue;
      if (word_.take_or_mark()) return outcome::acquired;  // I5
      if (expires && successor_.leave_unless_granted(asleep)) return outcome::timed_out;
    }
  }

  // ---- releasing ------------------------------------------------------------------------------

  [[gnu::noinline]] void unlock_contended() noexcept {
    const void* const word_futex = word_.futex();
    const void* const queue_futex = queue_.futex();
    successor_slot::state seen = successor_.look();
    while (successor_slot::role_of(seen) >= successor_slot::due)
      if (grant(seen)) return;
    // Nobody comes (S3 of the slot), or is about to occupy it, called or not.
    if (successor_slot::role_of(seen) == successor_slot::called && !queue_.has_sleepers())
      successor_.uncall();
    bool late = false, again = false;
    if (successor_slot::role_of(seen) != successor_slot::nobody &&
        machine::now_and_then(late_one_in)) {
      if (comes_back_soon()) late = successor_is_late();
      else again = may_call_again(seen) && successor_.call(seen, machine::ticks());
    }
    if (again) word_.mark();  // I3
    sleeper_queue::ticket queue = 0;
    const bool wakes = word_.release([&] {
      if (successor_slot::role_of(seen) == successor_slot::nobody && queue_.has_sleepers())
        (void)successor_.call(seen, machine::ticks());
      queue = queue_.announce_wake();  // I3
    });
    if (wakes) {
      const bool ours = sleeper_queue::counts_sleepers(queue);
      if (ours && again) sleeper_queue::wake_one_elsewhere(queue_futex);
      else if (ours) sleeper_queue::wake_one(queue_futex);
      if (!ours || sleeper_queue::wakes(queue) % glibc_share == 0) machine::wake(word_futex, 1);
    }
    if (late) make_room();
  }

  // Whoever was called has not come for a period: it may be queued behind us, while the processor
  // where another sleeper ran last is idle. One of those is called, too. *Simulated* with a kernel
  // that balances late, 8 threads on 2 processors, 8,000 cycles inside and 24,000 outside: 0.99 of
  // glibc's throughput, 0.62 without it (tests/simulated_engine/late_balance.cpp). But only where
  // successors mostly find the lock free: *measured*, 8 threads, 8,000 cycles inside and nothing
  // outside, where one in three does, it costs 5 % (docs/internals/auto-measured.md).
  [[nodiscard]] bool may_call_again(successor_slot::state seen) const noexcept {
    return finds > 0 && successor_slot::role_of(seen) == successor_slot::called &&
           queue_.sleepers() > 1 &&
           successor_.ticks_since_change(machine::ticks()) > hand_over.period();
  }

  // The successor's slot has not changed for twice the least period. It may be running; or it wants
  // to and cannot, perhaps because of us, though another processor is idle (kernels balance late).
  [[nodiscard]] bool successor_is_late() const noexcept {
    const std::uint64_t time = machine::ticks();
    return successor_.ticks_since_change(time) > 2 * hand_over_period::least &&
           static_cast<std::int64_t>(time - next_yield.load(std::memory_order_relaxed)) > 0;  // [X]
  }

  // Whether this thread has done late_one_in contended unlocks in quick succession. Only such make
  // room for a successor: a yield may cost the rest of a time slice, and a thread that is back only
  // after other work may have to do with a lock that others want more. *Measured* with Python's
  // global lock (bench/sqlite_load.py, 4 threads on 2 processors): 1.03 of glibc's rate, 0.87 where
  // all yield. The others call one more sleeper; one more of these would not find the lock free.
  static bool comes_back_soon() noexcept {
    const std::uint64_t time = machine::ticks(), before = last_look;
    last_look = time;
    return time - before < soon;
  }

  static void make_room() noexcept {
    const std::uint64_t start = machine::ticks();
    machine::yield();
    const std::uint64_t end = machine::ticks();
    next_yield.store(end + yield_share * (end - start), std::memory_order_relaxed);  // [X]
  }

  // Returns false when the successor has left meanwhile; `seen` is then new.
  bool grant(successor_slot::state& seen) noexcept {
    const void* const slot_futex = successor_.futex();
    word_.mark();
    if (!successor_.grant(seen, machine::ticks())) return false;
    if (successor_slot::role_of(seen) == successor_slot::due_asleep) machine::wake(slot_futex, 1);
    return true;
  }

  static inline thread_local constinit std::uint64_t last_look = 0;
  // How much more often this thread, as a successor, found the lock free than was handed it; at
  // first as if it had done so once.
  static inline thread_local constinit int finds = 1;
  static inline thread_local constinit hand_over_period hand_over{};
  // When this process may yield again. For all its threads: once one is back from a yield, no other
  // loses a time slice to learn the same. Of two that are back at once, the last one's counts.
  static inline constinit std::atomic<std::uint64_t> next_yield{0};

  lock_word word_;
  [[maybe_unused]] std::uint32_t count_{0};  // glibc's recursion count; not ours
  struct holder {
    int owner;            // kernel thread id, 0 if free
    std::uint32_t users;  // 1 while held
  };
  alignas(8) holder holder_{0, 0};
  [[maybe_unused]] int kind_{0};  // glibc's mutex kind; not ours
  auto_parts::spinner_slot spinner_;
  std::atomic<std::uint16_t> processor_{0};
  successor_slot successor_;
  sleeper_queue queue_;
};

// The offsets that glibc's struct __pthread_mutex_s shares with auto_lock; asserted by the pthread
// library, which places one inside the other.
struct auto_lock_layout {
  static constexpr std::size_t word = offsetof(auto_lock, word_);
  static constexpr std::size_t count = offsetof(auto_lock, count_);
  static constexpr std::size_t owner = offsetof(auto_lock, holder_.owner);
  static constexpr std::size_t users = offsetof(auto_lock, holder_.users);
  static constexpr std::size_t kind = offsetof(auto_lock, kind_);
};

}  // namespace syncopate
