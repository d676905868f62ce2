#include "events.h"

#include <syncopate/machine/system_call.h>

#include <algorithm>
#include <cmath>

#include <sys/syscall.h>

#include "model/emulated/options.h"
#include "transaction.h"

namespace syncopate::emulated {

namespace {

constexpr std::uint64_t never = INT64_MAX;

// splitmix64 (Steele, Lea & Flood, OOPSLA 2014).
std::uint64_t random(thread& t) noexcept {
  std::uint64_t z = t.random_state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

// Accesses until an event that has the given chance, in millionths, at each of them.
std::uint64_t distance(thread& t, std::uint64_t per_million) noexcept {
  if (per_million == 0) return never;
  const double uniform = (static_cast<double>(random(t) >> 11) + 0.5) / 9007199254740992.0;
  const double chance = static_cast<double>(per_million) / 1e6;
  if (chance >= 1) return 0;
  return static_cast<std::uint64_t>(std::min(std::log(uniform) / std::log1p(-chance), 1e15));
}

void set_countdown(thread& t, std::uint64_t done) noexcept {
  std::uint64_t next = std::min(t.spurious_at, t.yield_at);
  if (options.accesses != 0) next = std::min(next, options.accesses);
  if (t.inject && options.abort_at >= 0)
    next = std::min(next, static_cast<std::uint64_t>(options.abort_at));
  t.armed = next;
  t.countdown = static_cast<std::int64_t>(next - std::min(done, next));
}

}  // namespace

void arm(thread& t) noexcept {
  t.spurious_at = distance(t, options.spurious);
  t.yield_at = distance(t, options.yield);
  set_countdown(t, 0);
}

std::uint64_t accesses(const thread& t) noexcept {
  return t.armed - static_cast<std::uint64_t>(t.countdown);
}

void happen(thread& t, place where) noexcept {
  if (is_doomed(t)) abort_transaction(t, reason::conflict, where);
  const std::uint64_t now = t.armed;
  if (t.inject && options.abort_at >= 0 && now >= static_cast<std::uint64_t>(options.abort_at)) {
    t.inject = false;
    abort_transaction(t, reason::injected, where);
  }
  if (now >= t.spurious_at) abort_transaction(t, reason::spurious, where);
  if (options.accesses != 0 && now >= options.accesses)
    abort_transaction(t, reason::time_limit, where);
  if (now >= t.yield_at) {
    const runtime_scope inside;
    machine::system_call(SYS_sched_yield);
    t.yield_at = now + 1 + distance(t, options.yield);
  }
  set_countdown(t, now);
  --t.countdown;  // this access
  if (is_doomed(t)) abort_transaction(t, reason::conflict, where);
}

}  // namespace syncopate::emulated
