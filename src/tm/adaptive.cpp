#include "tm/adaptive.h"

#include "tm/configuration.h"
#include "tm/engine.h"
#include "tm/regime.h"

#include <cstdio>

#include <dlfcn.h>

namespace syncopate::tm {

// In place: programs may call transaction_pure functions on what the transaction has written, as
// GCC's library lets them.
extern const operations encounter_time_operations;

namespace adaptive {

constinit bool on = false;

namespace {

constexpr u64 millisecond = 1'000'000;
constexpr u64 window = 10 * millisecond;        // how long the lock is watched before a trial
constexpr u64 warm_up = 2 * millisecond;        // before a trial: logs grow, records are touched
constexpr u64 trial = 4 * millisecond;          // how long optimism is tried
constexpr u64 first_pause = 100 * millisecond;  // between trials; doubles
constexpr u64 longest_pause = 10'000 * millisecond;
constexpr double worth_it = 1.05;  // optimism has to win by this much: it also costs more energy
// Where it wins or loses by no more than this, the mean of so many trials decides: one is as long
// as a scheduler's time slice.
constexpr double doubtful = 1.5;
constexpr int most_trials = 3;

// One thread at a time measures: the holder of the mutex, or who has set `busy`.
std::atomic<bool> busy{false};
u64 since = 0;           // when the present measurement began
u64 commits_before = 0;  // and the count then
u64 next_trial = 0;
u64 pause = first_pause;
double lock_rate = 0;  // commits per nanosecond
bool warming_up = false;
bool pays = false;  // the trial is over, and optimism goes on
double gains = 0;   // of the trials since the last decision: the sum, and how many
int trials = 0;
std::atomic<u64> due{0};  // when optimism is to be considered again

void start_measuring(u64 time) noexcept {
  since = time;
  commits_before = add_statistics().commits;
}
double rate(u64 time) noexcept {
  return static_cast<double>(add_statistics().commits - commits_before) /
         static_cast<double>(time - since);
}

enum class judgment { pays, does_not_pay, unknown };

// Ends the present trial. Returns whether optimism pays, after enough of them.
judgment judge(u64 time) noexcept {
  const double gain = rate(time) / lock_rate;
  gains += gain;
  ++trials;
  if (gain < doubtful && gain * doubtful > 1 && trials < most_trials) return judgment::unknown;
  const double mean = gains / trials;
  gains = 0;
  trials = 0;
  return mean >= worth_it ? judgment::pays : judgment::does_not_pay;
}

void lengthen_pause() noexcept { pause = pause < longest_pause ? 2 * pause : longest_pause; }

// Whether it is time to go back to the lock. Requires: busy is this thread's, optimism is on.
bool consider_trial(u64 time) noexcept {
  due.store(time + trial, std::memory_order_relaxed);
  if (warming_up) {
    warming_up = false;
    start_measuring(time);
    return false;
  }
  if (pays) {
    // It may pay no longer; the lock is looked at again after the pause.
    if (time - since < pause && rate(time) >= worth_it * lock_rate) return false;
    pays = false;
    next_trial = time + window;
    lengthen_pause();
    return true;
  }
  switch (judge(time)) {
    case judgment::pays: pays = true; return false;
    case judgment::unknown: next_trial = time + window; return true;
    case judgment::does_not_pay: break;
  }
  next_trial = time + pause;
  lengthen_pause();
  return true;
}

}  // namespace

void consider_optimism() noexcept {
  const u64 time = machine::now();
  if (since == 0 || time - since > 20 * window) return start_measuring(time);
  if (time - since < window || time < next_trial) return;
  if (busy.exchange(true, std::memory_order_acquire)) return;
  lock_rate = rate(time);
  warming_up = true;
  pays = false;
  due.store(time + warm_up, std::memory_order_relaxed);
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
  if (busy.load(std::memory_order_relaxed) || time < due.load(std::memory_order_relaxed)) return;
  if (busy.exchange(true, std::memory_order_acquire)) return;
  if (consider_trial(time)) {
    now.acquire(tx);
    now.choose(nullptr);
    start_measuring(machine::now());
    now.release(tx);
  }
  busy.store(false, std::memory_order_release);
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
  print_same_function();
}

}  // namespace syncopate::tm
