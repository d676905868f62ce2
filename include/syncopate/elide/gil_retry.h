// gil_retry.h -- what follows an abort of the elided interpreter lock: figure 1, lines 16 to
// 36, of Odaira, Castanos & Tomari, PPoPP 2014, as a pure function.
//
// How we deviate: an abort by the code of a held lock counts as one at the lock also when that was
// released meanwhile (the paper looks at the lock only): the thread need not wait then.
#pragma once

#include <syncopate/elide/section.h>
#include <syncopate/machine.h>

#include <cstdint>

namespace syncopate::elide {

enum class gil_step : unsigned char {
  retry,            // begin again
  wait_then_retry,  // spin until the lock is released, or acquire it; then begin again
  acquire,          // the lock
};

// Counts down, as in the figure.
struct gil_tally {
  std::uint8_t transient = 3;  // TRANSIENT_RETRY_MAX
  std::uint8_t held = 16;      // GIL_RETRY_MAX
  friend bool operator==(const gil_tally&, const gil_tally&) = default;
};

struct gil_decision {
  gil_step step;
  gil_tally left;
  friend bool operator==(const gil_decision&, const gil_decision&) = default;
};

namespace detail {
// Whether the same transaction would end so again.
constexpr bool is_persistent(const machine::htm::status& s) noexcept {
  switch (s.why) {
    case machine::htm::cause::conflict: return false;
    case machine::htm::cause::explicit_:
      return s.code == static_cast<unsigned char>(abort_code::needs_lock) ||
             s.code == static_cast<unsigned char>(abort_code::actions_full);
    default: return !s.may_retry;
  }
}
}  // namespace detail

// What to do after an abort `s`, when the lock is held by now or not. Pure.
[[nodiscard]] constexpr gil_decision after_abort(gil_tally left, const machine::htm::status& s,
                                                 bool held) noexcept {
  const bool needs_lock = s.why == machine::htm::cause::explicit_ && detail::is_persistent(s);
  const bool found_held = s.why == machine::htm::cause::explicit_ &&
                          s.code == static_cast<unsigned char>(abort_code::lock_held);
  if ((held && !needs_lock) || found_held) {
    --left.held;
    return {left.held > 0 ? gil_step::wait_then_retry : gil_step::acquire, left};
  }
  if (detail::is_persistent(s)) return {gil_step::acquire, left};
  --left.transient;
  return {left.transient > 0 ? gil_step::retry : gil_step::acquire, left};
}

}  // namespace syncopate::elide
