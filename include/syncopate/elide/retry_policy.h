// retry_policy.h -- what to do after a transaction in place of a lock has aborted. A pure
// function of the policy, of what was tried so far, and of how the attempt ended.
//
// Sources
//   standard   Yoo, Hughes, Lai & Rajwar, SC 2013, section 3: five attempts were best over all of
//              their programs; a held lock is waited for before the next attempt.
//   htm_1, htm_10, htm_10_fb_aahtm   Izraelevitz, Xiang & Scott, "Performance Improvement via
//              Always-Abort HTM", 2017, section IV-A: one or ten attempts, whatever ends them;
//              back-off that doubles after each; a held lock is waited for inside the
//              transaction, in an endless loop that the holder's release aborts. The paper names
//              no bound of the back-off: ten attempts bound it here. Our own policies wait
//              outside: the loop must do without PAUSE, which itself aborts transactions on some
//              processors, so it takes execution slots from the holder's sibling.
//   protection against the lemming effect   Dice, Lev, Moir & Nussbaum, ASPLOS 2009, and Afek,
//              Levy & Morrison, PODC 2014: aborts that a held lock causes must not use up the
//              attempts, or one fall-back makes everybody fall back.
#pragma once

#include <syncopate/elide/section.h>
#include <syncopate/machine.h>

#include <cstdint>
#include <string_view>

namespace syncopate::elide {

// What a transaction does that finds the lock held.
enum class when_held : unsigned char {
  take_lock,     // queues for the lock, as lock elision in hardware did
  wait_outside,  // aborts, waits until the lock is free, begins again
  wait_inside,   // loops until the release aborts it
};

struct retry_policy {
  std::uint8_t attempts = 5;  // transactions that may abort before the lock is taken
  when_held on_held = when_held::wait_outside;
  // Whether aborts by a held lock leave the attempts alone, and a conflict while the lock is held
  // counts as one: protection against the lemming effect.
  bool protects = true;
  std::uint8_t waits = 16;  // times that such a wait may happen: nobody starves
  // Whether an abort that another attempt is not likely to change ends them: too much data, or no
  // hint by the machine.
  bool heeds_causes = true;
  std::uint16_t first_pause = 1, longest_pause = 256;  // PAUSE steps; doubles with each attempt
  std::uint32_t wait_limit = 1u << 17;  // ticks to wait for a held lock before queuing; 0: no limit
  bool learns = false;                  // per lock whether elision pays (learning.h)

  friend bool operator==(const retry_policy&, const retry_policy&) = default;
};

enum class next_step : unsigned char {
  retry,            // pause, then begin again
  wait_then_retry,  // until the lock is free; then the same
  take_lock,
  take_lock_and_learn,  // elision failed on its own account: think twice the next time
};

// What one acquisition has used up.
struct tally {
  std::uint8_t attempts = 0, waits = 0;
  friend bool operator==(const tally&, const tally&) = default;
};

struct decision {
  next_step what;
  std::uint32_t pause;  // PAUSE steps before the retry
  tally used;           // including the attempt that was decided upon
  friend bool operator==(const decision&, const decision&) = default;
};

namespace detail {
constexpr bool is_code(const machine::htm::status& s, abort_code code) noexcept {
  return s.why == machine::htm::cause::explicit_ && s.code == static_cast<unsigned char>(code);
}

// Whether another attempt could end otherwise.
constexpr bool is_transient(const retry_policy& p, const machine::htm::status& s) noexcept {
  switch (s.why) {
    case machine::htm::cause::conflict: return true;
    case machine::htm::cause::capacity: return !p.heeds_causes;
    case machine::htm::cause::explicit_:  // others ask for the lock itself
      return is_code(s, abort_code::lock_held) || is_code(s, abort_code::inner_held);
    default:  // without the hint: a system call, or no transactions at all
      return s.may_retry || !p.heeds_causes;
  }
}

constexpr std::uint32_t pause_of(const retry_policy& p, unsigned attempt) noexcept {
  const unsigned doublings = attempt < 2 ? 0 : attempt - 1 < 15 ? attempt - 1 : 15;
  const std::uint32_t pause = std::uint32_t{p.first_pause} << doublings;
  return pause < p.longest_pause ? pause : p.longest_pause;
}
}  // namespace detail

// What follows the abort `s` of an attempt, when `before` was used up earlier and the lock is held
// by now or not. Pure; wait-free.
[[nodiscard]] constexpr decision decide(const retry_policy& p, tally before,
                                        const machine::htm::status& s, bool held) noexcept {
  const bool found_held = detail::is_code(s, abort_code::lock_held);
  const bool by_holder =
      found_held || (held && p.protects && s.why == machine::htm::cause::conflict);
  tally used = before;
  if (by_holder && p.protects && p.on_held != when_held::take_lock) ++used.waits;
  else ++used.attempts;

  if (!detail::is_transient(p, s)) {
    // Turned off in mid-flight says nothing about the section.
    const bool teaches = !detail::is_code(s, abort_code::switched_off);
    return {teaches ? next_step::take_lock_and_learn : next_step::take_lock, 0, used};
  }
  if (by_holder && p.on_held == when_held::take_lock) return {next_step::take_lock, 0, used};
  if (used.waits > p.waits) return {next_step::take_lock, 0, used};
  if (used.attempts >= p.attempts)
    return {found_held ? next_step::take_lock : next_step::take_lock_and_learn, 0, used};
  const bool waits = found_held || (p.protects && p.on_held != when_held::take_lock);
  return {waits ? next_step::wait_then_retry : next_step::retry, detail::pause_of(p, used.attempts),
          used};
}

// A single attempt that never waits, for try_lock() and for timed locking: their own waiting, or
// giving up, is next.
[[nodiscard]] constexpr retry_policy once(retry_policy p) noexcept {
  p.attempts = 1;
  p.on_held = when_held::take_lock;
  return p;
}

namespace policies {
inline constexpr retry_policy standard{};
inline constexpr retry_policy adaptive{.learns = true};
inline constexpr retry_policy htm_1{
    .attempts = 1, .on_held = when_held::wait_inside, .protects = false, .heeds_causes = false};
inline constexpr retry_policy htm_10{.attempts = 10,
                                     .on_held = when_held::wait_inside,
                                     .protects = false,
                                     .heeds_causes = false,
                                     .longest_pause = 1 << 9};
// The fall-back lock is what differs: locks/speculative_tatas_lock.h.
inline constexpr retry_policy htm_10_fb_aahtm = htm_10;
}  // namespace policies

struct named_policy {
  std::string_view name;
  retry_policy policy;
};
inline constexpr named_policy named_policies[] = {
    {"auto", policies::adaptive},
    {"standard", policies::standard},
    {"htm_1", policies::htm_1},
    {"htm_10", policies::htm_10},
    {"htm_10_fb_aahtm", policies::htm_10_fb_aahtm},
};

// The policy of that name; null when there is none.
[[nodiscard]] constexpr const retry_policy* find_policy(std::string_view name) noexcept {
  for (const named_policy& p : named_policies)
    if (p.name == name) return &p.policy;
  return nullptr;
}

}  // namespace syncopate::elide
