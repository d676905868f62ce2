// auto_lock.h -- the lock for those who choose nothing: learns when to spin, sleeps otherwise, and
// lets nobody starve.
//
// Source        The word protocol is glibc's (Drepper, "Futexes Are Tricky", 2011, "mutex2"), with
//               one more value. Spin budget per lock: after glibc's adaptive mutex and Mozilla's;
//               designated waker: abseil Mutex; eventual fairness: WTF::Lock and parking_lot.
// Fairness      eventual: a running thread may overtake, until a waiter that was woken has waited
//               for one period since the last hand-over; then the lock is handed to it. The period
//               follows what hand-overs cost (hand_over_lesson.h).
// Space         32 B per lock, laid out as the first 32 bytes of glibc's pthread_mutex_t; 0 B per
//               waiter.
// Uncontended   lock 1 RMW + 1 load + 1 store; unlock 1 load + 1 RMW + 1 store; one cache line.
// Contended     at most one newcomer and the heir poll, with growing pauses; the others sleep in
//               FIFO order.
//
// State
//   word_   0 free; 1 held; 2 held, and unlock() has to wake somebody. glibc's own code (its
//           condition variables, C11 threads) may run on the same word at any time.
//   heir_   the seat of the waiter whose turn it is. Bits 0-2:
//             no_heir
//             called      unlock() has woken a sleeper that is on its way to the seat
//             seated      it waits for the lock, awake or napping
//             due         it has waited long enough: the next unlock() hands the lock over
//             due_asleep  as due, and it sleeps on heir_
//             granted     the lock is the heir's (word_ stays 2)
//           bits 3-15 fork generation; bits 16-31 when the lock last changed hands under
//           contention.
//   queue_  the futex on which waiters sleep, in FIFO order. Bits 0-15 how many there are; bits
//           16-25 number of wakes; bits 26-31 fork generation. Unlike word_ it does not change
//           while the lock is released and taken again, so that a waiter can fall asleep.
//   spin_   bit 15 a newcomer spins; bits 12-14 its fork generation; bits 9-11 the learned pace;
//           bits 0-8 the learned budget.
// After a fork, roles and counts that threads of the parent left are told by their generation and
// ignored.
//
// Invariants
//   I1  word_ != 0 exactly while a thread holds the lock or a grant is under way.
//   I2  Every sleeper has counted itself in queue_ and then found word_ == 2 (having set it), or
//       the seat occupied. So the wake it needs comes after its count: by the holder that finds
//       word_ == 2, or by the occupant, who takes the lock as 2 or passes the wake on (give_up).
//   I3  unlock() changes queue_ before it releases a lock whose word_ is 2, and wakes afterwards: a
//       waiter that counted itself before and does not sleep yet will not.
//   I4  heir_ goes to called and granted only by the holder in unlock(), and to every other state
//       by the heir (called to no_heir: by a waiter that gives up). granted implies word_ != 0.
//   I5  A due heir has exchanged word_ to 2 after it became due: the holder it saw, or a later one,
//       finds heir_ in unlock(). A holder that read heir_ just before leaves the lock free; then
//       the heir looks again within heir_patience. So do the first sleeper, within first_patience,
//       and the others, within other_patience (they may have become the first), because a holder
//       may release through glibc's code, which knows neither heir_ nor queue_.
//
// Memory order (each tag stands at its site below)
//   [R]  release RMW of word_ to free -- synchronizes with [A].
//   [A]  acquire RMW of word_ that finds it free: the previous critical section happens-before
//        ours.
//   [G]  release RMW of heir_ to granted -- synchronizes with [T].
//   [T]  acquire load (or failed RMW) of heir_ that finds granted.
//   [Q]  acq_rel RMW of queue_ by a sleeper or by unlock(): a sleeper that counts itself after a
//        wake sees what the waker did to heir_ before it (I2).
//   [H]  relaxed load of heir_ in unlock(): a late sight costs a little time only (I5).
//   [X]  relaxed: hints (processor_, spin_, stamps), polls that decide only when to try [A], and
//        roles, which publish nothing but themselves.
//
// Checked by    tests/conformance (exclusion, time-outs, hand-over under barging, every entry),
//               tests/check/{lock_check,spinner_check}.cpp (explored with two and three threads;
//               who spins), tests/posix under SYNCOPATE_LOCK=auto, with glibc's condition variables
//               on it among others, tests/elide (with transactions and conditions),
//               tests/simulated_engine/{convoy,ratios,beside_foreign_load}.cpp.
#pragma once

#include <syncopate/locks/hand_over_lesson.h>
#include <syncopate/locks/spin_lesson.h>
#include <syncopate/locks/traits.h>
#include <syncopate/machine.h>

#include <atomic>
#include <bit>
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
    if (__builtin_expect(take_free(held), 1)) note_holder();
    else lock_contended();
  }

  // Blocks until the lock is held (true) or the deadline has passed (false).
  [[nodiscard]] bool lock_until(const machine::deadline& until) noexcept {
    if (!take_free(held) && !lock_slow(&until)) return false;
    note_holder();
    return true;
  }

  // Returns whether the lock was free and is now held. Wait-free.
  [[nodiscard]] bool try_lock() noexcept {
    if (!take_free(held)) return false;
    note_holder();
    return true;
  }

  // The same for a caller that has machine::known_self() at hand. Requires: me is it, and not 0.
  [[nodiscard]] bool try_lock_as(int me) noexcept {
    if (!take_free(held)) return false;
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
    if (__builtin_expect((heir_.load(std::memory_order_relaxed) & role_mask) != no_heir,  // [H]
                         0))
      return false;
    std::uint32_t expected = held;
    return word_.compare_exchange_strong(expected, free, std::memory_order_release,  // [R]
                                         std::memory_order_relaxed);                 // [X]
  }

  // Whether some thread holds the lock; a hint. A transaction that reads false has subscribed:
  // whoever takes the lock writes word_ by an atomic instruction, which aborts it.
  [[nodiscard]] bool is_locked() const noexcept {
    return word_.load(std::memory_order_relaxed) != free;  // [X]
  }

  // Whether somebody sleeps; a hint.
  [[nodiscard]] bool contended() const noexcept {
    return word_.load(std::memory_order_relaxed) > held ||                  // [X]
           (heir_.load(std::memory_order_relaxed) & role_mask) != no_heir;  // [X]
  }

  // Whether some thread has ever found the lock held; a hint, which in rare cases is forgotten.
  [[nodiscard]] bool has_been_contended() const noexcept {
    return (heir_.load(std::memory_order_relaxed) | queue_.load(std::memory_order_relaxed) |  // [X]
            spin_.load(std::memory_order_relaxed)) != 0;                                      // [X]
  }

  // Kernel thread id of the holder, 0 if free or unknown; a hint unless the caller is the holder.
  [[nodiscard]] int owner() const noexcept { return holder_.owner; }

 private:
  friend struct auto_lock_layout;

  enum : std::uint32_t { free = 0, held = 1, held_sleepers = 2 };
  enum : std::uint32_t { no_heir, called, seated, due, due_asleep, granted };
  enum class outcome { acquired, woken, gave_up, timed_out };

  // Parts of heir_ and queue_.
  static constexpr std::uint32_t role_mask = 7, heir_generation_mask = 0xfff8;
  static constexpr unsigned heir_generation_shift = 3, stamp_position = 16;
  static constexpr std::uint32_t sleeper = 1, sleepers_mask = 0xffff, one_wake = 1u << 16;
  static constexpr unsigned queue_generation_shift = 26;

  // Parts of spin_, beside the lesson.
  static constexpr std::uint16_t announced = 0x8000;
  static constexpr unsigned generation_shift = spin_lesson::bits_used;
  static constexpr std::uint32_t explore_one_in = 16;  // slow paths that spin as long as can pay
  // Contended changes of holder that follow each other within so many units of 1,024 ticks slow the
  // pace down, others speed it up: a change costs about 500 ticks of cache misses
  // (bench/pthread_load contended, 2 threads).
  static constexpr std::uint64_t hectic = 1;
  static constexpr std::uint32_t max_pauses = 16;       // between two polls of a newcomer
  static constexpr std::uint64_t preempted = 1u << 18;  // ticks between two looks of a spinner
  static constexpr unsigned enough_processors = 4;      // for holder, heir, spinner and another

  // An heir takes a lock only if it is free at several looks in a row: a busy lock is left to the
  // thread that runs with it, until the heir is due; an idle one is taken in about a microsecond.
  static constexpr int heir_looks = 4;
  static constexpr std::uint32_t look_pauses = 6, heir_pauses = 128;
  static constexpr std::uint64_t yield_every = 1u << 15;  // ticks an heir keeps the processor
  static constexpr std::uint64_t due_polls = 1u << 13;    // ticks a due heir polls, then it sleeps
  static constexpr std::int64_t nap = 50'000;  // ns between an heir's looks from its sleep
  static constexpr std::int64_t heir_patience = 1'000'000;    // ns, the same once it is due (I5)
  static constexpr std::int64_t first_patience = 2'000'000;   // ns, the same for the first sleeper
  static constexpr std::int64_t other_patience = 50'000'000;  // ns, the same for the others
  static constexpr std::uint32_t late_one_in = 16;  // contended unlocks that look at the clock
  static constexpr std::uint64_t soon = hand_over_lesson::least / 4;  // ticks from look to look
  // One wake in so many also goes to word_, where waiters inside glibc's code sleep.
  static constexpr std::uint32_t glibc_share = 16;

  // One waiter's way through lock_slow().
  struct attempt {
    const machine::deadline* until;
    std::uint64_t arrival;
  };

  bool take_free(std::uint32_t as) noexcept {
    std::uint32_t expected = free;
    return word_.compare_exchange_strong(expected, as, std::memory_order_acquire,  // [A]
                                         std::memory_order_relaxed);               // [X]
  }

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
      if (end == outcome::woken) end = inherit(my);  // gave_up: another has the seat; sleep again
      if (end == outcome::acquired) return true;
      if (end == outcome::timed_out) return false;
    }
  }

  // ---- spinning -------------------------------------------------------------------------------

  // What spin_ holds while a thread of this process image spins; without the lesson.
  static std::uint16_t announcement() noexcept {
    return static_cast<std::uint16_t>(announced | (machine::fork_generation() % 8)
                                                      << generation_shift);
  }
  [[nodiscard]] bool spinner_is_announced(std::uint16_t seen) const noexcept {
    return seen >> generation_shift == announcement() >> generation_shift;
  }

  // Returns false if another newcomer spins; else what was learned.
  bool announce_spinner(spin_lesson& so_far) noexcept {
    std::uint16_t seen = spin_.load(std::memory_order_relaxed);  // [X]
    so_far = spin_lesson::from_bits(seen);
    return !spinner_is_announced(seen) &&
           spin_.compare_exchange_strong(
               seen, static_cast<std::uint16_t>(announcement() | so_far.bits()),
               std::memory_order_relaxed, std::memory_order_relaxed);  // [X]
  }

  void withdraw_spinner(const spin_lesson& next) noexcept {
    spin_.store(next.bits(), std::memory_order_relaxed);  // [X]
  }

  // Others wait already. With more threads than processors, spinners may only fill the run queues,
  // and being preempted in the middle of a spin is the longest wait.
  [[nodiscard]] bool has_queue() const noexcept {
    return word_.load(std::memory_order_relaxed) > held ||             // [X]
           role_of(heir_.load(std::memory_order_relaxed)) != no_heir;  // [X]
  }

  // A newcomer polls all the same, or each section ends in a wake-up, during which the lock is idle
  // and a processor, too. *Simulated* with 4 and 8 threads on 2 processors, sections as long as
  // what is outside of them (3,000 ticks): 1.55 times as fast as where all sleep behind a queue,
  // and as fast as tatas; the longest wait 0.1 and 0.4 ms, tatas' 20 and 18 ms
  // (tests/simulated_engine/ratios.cpp). But with few processors not while a waiter that was called
  // is late: it needs the newcomer's. And with processors to spare not where the heir is the only
  // other waiter of a hectic lock: the holder then does many sections at full speed, until the heir
  // is due. *Measured* on 16 processors, 4 to 64 threads: sections of 1,000 and 5,000 ticks 1.5 to
  // 1.9 times as fast, of 100 ticks 0.9 times.
  [[nodiscard]] bool may_overtake() const noexcept {
    if (machine::processors() < enough_processors)
      return role_of(heir_.load(std::memory_order_relaxed)) == no_heir ||  // [X]
             units_since_change(machine::ticks()) << stamp_shift <= lesson.period();
    return (current(queue_.load(std::memory_order_relaxed)) & sleepers_mask) != 0 ||  // [X]
           spin_lesson::from_bits(spin_.load(std::memory_order_relaxed)).pace == 0;   // [X]
  }

  outcome spin_as_newcomer(attempt& my) noexcept {
    spin_lesson now;
    if (holder_cannot_run() || !announce_spinner(now)) return outcome::gave_up;
    now = now.or_first();
    const bool explore = (my.arrival / spin_lesson::budget_unit) % explore_one_in == 0;
    const outcome end = spin(my, my.arrival + now.ticks(explore), now.pace);
    if (end == outcome::acquired) {
      const std::uint64_t waited = machine::ticks() - my.arrival;
      now = now.after_success(waited, note_change_of_holder());
    } else if (!explore) {
      now = now.after_failure();
    }
    withdraw_spinner(now);
    return end;
  }

  // Returns whether the last contended change was only just before.
  bool note_change_of_holder() noexcept {
    const std::uint64_t time = machine::ticks();
    const bool is_hectic = units_since_change(time) < hectic;
    std::uint32_t seen = heir_.load(std::memory_order_relaxed);  // [X]
    if (role_of(seen) == no_heir)
      heir_.compare_exchange_strong(seen, as_heir(no_heir, time), std::memory_order_relaxed,  // [X]
                                    std::memory_order_relaxed);                               // [X]
    return is_hectic;
  }

  outcome spin(attempt& my, std::uint64_t limit, std::uint32_t pace) noexcept {
    std::uint64_t last = my.arrival;
    for (std::uint32_t pauses = 1u << pace;; pauses = pauses < max_pauses ? 2 * pauses : pauses) {
      if (word_.load(std::memory_order_relaxed) == free) {  // [X]
        if (take_free(held)) return outcome::acquired;
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

  static std::uint32_t queue_generation() noexcept {
    return machine::fork_generation() << queue_generation_shift;
  }
  // What a thread of a parent process counted is forgotten.
  static std::uint32_t current(std::uint32_t queue) noexcept {
    const std::uint32_t generation = queue_generation();
    return queue >> queue_generation_shift == generation >> queue_generation_shift ? queue
                                                                                   : generation;
  }
  // Adds a sleeper, or a wake; the number of wakes wraps within its bits. Returns the new value.
  std::uint32_t change_queue(std::uint32_t added) noexcept {
    std::uint32_t seen = queue_.load(std::memory_order_relaxed), next;  // [X]
    do {
      const std::uint32_t now = current(seen);
      next = queue_generation() | ((now + added) & ((1u << queue_generation_shift) - 1));
    } while (!queue_.compare_exchange_weak(seen, next, std::memory_order_acq_rel,  // [Q]
                                           std::memory_order_relaxed));            // [X]
    return next;
  }

  outcome sleep(attempt& my) noexcept {
    const std::uint32_t queue = change_queue(sleeper);
    outcome end = outcome::acquired;
    if (role_of(heir_.load(std::memory_order_relaxed)) != no_heir ||       // [X]
        word_.exchange(held_sleepers, std::memory_order_acquire) != free)  // [A]
      end = sleep_counted(my, queue);
    change_queue(0u - sleeper);
    if (end == outcome::acquired) nobody_called();
    return end == outcome::timed_out ? give_up() : end;
  }

  // Returns woken also without cause: the seat, if free, is then ours as well as another's.
  outcome sleep_counted(attempt& my, std::uint32_t queue) noexcept {
    for (;;) {
      const bool first = (queue & sleepers_mask) == sleeper;
      const std::int64_t patience = first ? first_patience : other_patience;
      const bool expires = my.until != nullptr && machine::remaining(*my.until) < patience;
      const machine::deadline look = machine::after(patience);
      if (machine::park(queue_, queue, expires ? my.until : &look) !=
          machine::park_result::timed_out)
        return outcome::woken;
      if (expires) return outcome::timed_out;
      if (role_of(heir_.load(std::memory_order_relaxed)) <= called &&        // [X]
          word_.exchange(held_sleepers, std::memory_order_acquire) == free)  // [A]
        return outcome::acquired;
    }
  }

  // `called` may have meant a sleeper that is none any more: this one. Requires: this thread holds
  // the lock as 2, or is about to exchange word_ to 2 (I2 for those that relied on the call).
  void nobody_called() noexcept {
    std::uint32_t seen = heir_.load(std::memory_order_relaxed);  // [X]
    if (role_of(seen) == called)
      heir_.compare_exchange_strong(seen, as_heir(no_heir, seen), std::memory_order_relaxed,  // [X]
                                    std::memory_order_relaxed);                               // [X]
  }

  // A waiter whose time is up may have been called, or may be the heir that others rely on (I2): it
  // clears the way, makes the next unlock() wake somebody, and passes on a wake it may have got.
  outcome give_up() noexcept {
    nobody_called();
    if (word_.exchange(held_sleepers, std::memory_order_acquire) == free)  // [A]
      return outcome::acquired;
    change_queue(one_wake);
    machine::wake(&queue_, 1);
    return outcome::timed_out;
  }

  // ---- inheriting -----------------------------------------------------------------------------

  // Stamps are in units of 1,024 ticks modulo 2^16 units (32 ms at 2 GHz): an old stamp may look
  // young, which costs one period at worst.
  static constexpr unsigned stamp_shift = 10;
  [[nodiscard]] std::uint64_t units_since_change(std::uint64_t time) const noexcept {
    const std::uint32_t stamp = heir_.load(std::memory_order_relaxed) >> stamp_position;  // [X]
    return static_cast<std::uint16_t>((time >> stamp_shift) - stamp);
  }

  static std::uint32_t with_generation(std::uint32_t role) noexcept {
    return (machine::fork_generation() << heir_generation_shift & heir_generation_mask) | role;
  }
  // heir_ with this role; the stamp taken from another value of heir_, or from a time.
  static std::uint32_t as_heir(std::uint32_t role, std::uint32_t stamped) noexcept {
    return with_generation(role) | (stamped & ~(role_mask | heir_generation_mask));
  }
  static std::uint32_t as_heir(std::uint32_t role, std::uint64_t time) noexcept {
    return with_generation(role) | static_cast<std::uint32_t>(time >> stamp_shift)
                                       << stamp_position;
  }
  // no_heir also for what a thread of a parent process left.
  static std::uint32_t role_of(std::uint32_t heir) noexcept {
    return (heir & heir_generation_mask) == with_generation(no_heir) ? heir & role_mask
                                                                     : std::uint32_t{no_heir};
  }

  // Takes the seat and waits in it: first for the lock to be free, then, due, for the grant.
  // gave_up: another thread has the seat.
  outcome inherit(attempt& my) noexcept {
    std::uint32_t seen = heir_.load(std::memory_order_relaxed);  // [X]
    if (role_of(seen) > called || !heir_.compare_exchange_strong(seen, as_heir(seated, seen),
                                                                 std::memory_order_relaxed,   // [X]
                                                                 std::memory_order_relaxed))  // [X]
      return outcome::gave_up;
    outcome end = wait_until_due(my);
    if (end == outcome::gave_up) {
      heir_.store(as_heir(due, seen), std::memory_order_relaxed);  // [X]
      end = wait_for_grant(my);  // a grant may race with a time-out: that one has left the seat
      if (end == outcome::timed_out) return give_up();
    }
    heir_.store(as_heir(no_heir, machine::ticks()), std::memory_order_relaxed);  // [X]
    return end == outcome::timed_out ? give_up() : end;
  }

  [[nodiscard]] bool is_idle() const noexcept {
    for (std::uint32_t look = 1;; ++look) {
      if (word_.load(std::memory_order_relaxed) != free) return false;  // [X]
      if (look == heir_looks) return true;
      machine::spin(look * look_pauses);  // unequal, so as not to keep step with the lock's users
    }
  }

  // gave_up: due.
  outcome wait_until_due(attempt& my) noexcept {
    const std::uint64_t start = machine::ticks();
    const std::uint64_t due_time =
        start - (units_since_change(start) << stamp_shift) + lesson.period();
    std::uint64_t next_yield = start + yield_every;
    for (std::uint32_t pauses = 1;; pauses = pauses < heir_pauses ? 2 * pauses : pauses) {
      if (is_idle() && take_free(held_sleepers)) return outcome::acquired;
      if (has_passed(due_time)) return outcome::gave_up;
      if (!machine::may_spin() || holder_cannot_run()) {
        // The holder needs this processor.
        const machine::deadline look = machine::after(nap);
        machine::park(heir_, heir_.load(std::memory_order_relaxed), &look);  // [X]
      } else if (has_passed(next_yield)) {
        machine::yield();
        next_yield = machine::ticks() + yield_every;
      } else {
        machine::spin(pauses);
      }
      if (my.until != nullptr && machine::remaining(*my.until) <= 0) return outcome::timed_out;
    }
  }

  [[nodiscard]] bool is_granted() const noexcept {
    if (role_of(heir_.load(std::memory_order_acquire)) != granted) return false;  // [T]
    // From the grant until now all have waited for this thread.
    lesson.note(units_since_change(machine::ticks()) << stamp_shift);
    return true;
  }

  outcome wait_for_grant(attempt& my) noexcept {
    if (word_.exchange(held_sleepers, std::memory_order_acquire) == free)  // [A]
      return outcome::acquired;
    const std::uint64_t limit = machine::ticks() + due_polls;
    while (machine::may_spin() && !holder_cannot_run() && !has_passed(limit)) {
      if (is_granted()) return outcome::acquired;
      machine::relax();
    }
    std::uint32_t state = heir_.load(std::memory_order_relaxed);  // [X]
    const std::uint32_t asleep = as_heir(due_asleep, state);
    if (role_of(state) == granted ||
        !heir_.compare_exchange_strong(state, asleep, std::memory_order_relaxed,  // [X]
                                       std::memory_order_relaxed))                // [X]
      return is_granted() ? outcome::acquired : outcome::gave_up;
    for (;;) {
      const bool expires = my.until != nullptr && machine::remaining(*my.until) < heir_patience;
      const machine::deadline look = machine::after(heir_patience);
      const auto result = machine::park(heir_, asleep, expires ? my.until : &look);
      if (is_granted()) return outcome::acquired;
      if (result != machine::park_result::timed_out) continue;
      if (word_.exchange(held_sleepers, std::memory_order_acquire) == free)  // [A] I5
        return outcome::acquired;
      state = asleep;
      if (expires && heir_.compare_exchange_strong(state, as_heir(no_heir, asleep),
                                                   std::memory_order_acquire,   // [T]
                                                   std::memory_order_acquire))  // [T]
        return outcome::timed_out;
    }
  }

  // ---- releasing ------------------------------------------------------------------------------

  [[gnu::noinline]] void unlock_contended() noexcept {
    const void* const word_address = &word_;
    const void* const queue_address = &queue_;
    std::uint32_t seen = heir_.load(std::memory_order_relaxed);  // [H]
    while (role_of(seen) >= due)
      if (grant(seen)) return;
    const bool late = role_of(seen) != no_heir && machine::now_and_then(late_one_in) &&
                      comes_back_soon() && heir_is_late();
    std::uint32_t queue = 0;  // its new value, once a wake was announced (I3)
    std::uint32_t value = word_.load(std::memory_order_relaxed);  // [X]
    do {
      if (value == held_sleepers && queue == 0) {
        if (role_of(seen) == no_heir && (current(queue_.load(std::memory_order_relaxed)) &  // [X]
                                         sleepers_mask) != 0)
          heir_.compare_exchange_strong(seen, as_heir(called, machine::ticks()),
                                        std::memory_order_relaxed,   // [X]
                                        std::memory_order_relaxed);  // [X]
        queue = change_queue(one_wake);
      }
    } while (!word_.compare_exchange_weak(value, free, std::memory_order_release,  // [R]
                                          std::memory_order_relaxed));             // [X]
    if (value == held_sleepers) {
      const bool ours = (queue & sleepers_mask) != 0;
      if (ours) machine::wake(queue_address, 1);
      if (!ours || queue / one_wake % glibc_share == 0) machine::wake(word_address, 1);
    }
    if (late) make_room();
  }

  // The heir should have sat down, or become due, long ago: it wants to run and cannot, perhaps
  // because of us, though another processor may be idle (kernels balance after milliseconds only).
  [[nodiscard]] bool heir_is_late() const noexcept {
    const std::uint64_t time = machine::ticks();
    const std::uint64_t since = units_since_change(time) << stamp_shift;
    if (since <= 2 * lesson.period()) return false;
    if (time - since > last_yield.begun) return true;
    lesson.note(last_yield.took);  // in vain: the processor went to another process
    last_yield = {};
    return since > 2 * lesson.period();
  }

  // Whether this thread has done late_one_in contended unlocks in quick succession. Only such make
  // room for an heir: a yield may cost the rest of a time slice, and a thread that is back only
  // after other work may have to do with a lock that others want more. *Measured* with Python's
  // global lock (bench/sqlite_load.py, 4 threads on 2 processors): 1.03 of glibc's rate, 0.87 where
  // all yield.
  static bool comes_back_soon() noexcept {
    const std::uint64_t time = machine::ticks(), before = last_look;
    last_look = time;
    return time - before < soon;
  }

  static void make_room() noexcept {
    const std::uint64_t start = machine::ticks();
    machine::yield();
    last_yield = {start, machine::ticks() - start};
  }

  // Returns false when the heir has left meanwhile; `seen` is then new.
  bool grant(std::uint32_t& seen) noexcept {
    const void* const heir_address = &heir_;
    word_.store(held_sleepers, std::memory_order_relaxed);  // [X]
    if (!heir_.compare_exchange_strong(seen, as_heir(granted, machine::ticks()),
                                       std::memory_order_release,   // [G]
                                       std::memory_order_relaxed))  // [X]
      return false;
    if (role_of(seen) == due_asleep) machine::wake(heir_address, 1);
    return true;
  }

  static inline thread_local constinit std::uint64_t last_look = 0;
  static inline thread_local constinit hand_over_lesson lesson{};
  struct yield_made {
    std::uint64_t begun, took;  // ticks
  };
  static inline thread_local constinit yield_made last_yield{0, 0};

  std::atomic<std::uint32_t> word_{free};
  [[maybe_unused]] std::uint32_t count_{0};  // glibc's recursion count; not ours
  struct holder {
    int owner;            // kernel thread id, 0 if free
    std::uint32_t users;  // 1 while held
  };
  alignas(8) holder holder_{0, 0};
  [[maybe_unused]] int kind_{0};  // glibc's mutex kind; not ours
  std::atomic<std::uint16_t> spin_{0};
  std::atomic<std::uint16_t> processor_{0};
  std::atomic<std::uint32_t> heir_{no_heir};
  std::atomic<std::uint32_t> queue_{0};
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
