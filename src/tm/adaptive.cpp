#include "tm/adaptive.h"

#include "tm/configuration.h"
#include "tm/engine.h"
#include "tm/regime.h"

#include <cstdio>

namespace syncopate::tm {

// In place: programs may call transaction_pure functions on what the transaction has written, as
// GCC's library lets them.
extern const operations encounter_time_operations;

namespace adaptive {

constinit bool on = false;

namespace {

constexpr u64 millisecond = 1'000'000;
constexpr u64 window = 10 * millisecond;        // how long the lock is watched before a trial
constexpr u64 trial = 4 * millisecond;          // how long optimism is tried
constexpr u64 first_pause = 100 * millisecond;  // between trials; doubles
constexpr u64 longest_pause = 10'000 * millisecond;
constexpr double worth_it = 1.1;  // optimism has to win by this much: it also costs more energy

// One thread at a time measures: the holder of the mutex, or who has set `busy`.
std::atomic<bool> busy{false};
u64 since = 0;           // when the present measurement began
u64 commits_before = 0;  // and the count then
u64 next_trial = 0;
u64 pause = first_pause;
double lock_rate = 0;  // commits per nanosecond

void start_measuring(u64 time) noexcept {
  since = time;
  commits_before = add_statistics().commits;
}
double rate(u64 time) noexcept {
  return static_cast<double>(add_statistics().commits - commits_before) /
         static_cast<double>(time - since);
}

}  // namespace

void consider_optimism() noexcept {
  const u64 time = machine::now();
  if (since == 0 || time - since > 20 * window) return start_measuring(time);
  if (time - since < window || time < next_trial) return;
  if (busy.exchange(true, std::memory_order_acquire)) return;
  lock_rate = rate(time);
  start_measuring(time);
  now.choose(&encounter_time_operations);
  busy.store(false, std::memory_order_release);
}

void consider_lock(transaction* tx) noexcept {
  const u64 time = machine::now();
  // So that a trial of long transactions ends in time.
  const bool slow = time - tx->looked > trial / 8;
  tx->look_step = slow ? 1 : tx->look_step < look_every ? 2 * tx->look_step : look_every;
  tx->look_at = tx->counts.commits + tx->look_step;
  tx->looked = time;
  if (busy.load(std::memory_order_relaxed) || time - since < trial) return;
  if (busy.exchange(true, std::memory_order_acquire)) return;
  const double optimistic_rate = rate(time);
  if (optimistic_rate < worth_it * lock_rate) {
    next_trial = time + pause;
    pause = pause < longest_pause ? 2 * pause : longest_pause;
  } else if (time - since < pause) {
    // It pays; the lock is looked at again after the same pause.
    busy.store(false, std::memory_order_release);
    return;
  } else {
    next_trial = time + window;
    pause = pause < longest_pause ? 2 * pause : longest_pause;
  }
  now.acquire(tx);
  now.choose(nullptr);
  start_measuring(machine::now());
  now.release(tx);
  busy.store(false, std::memory_order_release);
}

}  // namespace adaptive

void print_statistics() noexcept {
  const statistics sum = add_statistics();
  u64 restarts = 0;
  for (u64 r : sum.restarts) restarts += r;
  std::fprintf(
      stderr,
      "syncopate tm: algorithm=%s commits=%llu alone=%llu hardware=%llu restarts=%llu read=%llu "
      "write=%llu commit=%llu unsafe=%llu\n",
      algorithm_name(), static_cast<unsigned long long>(sum.commits),
      static_cast<unsigned long long>(sum.alone), static_cast<unsigned long long>(sum.hardware),
      static_cast<unsigned long long>(restarts), static_cast<unsigned long long>(sum.restarts[0]),
      static_cast<unsigned long long>(sum.restarts[1]),
      static_cast<unsigned long long>(sum.restarts[2]),
      static_cast<unsigned long long>(sum.restarts[4]));
}

}  // namespace syncopate::tm
