#include "tm/core/adaptive.h"

#include "tm/core/configuration.h"
#include "tm/core/engine.h"
#include "tm/core/hardware.h"
#include "tm/core/regime.h"
#include "tm/core/threads.h"
#include "tm/core/trials.h"

#include <cstdio>

#include <dlfcn.h>

namespace syncopate::tm {

namespace adaptive {

constinit bool on = false;
thread_local constinit look next_look;

namespace {

// One thread at a time: who has set `busy`.
std::atomic<bool> busy{false};
trials lessons;
std::atomic<u64> due{0};  // lessons.due(), for those who only look
way present = way::in_turn;
u64 present_since = 0;
std::atomic<u64> spent[ways];  // nanoseconds

// Returns the way to run from now on. Requires: busy is this thread's.
way learn(u64 time) noexcept {
  const statistics sum = add_statistics();
  const way chosen = lessons.step(time, sum.commits, sum.aborts());
  due.store(lessons.due(), std::memory_order_relaxed);  // [D]
  return chosen;
}
// Few threads, or few processors for them, gain little from writers side by side, and ownership
// records cost more than they give. *Measured* with two: the STAMP-like programs take 0.85 times as
// long without.
const operations* optimistic() noexcept {
  constexpr unsigned few = 4;
  return machine::processors() <= few || threads_attached() <= few ? parts.of_few_threads
                                                                   : parts.of_many_threads;
}
void note_spent(u64 time) noexcept {
  if (present_since != 0)
    spent[static_cast<int>(present)].fetch_add(time - present_since,
                                               std::memory_order_relaxed);  // [K]
  present_since = time;
}
// Requires: the mutex is held.
void run(way chosen) noexcept {
  note_spent(machine::now());
  present = chosen;
  now.slices = chosen == way::in_slices;
  now.choose(chosen == way::side_by_side ? optimistic() : nullptr, chosen == way::in_hardware);
}

}  // namespace

void consider_in_turn(const transaction* tx) noexcept {
  const u64 time = machine::now();
  if (time < due.load(std::memory_order_relaxed)) return;      // [D]
  if (busy.exchange(true, std::memory_order_acquire)) return;  // [B]
  if (fits_hardware(tx->properties) && machine::htm::commits()) lessons.allow_hardware();
  run(learn(time));
  busy.store(false, std::memory_order_release);  // [B]
}

void consider_side_by_side(transaction* tx) noexcept {
  const u64 time = machine::now();
  // So that a trial of long transactions ends in time.
  const bool slow = time - next_look.last > trials::trial / 8;
  const u32 step = slow ? 1 : next_look.step < look_every ? 2 * next_look.step : look_every;
  next_look = {tx->counts.commits + step, time, step};
  if (time < due.load(std::memory_order_relaxed)) return;      // [D]
  if (busy.exchange(true, std::memory_order_acquire)) return;  // [B]
  if (const way chosen = learn(time); chosen != present) {
    now.acquire(tx);
    run(chosen);
    now.release(tx);
  }
  busy.store(false, std::memory_order_release);  // [B]
}

void print_ways() noexcept {
  if (present_since == 0) return;  // nobody has met anybody
  note_spent(machine::now());
  const auto milliseconds = [](way w) {
    return static_cast<unsigned long long>(
        spent[static_cast<int>(w)].load(std::memory_order_relaxed) / trials::millisecond);  // [K]
  };
  std::fprintf(
      stderr,
      "syncopate tm: auto: ms in turn %llu, in slices %llu, side by side %llu, in hardware "
      "%llu\n",
      milliseconds(way::in_turn), milliseconds(way::in_slices), milliseconds(way::side_by_side),
      milliseconds(way::in_hardware));
}

}  // namespace adaptive

namespace {

void print_same_function() noexcept {
  const void* const at = begun_in_same_function();
  Dl_info where{};
  if (at == nullptr || dladdr(at, &where) == 0) return;
  const auto offset = reinterpret_cast<address>(at) - reinterpret_cast<address>(where.dli_fbase);
  std::fprintf(stderr,
               "syncopate tm: one function begins a transaction inside of its own, at %s+0x%llx; "
               "GCC 12 does not restore its locals when they begin again (docs/tm.md)\n",
               where.dli_fname, static_cast<unsigned long long>(offset));
}

}  // namespace

void print_statistics() noexcept {
  const statistics sum = add_statistics();
  std::fprintf(
      stderr,
      "syncopate tm: algorithm=%s commits=%llu alone=%llu hardware=%llu restarts=%llu read=%llu "
      "write=%llu commit=%llu unsafe=%llu\n",
      algorithm_name(), static_cast<unsigned long long>(sum.commits),
      static_cast<unsigned long long>(sum.alone), static_cast<unsigned long long>(sum.hardware),
      static_cast<unsigned long long>(sum.aborts()),
      static_cast<unsigned long long>(sum.restarts[0]),
      static_cast<unsigned long long>(sum.restarts[1]),
      static_cast<unsigned long long>(sum.restarts[2]),
      static_cast<unsigned long long>(sum.restarts[4]));
  adaptive::print_ways();
  print_same_function();
}

}  // namespace syncopate::tm
