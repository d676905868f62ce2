// engine.h -- entering and leaving a critical section by transaction, for anything that has a
// lock word: elided_lock.h, elided_rwlock.h, the preload library.
//
//   lock()    if (control::is_off() || !try_enter(...)) take the lock;
//   unlock()  if (control::is_off() || !try_leave(...)) release the lock;
//
// Invariants
//   I1  A section that try_enter() began has read, in its transaction, that the switch is on and
//       that its lock is free. So a thread that takes the lock aborts it, and so does set_mode().
//   I2  try_leave() returns false exactly when the section did not begin in the running
//       transaction. Then the lock is released as without elision: also one that is free, whatever
//       that does.
#pragma once

#include <syncopate/elide/control.h>
#include <syncopate/elide/learning.h>
#include <syncopate/elide/retry_policy.h>
#include <syncopate/elide/section.h>
#include <syncopate/machine.h>

#include <cstdint>

namespace syncopate::elide {

// A lock as the engine sees it.
struct subject {
  const void* lock;        // what tells it from others
  bool recursive = false;  // whether a thread may enter again while inside
};

enum class entry : unsigned char {
  elided,     // the calling thread is in a transaction
  not_tried,  // elision is off, has not paid lately, or cannot be had here
  aborted,    // it was tried in vain
};

namespace detail {

// How to go on before the first attempt.
enum class start : unsigned char { begin, nested, no };

// Where something is to be asked: inside a transaction, and of a lock that has failed before.
[[gnu::noinline, gnu::cold]] inline start prepare_slow(learning* learned) noexcept {
  if (section::active()) return start::nested;
  if (learned->pays() || control::now() == mode::always) {
    learned->begins();
    return start::begin;
  }
  learned->skipped();
  return start::no;
}

inline start prepare(learning* learned) noexcept {
  const bool asks = section::active() || (learned != nullptr && learned->state() != 0);
  return __builtin_expect(asks, 0) ? prepare_slow(learned) : start::begin;
}

// Inside a transaction there is nothing to retry: an abort goes back to the outermost section.
template <class IsFree>
[[gnu::noinline]] entry enter_nested(subject what, IsFree is_free) noexcept {
  // Taken again by the thread that has elided it: what that means, only the real lock can tell.
  if (!what.recursive && section::contains(what.lock)) section::abort<abort_code::nested_try>();
  if (!is_free()) section::abort<abort_code::inner_held>();
  if (section::full()) return entry::not_tried;  // really taken, inside the transaction
  return section::begin(what.lock).started() ? entry::elided : entry::not_tried;
}

// Polls until the lock is free. Returns false when that takes longer than a thread should keep its
// processor: then it had better queue for the lock.
template <class IsFree>
bool await_free(const retry_policy& policy, IsFree is_free) noexcept {
  constexpr std::uint32_t longest = 64;  // PAUSE steps between two looks
  if (is_free()) return true;
  if (!machine::may_spin()) return false;
  const std::uint64_t until = machine::ticks() + policy.wait_limit;
  for (std::uint32_t pauses = 1; !is_free(); pauses = pauses < longest ? 2 * pauses : longest) {
    if (policy.wait_limit != 0 && static_cast<std::int64_t>(machine::ticks() - until) >= 0)
      return false;
    machine::spin(pauses);
  }
  return true;
}

// Decides after an abort, waits as decided. Returns what is used up then, or nothing: take the
// lock. (Everything goes by value: what lies in memory costs each attempt its stores.)
struct second_try {
  bool again;
  tally used;
};
template <class IsFree, class AwaitFree>
[[gnu::noinline]] second_try after_abort(const retry_policy& policy, tally used, learning* learned,
                                         machine::htm::status why, IsFree is_free,
                                         AwaitFree await_free) noexcept {
  const bool held = policy.protects && !is_free();
  const decision next = decide(policy, used, why, held);
  if (next.what == next_step::take_lock_and_learn && learned != nullptr) learned->failed();
  const bool takes =
      next.what == next_step::take_lock || next.what == next_step::take_lock_and_learn;
  if (takes || (next.what == next_step::wait_then_retry && !await_free()))
    return {false, next.used};
  machine::spin(next.pause);
  return {true, next.used};
}

}  // namespace detail

// Tries to run the critical section that begins here as a transaction; an abort returns here again.
// is_free() tells whether the lock is free, by atomic loads of what every holder writes with an
// atomic read-modify-write when it takes the lock. await_free() waits for that, outside of
// transactions, and returns false when the caller should take the lock instead. Both are copied.
// `learned` may be null. Blocks only in await_free(). Requires: control::is_off() was asked.
template <class IsFree, class AwaitFree>
[[nodiscard, gnu::always_inline]] inline entry enter(subject what, const retry_policy& policy,
                                                     learning* learned, IsFree is_free,
                                                     AwaitFree await_free) noexcept {
  if (const detail::start how = detail::prepare(learned); how != detail::start::begin)
    return how == detail::start::nested ? detail::enter_nested(what, is_free) : entry::not_tried;
  detail::second_try next{true, {}};
  while (next.again) {
    // Here, not in a function: reports name transactions by the place that begins them.
    const machine::htm::status s = section::begin_outermost(what.lock);
    if (s.started()) {
      if (control::is_off()) section::abort<abort_code::switched_off>();  // I1
      if (__builtin_expect(is_free(), 1)) return entry::elided;
      if (policy.on_held == when_held::wait_inside)
        while (!is_free()) asm volatile("" ::: "memory");  // no PAUSE: retry_policy.h
      section::abort<abort_code::lock_held>();
    }
    next = detail::after_abort(policy, next.used, learned, s, is_free, await_free);
  }
  return entry::aborted;
}

// The same for lock(): returns whether the calling thread is in a transaction; else the lock is to
// be taken. Tells the machine's statistics when that is after aborts.
template <class IsFree, class AwaitFree>
[[nodiscard, gnu::always_inline]] inline bool try_enter(subject what, const retry_policy& policy,
                                                        learning* learned, IsFree is_free,
                                                        AwaitFree await_free) noexcept {
  const entry end = enter(what, policy, learned, is_free, await_free);
  if (end == entry::aborted) machine::htm::fell_back();
  return end == entry::elided;
}
template <class IsFree>
[[nodiscard, gnu::always_inline]] inline bool try_enter(subject what, const retry_policy& policy,
                                                        learning* learned,
                                                        IsFree is_free) noexcept {
  return try_enter(what, policy, learned, is_free,
                   [&policy, is_free] { return detail::await_free(policy, is_free); });
}

// Ends the section of the lock if the calling thread runs it in a transaction; commits when it was
// the last. Returns whether it did; else the lock is to be released as without elision. Uses the
// address only: after the commit another thread may have freed the lock.
[[nodiscard, gnu::noinline]] inline bool try_leave(const void* lock) noexcept {
  return section::leave(lock);
}

}  // namespace syncopate::elide
