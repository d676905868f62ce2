// heir_seat.h -- of auto_lock's second part, the seat of the waiter whose turn it is (the heir),
// and how the lock is handed to it.
//
// Source        designated waker: abseil Mutex; eventual fairness: WTF::Lock and parking_lot.
// Space         4 B: bits 0-2 the role; bits 3-15 the fork generation; bits 16-31 the stamp, which
//               tells when the lock last changed hands under contention (1,024 ticks a unit).
//
// Legal states
//   role        means                                     left by     to
//   no_heir     nobody's turn                             the holder  called
//                                                         a waiter    seated
//   called      a sleeper was woken and comes for it      a waiter    seated; no_heir (it gives up)
//   seated      the heir waits for the lock to be free    the heir    due; no_heir
//   due         it has waited for long: the next unlock   the heir    due_asleep; no_heir
//               hands the lock over                       the holder  granted
//   due_asleep  as due; the heir sleeps on the seat       the heir    no_heir (its time is up)
//                                                         the holder  granted
//   granted     the lock is the heir's                    the heir    no_heir
//
// Obligations
//   S1  Only the holder calls and grants; only the heir leaves due and later roles otherwise.
//   S2  Legal: to fail to grant though an heir is due, for it looks again by itself. Illegal: to
//       release the lock behind grant().
//   S3  Legal: called although nobody comes (the sleeper had timed out). Then a waiter has to
//       uncall(), and to see to it that the next unlock wakes somebody.
//   S4  What threads of a parent process left is no_heir (their generation is another).
//
// Memory order (each tag stands at its site below)
//   [G]  release RMW to granted -- synchronizes with [T].
//   [T]  acquire load that finds granted: the granter's section happens-before.
//   [X]  relaxed: roles publish nothing but themselves; a late sight costs a little time only.
//
// Checked by    tests/check/auto_parts_check.cpp (one heir; a grant against a time-out).
#pragma once

#include <syncopate/machine.h>

#include <atomic>
#include <cassert>
#include <cstdint>

namespace syncopate::auto_parts {

class heir_seat {
 public:
  enum role : std::uint32_t { no_heir, called, seated, due, due_asleep, granted };
  using state = std::uint32_t;

  [[nodiscard]] state look() const noexcept {
    return seat_.load(std::memory_order_relaxed);  // [X]
  }
  [[nodiscard]] bool is_taken() const noexcept { return role_of(look()) != no_heir; }
  // In two instructions; true also for what a thread of a parent process left.
  [[nodiscard]] bool may_be_taken() const noexcept { return (look() & role_mask) != no_heir; }
  static role role_of(state seen) noexcept {
    return (seen & generation_mask) == with_generation(no_heir)
               ? static_cast<role>(seen & role_mask)
               : no_heir;
  }

  // Ticks since the lock last changed hands under contention, modulo 2^26 (27 ms at 2.4 GHz): an
  // old change may look young, which costs one period at worst.
  [[nodiscard]] std::uint64_t ticks_since_change(std::uint64_t time) const noexcept {
    return std::uint64_t{units_since_change(time)} << stamp_shift;
  }
  // Whether it was only just before: within a unit.
  [[nodiscard]] bool just_changed(std::uint64_t time) const noexcept {
    return units_since_change(time) == 0;
  }

  // ---- the holder -------------------------------------------------------------------------------

  // A sleeper will be woken to be heir. `seen` is what it looked like, and is new where it changed.
  void call(state& seen, std::uint64_t time) noexcept { change(seen, stamped(called, time)); }

  // Hands the lock over. Returns false when the heir has left meanwhile; `seen` is then new.
  bool grant(state& seen, std::uint64_t time) noexcept {
    return seat_.compare_exchange_strong(seen, stamped(granted, time),
                                         std::memory_order_release,   // [G]
                                         std::memory_order_relaxed);  // [X]
  }

  // Whoever took a lock that others wanted notes the time, where there is no heir to do so.
  void note_change(std::uint64_t time) noexcept {
    state seen = look();
    if (role_of(seen) == no_heir) change(seen, stamped(no_heir, time));
  }

  // ---- waiters ----------------------------------------------------------------------------------

  // Returns false when another has the seat; `seen` is how it was before.
  bool sit(state& seen) noexcept {
    seen = look();
    return role_of(seen) <= called && change(seen, as(seated, seen));
  }

  // Whoever was called is a sleeper no more (S3).
  void uncall() noexcept {
    state seen = look();
    if (role_of(seen) == called) change(seen, as(no_heir, seen));
  }

  // ---- the heir ---------------------------------------------------------------------------------

  void become_due(state seated_as) noexcept {
    seat_.store(as(due, seated_as), std::memory_order_relaxed);  // [X]
  }

  // From due to due_asleep, which is `asleep` then. Returns false when granted.
  bool fall_asleep(state& asleep) noexcept {
    state seen = look();
    asleep = as(due_asleep, seen);
    return role_of(seen) != granted && change(seen, asleep);
  }
  machine::park_result sleep(state asleep, const machine::deadline* until) noexcept {
    return machine::park(seat_, asleep, until);
  }

  [[nodiscard]] bool is_granted() const noexcept {
    return role_of(seat_.load(std::memory_order_acquire)) == granted;  // [T]
  }

  // Leaves the seat, with the lock or without. Requires: not due, or the lock is held.
  void leave(std::uint64_t time) noexcept {
    seat_.store(stamped(no_heir, time), std::memory_order_relaxed);  // [X]
  }
  // Returns false where the lock was granted instead: is_granted() is next.
  bool leave_unless_granted(state asleep) noexcept {
    const state left = as(no_heir, asleep);
    return change(asleep, left);
  }

  // Requires: the caller holds the lock, and is not on its way to it: a grant is over (S1, S2).
  void check_held() const noexcept { assert(role_of(look()) < granted); }
  // Requires: nobody waits (S3).
  void check_at_rest() const noexcept { assert(!is_taken()); }

  // For machine::wake(): an address only.
  [[nodiscard]] const void* futex() const noexcept { return &seat_; }

 private:
  static constexpr std::uint32_t role_mask = 7, generation_mask = 0xfff8;
  static constexpr unsigned generation_shift = 3, stamp_position = 16, stamp_shift = 10;

  static state with_generation(role role) noexcept {
    return (machine::fork_generation() << generation_shift & generation_mask) | role;
  }
  // With the stamp of another state, or of a time.
  static state as(role role, state from) noexcept {
    return with_generation(role) | (from & ~(role_mask | generation_mask));
  }
  static state stamped(role role, std::uint64_t time) noexcept {
    return with_generation(role) | static_cast<std::uint32_t>(time >> stamp_shift)
                                       << stamp_position;
  }
  [[nodiscard]] std::uint16_t units_since_change(std::uint64_t time) const noexcept {
    return static_cast<std::uint16_t>((time >> stamp_shift) - (look() >> stamp_position));
  }
  bool change(state& seen, state to) noexcept {
    return seat_.compare_exchange_strong(seen, to, std::memory_order_relaxed,  // [X]
                                         std::memory_order_relaxed);           // [X]
  }

  std::atomic<state> seat_{no_heir};
};

}  // namespace syncopate::auto_parts
