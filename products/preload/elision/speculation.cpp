// speculation.cpp -- who may run ahead, and what became of it.

#include "preload/elision/speculation.h"

#include <syncopate/elide/section.h>
#include <syncopate/wait/profit_control.h>

#include <algorithm>
#include <atomic>
#include <limits>

#include "preload/choice/policy.h"

namespace syncopate::shim {
namespace {

// As locks/speculating_lock.h, but for many locks, so that two holders may come at once: who finds
// `busy` leaves its section out.
struct alignas(64) control {
  std::atomic<bool> busy{false};
  std::atomic<bool> forbidden{false};
  std::uint16_t samples = 0;
  std::uint64_t since = 0;  // when the window began; 0: the first, which has no beginning
  waits::profit_control profit;
};
constexpr unsigned places_log = 6;
constexpr std::uint16_t samples_per_window = 32;
constinit control controls[1u << places_log];

control& control_of(const void* lock) noexcept {
  // Fibonacci hashing (Knuth, TAOCP 3, section 6.4).
  const auto at = reinterpret_cast<std::uintptr_t>(lock) >> 3;
  return controls[at * 0x9e3779b97f4a7c15u >> (64 - places_log)];
}

thread_local constinit record::speculation_counts runs
    __attribute__((tls_model("initial-exec"))) = {};

// In an elided section all would end with the run.
bool may_begin(const void* lock) noexcept {
  if (elide::section::active()) return false;
  if (!control_of(lock).forbidden.load(std::memory_order_relaxed)) return true;  // [H]
  ++runs.left_out;
  return false;
}

void has_ended(const void*, const machine::htm::status& how) noexcept {
  record::count_run(runs, how);
}

constexpr waits::speculation_keeper keeper{may_begin, has_ended};

}  // namespace

bool configure_speculation(const algorithm& lock) noexcept {
  if (!lock.traits.runs_ahead &&
      !policy_names([](const algorithm& a) { return a.traits.runs_ahead; }))
    return false;
  // No hardware has transactions that never commit. Ours end in an abort; the rest of the risk is
  // wait/speculate.h's, and has been asked for by the lock's name.
  if constexpr (!machine::is_modeled) speculation::use_ordinary_transactions(true);
  speculation::kept_by(keeper);
  return speculation::possible();
}

std::uint32_t count_section(const void* lock) noexcept {
  control& c = control_of(lock);
  if (c.busy.exchange(true, std::memory_order_acquire)) return 0;  // [B]
  std::uint32_t found = 0;
  if (++c.samples >= samples_per_window) {
    c.samples = 0;
    const std::uint64_t now = machine::ticks();
    if (c.since != 0 && c.profit.window_ended(now - c.since)) found = c.profit.gain();
    c.since = now;
    c.forbidden.store(!c.profit.speculate(), std::memory_order_relaxed);  // [H]
  }
  c.busy.store(false, std::memory_order_release);  // [B]
  return found;
}

void record_runs(std::uint32_t id) noexcept {
  const record::speculation_counts done = runs;
  runs = {};
  if (done.runs + done.left_out != 0) record::speculated(id, done);
}

}  // namespace syncopate::shim
