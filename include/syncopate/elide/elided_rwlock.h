// elided_rwlock.h -- a reader-writer lock whose critical sections run as transactions where
// those commit: readers beside readers without writing to the lock, writers beside whoever touches
// other lines.
//
// Source        as elided_lock.h. Readers gain most: even uncontended readers of a plain rwlock
//               fight over its word.
// Fairness      none while transactions commit; those that queue for the lock, as the lock inside.
// Space         the lock's; where the policy learns, 2 B more and what its alignment adds.
// Uncontended   off: the lock's, and 2 loads and branches. On: one transaction.
// Contended     a reader that elides subscribes to "no writer holds it", a writer to "nobody holds
//               it". So a writer that falls back aborts all. A reader that falls back aborts the
//               others, since it writes the word that they have read; they begin again at once.
//
// The semantics are those without elision (elided_lock.h): readers may lock recursively, also while
// they elide; a thread that elided one mode and asks for one that would block is given the real
// lock, and its answer.
#pragma once

#include <syncopate/elide/elided_lock.h>
#include <syncopate/elide/engine.h>
#include <syncopate/lock.h>
#include <syncopate/machine.h>
#include <syncopate/rwlocks/auto_rwlock.h>

#include <type_traits>

namespace syncopate::elide {

template <class Lock = auto_rwlock, retry_policy Policy = policies::standard>
class elided_rwlock {
 public:
  // ---- exclusive ----

  [[gnu::always_inline]] void lock() noexcept {
    if (__builtin_expect(control::is_off(), 1) || !enter_exclusive()) lock_.lock();
  }
  // With a deadline (null: none) returns whether the lock is held or elided.
  [[nodiscard]] bool lock_until(const machine::deadline* until) noexcept {
    return after_one(exclusive_once(), [&] { return lock_.lock_until(until); });
  }
  [[nodiscard]] bool try_lock() noexcept {
    if (section::active() && lock_.is_locked()) return false;
    return after_one(exclusive_once(), [&] { return lock_.try_lock(); });
  }
  // Requires: the calling thread holds the lock exclusively, or has elided that.
  [[gnu::always_inline]] void unlock() noexcept {
    if (__builtin_expect(control::is_off(), 1) || !try_leave(as_writer())) lock_.unlock();
  }

  // ---- shared ----

  [[gnu::always_inline]] void lock_shared() noexcept {
    if (__builtin_expect(control::is_off(), 1) || !enter_shared()) lock_.lock_shared();
  }
  [[nodiscard]] bool lock_shared_until(rw_preference preference,
                                       const machine::deadline* until) noexcept {
    return after_one(shared_once(), [&] { return lock_.lock_shared_until(preference, until); });
  }
  [[nodiscard]] bool try_lock_shared(rw_preference preference = rw_preference::readers) noexcept {
    if (section::active() && lock_.is_write_locked()) return false;
    return after_one(shared_once(), [&] { return lock_.try_lock_shared(preference); });
  }
  // Requires: the calling thread holds the lock shared, or has elided that.
  [[gnu::always_inline]] void unlock_shared() noexcept {
    if (__builtin_expect(control::is_off(), 1) || !try_leave(as_reader())) lock_.unlock_shared();
  }

  // Whether somebody holds the lock really; hints.
  [[nodiscard]] bool is_locked() const noexcept { return lock_.is_locked(); }
  [[nodiscard]] bool is_write_locked() const noexcept { return lock_.is_write_locked(); }

 private:
  // Two names, so that each unlock finds its own.
  [[nodiscard]] const void* as_writer() const noexcept { return this; }
  [[nodiscard]] const void* as_reader() const noexcept {
    return reinterpret_cast<const char*>(this) + 1;
  }

  [[nodiscard]] learning* history() noexcept {
    if constexpr (Policy.learns) return &learning_;
    else return nullptr;
  }

  // A mode that excludes one which this very thread has elided: the real lock decides.
  void refuse_if_elided(const void* other) const noexcept {
    if (section::active() && section::contains(other)) section::abort<abort_code::nested_try>();
  }

  [[nodiscard, gnu::always_inline]] bool enter_exclusive() noexcept {
    refuse_if_elided(as_reader());
    return try_enter({as_writer()}, Policy, history(), [this] { return !lock_.is_locked(); });
  }
  [[nodiscard, gnu::always_inline]] bool enter_shared() noexcept {
    refuse_if_elided(as_writer());
    return try_enter({as_reader(), true}, Policy, history(),
                     [this] { return !lock_.is_write_locked(); });
  }

  [[nodiscard]] entry exclusive_once() noexcept {
    constexpr retry_policy policy = once(Policy);
    if (__builtin_expect(control::is_off(), 1)) return entry::not_tried;
    if (lock_.is_locked() && !section::active()) return entry::not_tried;
    refuse_if_elided(as_reader());
    const auto is_free = [this] { return !lock_.is_locked(); };
    return elide::enter({as_writer()}, policy, history(), is_free, is_free);
  }
  [[nodiscard]] entry shared_once() noexcept {
    constexpr retry_policy policy = once(Policy);
    if (__builtin_expect(control::is_off(), 1)) return entry::not_tried;
    if (lock_.is_write_locked() && !section::active()) return entry::not_tried;
    refuse_if_elided(as_writer());
    const auto is_free = [this] { return !lock_.is_write_locked(); };
    return elide::enter({as_reader(), true}, policy, history(), is_free, is_free);
  }

  // What the single attempt gave, or what the lock itself gives.
  template <class Take>
  [[nodiscard]] static bool after_one(entry end, Take take) noexcept {
    if (end == entry::elided) return true;
    if (!take()) return false;
    if (end == entry::aborted) machine::htm::fell_back();
    return true;
  }

  Lock lock_;
  [[no_unique_address]] std::conditional_t<Policy.learns, learning, detail::no_learning> learning_;
};

static_assert(RwLock<elided_rwlock<>>);

}  // namespace syncopate::elide
