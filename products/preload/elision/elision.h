// elision.h -- critical sections of pthread's locks as hardware transactions, where those
// commit.
//
// A section that runs so writes nothing into its lock: no owner, no count. Whether an unlock
// belongs to it is known by thread, not by lock (elide/engine.h); whatever else a program does with
// a lock that it has elided -- destroys it, asks for its owner -- makes the section start over for
// real.
#pragma once

#include <syncopate/elide/engine.h>

#include <cstdint>

#include "record/recorder.h"

namespace syncopate::shim {

// Set by ensure_configured(). Until then, and where transactions do not commit, nothing is elided.
extern constinit elide::retry_policy elision_policy;

struct algorithm;

// Reads SYNCOPATE_ELIDE and SYNCOPATE_ELIDE_POLICY. Returns whether sections are to be elided.
// `lock`: the default one.
bool configure_elision(const algorithm& lock) noexcept;
// Says in one line each what was wrong with them; `locks_pass`: every lock stays with the C
// library.
void report_elision(bool locks_pass) noexcept;

// For the record: the transactions of the section that this thread has begun last.
struct counted_section {
  std::uint32_t lock = 0;  // the recorder's id
  record::elision_counts counts{};
};
extern thread_local constinit counted_section current_section
    __attribute__((tls_model("initial-exec")));
void count_abort(const machine::htm::status&) noexcept;

enum class retries : bool { none, all };  // none: for try and timed locking, a single attempt

// Tries to run the section that begins now as a transaction, as often as `wanted` says.
// `identify()` is the recorder's id of the lock. The other arguments as for elide::enter().
template <class IsFree, class Identify>
[[nodiscard, gnu::always_inline]] inline elide::entry enter_section(
    const elide::subject& what, retries how, const elide::retry_policy& wanted,
    elide::learning* learned, IsFree is_free, Identify identify) noexcept {
  const elide::retry_policy policy = how == retries::all ? wanted : elide::once(wanted);
  const auto await_free = [&] { return elide::detail::await_free(policy, is_free); };
  if (__builtin_expect(!record::enabled, 1)) {
    const elide::entry end = elide::enter(what, policy, learned, is_free, await_free);
    if (end == elide::entry::aborted) machine::htm::fell_back();
    return end;
  }
  if (!elide::section::active()) current_section = {identify(), {}};
  const elide::on_abort counts(count_abort);
  const elide::entry end = elide::enter(what, policy, learned, is_free, await_free);
  if (end == elide::entry::aborted) {
    machine::htm::fell_back();
    ++current_section.counts.fell_back;
    record::elided(current_section.lock, current_section.counts);
  }
  return end;
}

// Ends the section of `lock` if this thread runs it as a transaction, and returns whether it did.
[[nodiscard]] bool leave_section(const void* lock) noexcept;

// What follows has to be seen by the lock itself: an elided section starts over, with the lock.
inline void stop_eliding() noexcept { elide::section::needs_lock(); }

}  // namespace syncopate::shim
