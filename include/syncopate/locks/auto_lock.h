// auto_lock.h -- the lock for those who choose nothing: learns when to spin, sleeps otherwise, and
// lets nobody starve.
//
// Source        The word protocol is glibc's (Drepper, "Futexes Are Tricky", 2011, "mutex2"), with
//               one more value. Spin budget per lock: after glibc's adaptive mutex and Mozilla's;
//               designated waker: abseil Mutex; eventual fairness: WTF::Lock and parking_lot.
// Fairness      eventual: a running thread may overtake, until a waiter that was woken has waited
//               for one hand_over_period since the last hand-over; then the lock is handed to it.
// Space         32 B per lock, laid out as the first 32 bytes of glibc's pthread_mutex_t; 0 B per
//               waiter.
// Uncontended   lock 1 RMW + 3 stores; unlock 1 load + 1 RMW + 2 stores; one cache line.
// Contended     at most one waiter polls, with growing pauses; the others sleep in FIFO order.
//
// State of word_                                            who wakes a sleeper
//   0 free
//   1 held                                                  nobody sleeps, or somebody awake
//                                                           remembers the sleepers
//   2 held_sleepers   held; threads may sleep on word_      unlock() wakes one
//   3 held_spinner    as 2, and the announced spinner is    the spinner takes the lock as 2
//                     awake and remembers the sleepers
// glibc's own code (its condition variables, C11 threads) treats 3 like 2 and may run on the same
// mutex at any time: it wakes one sleeper too many at worst.
//
// State of heir_, the seat of the waiter that was woken last and found the lock taken again:
//   0 no_heir
//   1 seated      awake or napping: unlock() need not wake anyone; the heir remembers the sleepers
//   2 due         it has waited long enough: the next unlock() must hand the lock over
//   3 due_asleep  as 2, and it sleeps on heir_
//   4 granted     the lock is the heir's (word_ stays 2)
// The other bits of heir_ are the heir's fork generation. State of spin_: bit 15 a newcomer spins,
// bits 10-14 its fork generation, bits 0-9 the learned budget. After a fork, what a spinner or heir
// of the parent left behind is recognized by its generation and ignored.
//
// Invariants
//   I1  word_ != 0 exactly while a thread holds the lock or a grant is under way.
//   I2  While a thread sleeps on word_: word_ is 2; or it is 3 and the announced spinner is awake; or
//       a thread woken from word_ is awake or seated. Whoever remembers sleepers in this sense
//       acquires with 2, or exchanges word_ to 2 before it sleeps or gives up.
//   I3  At most one thread has the announced bit of spin_; only it changes word_ from 2 to 3.
//   I4  heir_ leaves no_heir and returns to it only by the heir; it goes to granted only by the
//       holder in unlock(), from due or due_asleep. granted implies word_ != 0.
//   I5  A due heir has exchanged word_ to 2 after it became due: the holder it saw, or a later one,
//       finds heir_ in unlock(). A holder that read heir_ just before leaves the lock free; if
//       nobody takes and releases it, the heir looks again within heir_patience.
//
// Memory order (each tag stands at its site below)
//   [R]  release RMW of word_ to free -- synchronizes with [A].
//   [A]  acquire RMW of word_ that finds it free: the previous critical section happens-before ours.
//   [G]  release RMW of heir_ to granted -- synchronizes with [T].
//   [T]  acquire load (or failed RMW) of heir_ that finds granted.
//   [H]  relaxed load of heir_ in unlock(): a late sight costs a little time only (I5).
//   [X]  relaxed: hints (processor_, spin_, handed_), polls that decide only when to try [A], and
//        changes among 1, 2 and 3, which publish nothing but themselves.
//
// Checked by    tests/conformance (exclusion, hand-over under barging, every entry), tests/posix
//               under SYNCOPATE_LOCK=auto, with glibc's condition variables on it among others.
#pragma once

#include <syncopate/locks/traits.h>
#include <syncopate/machine.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace syncopate {

class auto_lock {
 public:
  static constexpr lock_traits traits{
      .fair = fairness::eventual,
      .timed = true,
      .summary = "learns when to spin, sleeps otherwise, hands over to waiters that waited long",
      .source = "glibc's word protocol; abseil, WTF::Lock, parking_lot for the policies"};

  // Ticks between two hand-overs to waiters while others keep overtaking: bounds the wait to about
  // (waiters * period) and costs two context switches a period. 2^18 ticks are 0.13 ms at 2 GHz.
  static constexpr std::uint64_t hand_over_period = 1u << 18;

  // Blocks until the lock is held.
  void lock() noexcept {
    if (__builtin_expect(take_free(held), 1))
      note_holder();
    else
      lock_contended();
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
    owner_ = 0;
    users_ = 0;
    if (__builtin_expect(heir_.load(std::memory_order_relaxed) != no_heir, 0))          // [H]
      return unlock_for_heir();
    const void* const address = &word_;
    if (__builtin_expect(
            word_.exchange(free, std::memory_order_release) == held_sleepers, 0))       // [R]
      machine::wake(address, 1);
  }

  // The same for an observer: returns false, with the lock still held, where a waiter would have to
  // be seen to; then unlock() is next.
  [[nodiscard]] bool unlock_uncontended() noexcept {
    if (__builtin_expect(heir_.load(std::memory_order_relaxed) != no_heir, 0))          // [H]
      return false;
    owner_ = 0;
    users_ = 0;
    std::uint32_t expected = held;
    return __builtin_expect(
        word_.compare_exchange_strong(expected, free, std::memory_order_release,        // [R]
                                      std::memory_order_relaxed), 1);                   // [X]
  }

  // Whether somebody sleeps; a hint.
  [[nodiscard]] bool contended() const noexcept {
    return word_.load(std::memory_order_relaxed) > held ||                              // [X]
           heir_.load(std::memory_order_relaxed) != no_heir;                            // [X]
  }

  // Kernel thread id of the holder, 0 if free or unknown; a hint unless the caller is the holder.
  [[nodiscard]] int owner() const noexcept { return owner_; }

 private:
  friend struct auto_lock_layout;

  enum : std::uint32_t { free = 0, held = 1, held_sleepers = 2, held_spinner = 3 };
  enum : std::uint32_t { no_heir = 0, seated = 1, due = 2, due_asleep = 3, granted = 4 };
  enum class outcome { acquired, woken, gave_up, timed_out };

  static constexpr std::uint32_t role_mask = 7;        // of heir_; the rest is the generation
  static constexpr std::uint16_t announced = 0x8000;   // of spin_
  static constexpr std::uint16_t budget_mask = 0x03ff;
  static constexpr std::uint32_t budget_unit = 64;      // ticks
  static constexpr std::uint32_t min_budget = 8;        // 512 ticks: a cheap probe
  static constexpr std::uint32_t first_budget = 128;    // 8,192 ticks, until something was learned
  static constexpr std::uint32_t max_budget = 640;      // 40,960 ticks: two sleeps and wake-ups
  static constexpr std::uint32_t explore_one_in = 16;   // slow paths that spin to max_budget
  // Pauses between two polls double up to here. Each poll takes the line from the holder, so rare
  // polls are what lets the holder run at full speed (bench/pthread_load contended, 2 threads).
  static constexpr std::uint32_t newcomer_pauses = 128, heir_pauses = 256;
  static constexpr std::uint64_t preempted = 1u << 18;    // ticks between two looks of a spinner
  static constexpr std::uint64_t yield_every = 1u << 15;  // ticks an heir keeps the processor
  static constexpr std::uint64_t due_polls = 1u << 13;  // ticks a due heir polls before it sleeps
  static constexpr std::int64_t nap = 50'000;           // ns between an heir's looks from its sleep
  static constexpr std::int64_t heir_patience = 1'000'000;  // ns, the same once it is due (I5)

  // One waiter's way through lock_slow().
  struct attempt {
    const machine::deadline* until;
    std::uint64_t arrival;
    std::uint32_t take_as = held;  // held_sleepers once this thread remembers sleepers (I2)
  };

  bool take_free(std::uint32_t as) noexcept {
    std::uint32_t expected = free;
    return word_.compare_exchange_strong(expected, as, std::memory_order_acquire,       // [A]
                                         std::memory_order_relaxed);                    // [X]
  }

  // The hot path has no call in it whose result it needs: the first time in a thread goes out of
  // line as a whole.
  void note_holder() noexcept {
    const int me = machine::known_self();
    if (__builtin_expect(me == 0, 0)) return note_new_holder();
    note_holder(me);
  }
  void note_holder(int me) noexcept {
    processor_.store(static_cast<std::uint16_t>(machine::processor_hint()),
                     std::memory_order_relaxed);                                        // [X]
    owner_ = me;
    users_ = 1;
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
    return processor_.load(std::memory_order_relaxed) ==                                // [X]
           static_cast<std::uint16_t>(machine::processor());
  }

  [[gnu::noinline]] bool lock_slow(const machine::deadline* until) noexcept {
    attempt my{until, machine::ticks()};
    if (machine::may_spin() && !has_queue() && spin_as_newcomer(my) == outcome::acquired)
      return true;
    for (;;) {
      outcome end = sleep(my);
      // Woken, it is our turn: take the lock, or the heir's seat if somebody overtook us. Else
      // (interrupted, or the word changed, or the seat is taken) sleep again.
      if (end == outcome::woken) end = take_free(held_sleepers) ? outcome::acquired : inherit(my);
      if (end == outcome::acquired) return true;
      if (end == outcome::timed_out) return false;
    }
  }

  // ---- spinning -------------------------------------------------------------------------------

  // What spin_ holds while a thread of this process image spins; without the budget.
  static std::uint16_t announcement() noexcept {
    return static_cast<std::uint16_t>(announced | (machine::fork_generation() % 32) << 10);
  }
  [[nodiscard]] bool spinner_is_announced(std::uint16_t seen) const noexcept {
    return (seen & ~budget_mask) == announcement();
  }

  // Returns false if another thread spins; else its learned budget.
  bool announce_spinner(std::uint32_t& budget) noexcept {
    std::uint16_t seen = spin_.load(std::memory_order_relaxed);                         // [X]
    budget = seen & budget_mask;
    return !spinner_is_announced(seen) &&
           spin_.compare_exchange_strong(
               seen, static_cast<std::uint16_t>(announcement() | budget),
               std::memory_order_relaxed, std::memory_order_relaxed);                   // [X]
  }

  void withdraw_spinner(std::uint32_t budget) noexcept {
    spin_.store(static_cast<std::uint16_t>(budget), std::memory_order_relaxed);         // [X]
  }

  // Others wait already. Then a newcomer sleeps at once: with more threads than processors, spinners
  // only fill the run queues, and being preempted in the middle of a spin is the longest wait.
  [[nodiscard]] bool has_queue() const noexcept {
    return word_.load(std::memory_order_relaxed) > held ||                              // [X]
           heir_.load(std::memory_order_relaxed) != no_heir;                            // [X]
  }

  outcome spin_as_newcomer(attempt& my) noexcept {
    std::uint32_t budget;
    if (holder_cannot_run() || !announce_spinner(budget)) return outcome::gave_up;
    if (budget == 0) budget = first_budget;
    const bool explore = (my.arrival / budget_unit) % explore_one_in == 0;
    const std::uint64_t limit = (explore ? max_budget : budget) * std::uint64_t{budget_unit};
    const outcome end = spin(my, my.arrival + limit);
    if (end == outcome::acquired) {
      // Twice the wait that paid, approached quickly from below and slowly from above.
      const std::uint64_t waited = (machine::ticks() - my.arrival) / budget_unit;
      const auto target = static_cast<std::uint32_t>(waited < max_budget / 2 ? 2 * waited
                                                                             : max_budget);
      budget = target > budget ? budget + (target - budget + 3) / 4
                               : budget - (budget - target) / 16;
    } else if (!explore) {
      budget -= budget / 8;
    }
    withdraw_spinner(budget < min_budget ? min_budget : budget);
    return end;
  }

  outcome spin(attempt& my, std::uint64_t limit) noexcept {
    std::uint64_t last = my.arrival;
    for (std::uint32_t pauses = 1;; pauses = pauses < newcomer_pauses ? 2 * pauses : pauses) {
      std::uint32_t value = word_.load(std::memory_order_relaxed);                      // [X]
      if (value == free) {
        if (take_free(my.take_as)) return outcome::acquired;
      } else {
        if (value == held_sleepers &&
            word_.compare_exchange_strong(value, held_spinner, std::memory_order_relaxed,  // [X]
                                          std::memory_order_relaxed))                   // [X]
          my.take_as = held_sleepers;
        if (holder_cannot_run()) return outcome::gave_up;
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

  // Whether somebody else remembers a thread that sleeps while word_ holds `value` (I2). If that
  // somebody stops doing so, word_ changes first, and the sleep does not begin.
  [[nodiscard]] bool is_remembered(const attempt& my, std::uint32_t value) const noexcept {
    if (value == held_sleepers) return true;
    const std::uint32_t heir = heir_.load(std::memory_order_relaxed);                   // [X]
    if (value == held && of_this_process(heir) && (heir & role_mask) == seated) return true;
    return value == held_spinner && my.take_as != held_sleepers &&
           spinner_is_announced(spin_.load(std::memory_order_relaxed));                 // [X]
  }

  outcome sleep(attempt& my) noexcept {
    std::uint32_t value = word_.load(std::memory_order_relaxed);                        // [X]
    if (!is_remembered(my, value)) {
      if (word_.exchange(held_sleepers, std::memory_order_acquire) == free)             // [A]
        return outcome::acquired;
      value = held_sleepers;
    }
    switch (machine::park(word_, value, my.until)) {
      case machine::park_result::woken: my.take_as = held_sleepers; return outcome::woken;
      case machine::park_result::timed_out: return outcome::timed_out;
      default: return outcome::gave_up;
    }
  }

  // ---- inheriting -----------------------------------------------------------------------------

  // Stamps are kept in units of 1,024 ticks and compared modulo 2^32 units (over 20 minutes).
  static constexpr unsigned stamp_shift = 10;
  static std::uint32_t stamp(std::uint64_t time) noexcept {
    return static_cast<std::uint32_t>(time >> stamp_shift);
  }
  [[nodiscard]] std::uint64_t last_hand_over() const noexcept {
    const std::uint64_t time = machine::ticks();
    const std::uint32_t since =
        stamp(time) - handed_.load(std::memory_order_relaxed);                          // [X]
    return time - (std::uint64_t{since} << stamp_shift);
  }
  static std::uint32_t as_heir(std::uint32_t role) noexcept {
    return machine::fork_generation() << 3 | role;
  }
  static bool of_this_process(std::uint32_t heir) noexcept {
    return (heir & ~role_mask) == as_heir(no_heir);
  }

  // Takes the seat and waits in it: first for the lock to be free, then, due, for the grant.
  // gave_up: another thread has the seat. Requires: this thread remembers sleepers.
  outcome inherit(attempt& my) noexcept {
    std::uint32_t seen = heir_.load(std::memory_order_relaxed);                         // [X]
    if ((seen != no_heir && of_this_process(seen)) ||
        !heir_.compare_exchange_strong(seen, as_heir(seated), std::memory_order_relaxed,  // [X]
                                       std::memory_order_relaxed))                      // [X]
      return outcome::gave_up;
    outcome end = wait_until_due(my);
    if (end == outcome::gave_up) {
      heir_.store(as_heir(due), std::memory_order_relaxed);                             // [X]
      end = wait_for_grant(my);  // a grant may race with a time-out: that one clears the seat
    } else if (end == outcome::timed_out) {
      heir_.store(no_heir, std::memory_order_relaxed);                                  // [X]
    }
    if (end == outcome::timed_out) {
      // From here on nobody remembers the sleepers (I2). One may sleep on `held`, so that only a
      // wake reaches it; the others are woken one by one, since word_ is 2.
      if (word_.exchange(held_sleepers, std::memory_order_acquire) == free)             // [A]
        return outcome::acquired;
      machine::wake(&word_, 1);
      return outcome::timed_out;
    }
    heir_.store(no_heir, std::memory_order_relaxed);                                    // [X]
    return end;
  }

  // gave_up: due.
  outcome wait_until_due(attempt& my) noexcept {
    const std::uint64_t due_time = last_hand_over() + hand_over_period;
    std::uint64_t next_yield = machine::ticks() + yield_every;
    for (std::uint32_t pauses = 1; !has_passed(due_time);
         pauses = pauses < heir_pauses ? 2 * pauses : pauses) {
      if (word_.load(std::memory_order_relaxed) == free && take_free(held_sleepers))    // [X]
        return outcome::acquired;
      if (!machine::may_spin() || holder_cannot_run()) {
        // The holder needs this processor.
        const machine::deadline look = machine::after(nap);
        machine::park(heir_, as_heir(seated), &look);
      } else if (has_passed(next_yield)) {
        machine::yield();
        next_yield = machine::ticks() + yield_every;
      } else {
        machine::spin(pauses);
      }
      if (my.until != nullptr && machine::remaining(*my.until) <= 0) return outcome::timed_out;
    }
    return outcome::gave_up;
  }

  outcome wait_for_grant(attempt& my) noexcept {
    if (word_.exchange(held_sleepers, std::memory_order_acquire) == free)               // [A]
      return outcome::acquired;
    if (machine::may_spin() && !holder_cannot_run() &&
        machine::wait_until(
            heir_, std::memory_order_acquire,                                           // [T]
            [](std::uint32_t state) { return (state & role_mask) == granted; },
            machine::ticks() + due_polls))
      return outcome::acquired;
    const std::uint32_t asleep = as_heir(due_asleep);
    std::uint32_t state = as_heir(due);
    if (!heir_.compare_exchange_strong(state, asleep, std::memory_order_acquire,        // [T]
                                       std::memory_order_acquire))                      // [T]
      return outcome::acquired;
    for (;;) {
      const bool expires = my.until != nullptr && machine::remaining(*my.until) < heir_patience;
      const machine::deadline look = machine::after(heir_patience);
      const auto result = machine::park(heir_, asleep, expires ? my.until : &look);
      if ((heir_.load(std::memory_order_acquire) & role_mask) == granted)               // [T]
        return outcome::acquired;
      if (result != machine::park_result::timed_out) continue;
      // The holder may have released without seeing us (I5).
      if (word_.exchange(held_sleepers, std::memory_order_acquire) == free)             // [A]
        return outcome::acquired;
      state = asleep;
      if (expires && heir_.compare_exchange_strong(state, no_heir,
                                                   std::memory_order_acquire,           // [T]
                                                   std::memory_order_acquire))          // [T]
        return outcome::timed_out;
    }
  }

  // unlock() that found somebody in the seat. Requires: the calling thread holds the lock.
  [[gnu::noinline]] void unlock_for_heir() noexcept {
    const void* const address = &word_;
    const void* const heir_address = &heir_;
    std::uint32_t seen = heir_.load(std::memory_order_relaxed);                         // [H]
    while (of_this_process(seen) && (seen & role_mask) >= due) {
      handed_.store(stamp(machine::ticks()), std::memory_order_relaxed);                // [X]
      word_.store(held_sleepers, std::memory_order_relaxed);                            // [X]
      if (heir_.compare_exchange_weak(seen, as_heir(granted), std::memory_order_release,  // [G]
                                      std::memory_order_relaxed)) {                     // [X]
        if ((seen & role_mask) == due_asleep) machine::wake(heir_address, 1);
        return;
      }
    }
    // A seated heir remembers the sleepers, except those that came before it sat down or after it
    // left: they have set word_ to 2. One that a parent process left behind does not exist.
    if (seen != no_heir && !of_this_process(seen))
      heir_.store(no_heir, std::memory_order_relaxed);                                  // [X]
    if (word_.exchange(free, std::memory_order_release) == held_sleepers)               // [R]
      machine::wake(address, 1);
  }

  std::atomic<std::uint32_t> word_{free};
  std::uint32_t count_{0};  // glibc's recursion count; not ours
  int owner_{0};
  std::uint32_t users_{0};
  int kind_{0};  // glibc's mutex kind; not ours
  std::atomic<std::uint16_t> spin_{0};
  std::atomic<std::uint16_t> processor_{0};
  std::atomic<std::uint32_t> heir_{no_heir};
  std::atomic<std::uint32_t> handed_{0};
};

// The offsets that glibc's struct __pthread_mutex_s shares with auto_lock; asserted by the pthread
// library, which places one inside the other.
struct auto_lock_layout {
  static constexpr std::size_t word = offsetof(auto_lock, word_);
  static constexpr std::size_t count = offsetof(auto_lock, count_);
  static constexpr std::size_t owner = offsetof(auto_lock, owner_);
  static constexpr std::size_t users = offsetof(auto_lock, users_);
  static constexpr std::size_t kind = offsetof(auto_lock, kind_);
};

}  // namespace syncopate
