// successor_slot.h -- of auto_lock's second part, the slot of the waiter whose turn it is (the
// successor), and how the lock is handed to it.
//
// Source        designated waker: abseil Mutex; eventual fairness: WTF::Lock and parking_lot.
// Space         4 B: bits 0-2 the role; bits 3-15 the fork generation; bits 16-31 the stamp, which
//               tells when the lock last changed hands under contention (1,024 ticks a unit).
//
// Legal states
//   role        means                                     left by     to
//   nobody      nobody's turn                             the holder  called
//                                                         a waiter    waiting
//   called      a sleeper, or several, were woken for it  a waiter    waiting; nobody (it gives up)
//   waiting     it waits for the lock to be free          it          due; nobody
//   due         it has waited for long: the next unlock   it          due_asleep; nobody
//               hands the lock over                       the holder  granted
//   due_asleep  as due; it sleeps on the slot             it          nobody (its time is up)
//                                                         the holder  granted
//   granted     the lock is the successor's               it          nobody
//
// Obligations
//   S1  Only the holder calls and grants; only the successor leaves due and later roles otherwise.
//   S2  Legal: to fail to grant though a successor is due, for it looks again by itself. Illegal:
//       to release the lock behind grant().
//   S3  Legal: called, once or more, although nobody comes (the sleeper had timed out), or several
//       do (the later ones sleep again, or one is the next successor). Where nobody comes, a waiter
//       has to uncall(), and to see to it that the next unlock wakes somebody; or, where it had
//       left just before the call, the next unlock has to uncall().
//   S4  What threads of a parent process left is nobody (their generation is another).
//
// Memory order (each tag stands at its site below)
//   [G]  release RMW to granted -- synchronizes with [T].
//   [T]  acquire load that finds granted: the granter's section happens-before.
//   [X]  relaxed: roles publish nothing but themselves; a late sight costs a little time only.
//
// Checked by    tests/check/auto_parts_check.cpp (one successor; a grant against a time-out).
#pragma once

#include <syncopate/machine.h>

#include <atomic>
#include <cassert>
#include <cstdint>

namespace syncopate::auto_parts {

class successor_slot {
 public:
  enum role : std::uint32_t { nobody, called, waiting, due, due_asleep, granted };
  using state = std::uint32_t;

  [[nodiscard]] state look() const noexcept {
    return slot_.load(std::memory_order_relaxed);  // [X]
  }
  [[nodiscard]] bool is_taken() const noexcept { return role_of(look()) != nobody; }
  // In two instructions; true also for what a thread of a parent process left.
  [[nodiscard]] bool may_be_taken() const noexcept { return (look() & role_mask) != nobody; }
  static role role_of(state seen) noexcept {
    return (seen & generation_mask) == with_generation(nobody) ? static_cast<role>(seen & role_mask)
                                                               : nobody;
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

  // A sleeper will be woken to be successor, or one more, as who was called has not come. Returns
  // false when somebody has come meanwhile; `seen` is then new.
  bool call(state& seen, std::uint64_t time) noexcept {
    return change(seen, stamped(called, time));
  }

  // Hands the lock over. Returns false when the successor has left meanwhile; `seen` is then new.
  bool grant(state& seen, std::uint64_t time) noexcept {
    return slot_.compare_exchange_strong(seen, stamped(granted, time),
                                         std::memory_order_release,   // [G]
                                         std::memory_order_relaxed);  // [X]
  }

  // Whoever took a lock that others wanted notes the time, where there is no successor to do so.
  void note_change(std::uint64_t time) noexcept {
    state seen = look();
    if (role_of(seen) == nobody) change(seen, stamped(nobody, time));
  }

  // ---- waiters ----------------------------------------------------------------------------------

  // Returns false when another has the slot; `seen` is how it was before.
  bool occupy(state& seen) noexcept {
    seen = look();
    return role_of(seen) <= called && change(seen, as(waiting, seen));
  }

  // Whoever was called is a sleeper no more (S3).
  [[gnu::noinline, gnu::cold]] void uncall() noexcept {
    state seen = look();
    if (role_of(seen) == called) change(seen, as(nobody, seen));
  }

  // ---- the successor ----------------------------------------------------------------------------

  void become_due(state waited_as) noexcept {
    slot_.store(as(due, waited_as), std::memory_order_relaxed);  // [X]
  }

  // From due to due_asleep, which is `asleep` then. Returns false when granted.
  bool fall_asleep(state& asleep) noexcept {
    state seen = look();
    asleep = as(due_asleep, seen);
    return role_of(seen) != granted && change(seen, asleep);
  }
  machine::park_result sleep(state asleep, const machine::deadline* until) noexcept {
    return machine::park(slot_, asleep, until);
  }

  [[nodiscard]] bool is_granted() const noexcept {
    return role_of(slot_.load(std::memory_order_acquire)) == granted;  // [T]
  }

  // Leaves the slot, with the lock or without. Requires: not due, or the lock is held.
  void leave(std::uint64_t time) noexcept {
    slot_.store(stamped(nobody, time), std::memory_order_relaxed);  // [X]
  }
  // Returns false where the lock was granted instead: is_granted() is next.
  bool leave_unless_granted(state asleep) noexcept {
    const state left = as(nobody, asleep);
    return change(asleep, left);
  }

  // Requires: the caller holds the lock, and is not on its way to it: a grant is over (S1, S2).
  void check_held() const noexcept { assert(role_of(look()) < granted); }
  // Requires: nobody waits (S3).
  void check_at_rest() const noexcept { assert(!is_taken()); }

  // For machine::wake(): an address only.
  [[nodiscard]] const void* futex() const noexcept { return &slot_; }

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
    return slot_.compare_exchange_strong(seen, to, std::memory_order_relaxed,  // [X]
                                         std::memory_order_relaxed);           // [X]
  }

  std::atomic<state> slot_{nobody};
};

}  // namespace syncopate::auto_parts
