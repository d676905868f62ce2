// control.h -- whether locks elide in this process: SYNCOPATE_ELIDE=auto|always|off, and the
// switch that a running program may turn.
//
// The first elided lock that is taken reads the variable and tries whether transactions commit
// here; where they do not, elision is off, and each operation of an elided lock costs one more load
// and one predicted branch than that of the lock inside. A transaction reads the switch before it
// commits itself to anything: turning elision off aborts all that run (set_mode() below).
//
// Memory order (each tag stands at its site below)
//   [S]  seq_cst store of the mode: it is visible, and so transactions have aborted, before
//        set_mode() returns.
//   [L]  relaxed: a mode publishes nothing; a transaction that has read it aborts when it changes.
#pragma once

#include <syncopate/machine.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

namespace syncopate::elide {

enum class mode : unsigned char {
  off = 1,        // take every lock
  automatic = 2,  // elide where transactions commit; policies that learn leave out what fails
  always = 3,     // elide whatever was learned
};

namespace control {

namespace detail {
inline constexpr unsigned char undecided = 0;
// A line of its own: what else lay in it could abort every transaction.
struct alignas(64) line {
  std::atomic<unsigned char> now{undecided};
};
inline constinit line state;

// One line on standard error; allocates nothing.
inline void complain(const char* text, const char* value) noexcept {
  char message[200];
  const int length =
      std::snprintf(message, sizeof message, "syncopate: SYNCOPATE_ELIDE=%.40s: %s\n", value, text);
  if (length > 0) (void)!::write(STDERR_FILENO, message, static_cast<std::size_t>(length));
}

inline mode mode_from_environment() noexcept {
  const char* const text = std::getenv("SYNCOPATE_ELIDE");
  if (text == nullptr || *text == '\0' || std::strcmp(text, "auto") == 0) return mode::automatic;
  if (std::strcmp(text, "off") == 0) return mode::off;
  if (std::strcmp(text, "always") != 0) {
    complain("no such mode; auto, always and off are", text);
    return mode::automatic;
  }
  if (!machine::htm::commits())
    complain("transactions never commit on this machine; locks are taken", text);
  return mode::always;
}

inline mode possible(mode wanted) noexcept {
  return wanted == mode::off || machine::htm::commits() ? wanted : mode::off;
}

[[gnu::noinline, gnu::cold]] inline mode decide() noexcept {
  const mode chosen = possible(mode_from_environment());
  unsigned char expected = undecided;  // a set_mode() meanwhile counts
  if (state.now.compare_exchange_strong(expected, static_cast<unsigned char>(chosen),
                                        std::memory_order_relaxed))  // [L]
    return chosen;
  return static_cast<mode>(expected);
}
}  // namespace detail

// Whether locks are simply taken. One load; the first call decides.
[[nodiscard]] inline bool is_off() noexcept {
  const unsigned char known = detail::state.now.load(std::memory_order_relaxed);  // [L]
  if (__builtin_expect(known == static_cast<unsigned char>(mode::off), 1)) return true;
  return __builtin_expect(known == detail::undecided, 0) && detail::decide() == mode::off;
}

// The mode; decides it if that has not been done.
[[nodiscard]] inline mode now() noexcept {
  const unsigned char known = detail::state.now.load(std::memory_order_relaxed);  // [L]
  return __builtin_expect(known != detail::undecided, 1) ? static_cast<mode>(known)
                                                         : detail::decide();
}

}  // namespace control

// Changes the mode for all elided locks of the process, at any time, from any thread. Returns the
// mode from now on: off, whatever was wanted, where transactions do not commit. With off, no
// section commits any more that had not committed before the return. Async-signal-safe.
inline mode set_mode(mode wanted) noexcept {
  const mode next = control::detail::possible(wanted);
  control::detail::state.now.store(static_cast<unsigned char>(next),
                                   std::memory_order_seq_cst);  // [S]
  return next;
}

}  // namespace syncopate::elide
