// team_wait.h -- how a thread waits in a barrier of its team: a waiting strategy as in wait/,
// which a mark of the phase (team.h) interrupts.
//
// Sleepers sleep on an event of the team's own, not on the barrier's word: whoever marks the phase
// can wake them without knowing the barrier. So the barriers need not wake anybody (`parks` is
// false); each thread looks for sleepers after its own stores: when it begins to wait itself, and
// when it leaves the barrier.
//
// A monitor watches the barrier's word alone: who sleeps on it sees a mark when the sleep is over,
// a tenth of a millisecond later at most (machine/monitor.h).
//
// Checked by    tests/check/team_wait_scenarios.cpp.
//
// Memory order (each tag stands at its site below)
//   [W]  the sleepers' count, relaxed, with a light fence at the waker's and a heavy one at the
//        sleeper's between it and what ends the wait (team.h): one of the two sees the other.
//        Release RMW of the event behind that.
//   [S]  acquire load of the event, before the look at what ends the wait: a wake that comes
//        between makes park() return.
//   [M]  acquire load of the phase's mark -- synchronizes with mark_phase() (team.cpp).
//   [K]  relaxed: a hint where others run.
//   [Q]  relaxed: the caller loads again with its own order.
#pragma once

#include <syncopate/machine.h>
#include <syncopate/wait/foreign_load.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "openmp/config.h"
#include "openmp/teams/team.h"

namespace syncopate::openmp {

inline void wake_sleepers(team& t) noexcept {
  machine::light_fence();                                                            // [W]
  if (__builtin_expect(t.sleepers.load(std::memory_order_relaxed) == 0, 1)) return;  // [W]
  t.event.fetch_add(1, std::memory_order_release);                                   // [W]
  machine::wake(&t.event, INT32_MAX);
}

// One wait: pass_time() between two looks at what ends it.
class team_waiter {
 public:
  explicit team_waiter(frame& f) noexcept;
  ~team_waiter();
  team_waiter(const team_waiter&) = delete;
  team_waiter& operator=(const team_waiter&) = delete;

  // `word` is what the barrier watches.
  template <class Predicate>
  void pass_time(const std::atomic<std::uint32_t>& word, Predicate done) noexcept {
    if (__builtin_expect(polls_ != 0, 1)) {
      --polls_;
      machine::relax();
    } else if (stage_ == stage::on_monitor) {
      sleep_on_monitor(word, done);
    } else {
      pass_time_slow();
    }
  }

  [[nodiscard]] bool called_away() const noexcept {
    return __builtin_expect(
        frame_.in->task_phase.load(std::memory_order_acquire) == frame_.phase,  // [M]
        0);
  }

 private:
  enum class stage : std::uint8_t { first, spinning, on_monitor, yielding, falling_asleep };

  void pass_time_slow() noexcept;
  void decide() noexcept;
  void begin(stage next, std::uint64_t limit) noexcept;
  void go_on_spinning() noexcept;
  void go_on_after_monitor() noexcept;
  void go_on_yielding() noexcept;
  void sleep() noexcept;

  template <class Predicate>
  void sleep_on_monitor(const std::atomic<std::uint32_t>& word, Predicate done) noexcept {
    const std::uint64_t until = std::min(limit_, machine::ticks() + monitor_ticks);
    // Relaxed: the caller loads again with its own order.
    if (!machine::monitor_wait(word, std::memory_order_relaxed, done,
                               machine::sleep_depth::light,  // [Q]
                               until))
      go_on_after_monitor();
  }

  [[nodiscard]] bool shares_processor() const noexcept;
  // Whether whom we wait for has no processor, as far as one can tell.
  [[nodiscard]] bool crowded() const noexcept;
  void yield_if_crowded() noexcept;

  // Of one sleep on the monitor: as long as the system lets it be. Then we look around.
  static constexpr std::uint64_t monitor_ticks = 100'000;

  frame& frame_;
  std::uint32_t polls_;
  stage stage_ = stage::first;
  std::uint32_t seen_ = 0;   // event before the last look
  std::uint64_t start_ = 0;  // ticks; 0: short so far
  std::uint64_t limit_ = 0;  // ticks at which the stage ends
  bool slept_ = false;
  waits::peer_yield yield_;
};

struct team_wait {
  static constexpr const char* name = "team";
  static constexpr bool parks = false;

  // Returns the first value for which done(value) holds, or any value when the thread was called
  // away: then the barrier's episode ends when all have arrived, as any other, but nobody waits.
  template <class Predicate>
  static std::uint32_t until(std::atomic<std::uint32_t>& word, std::memory_order order,
                             Predicate done, std::uint32_t /*parked_bit*/,
                             std::uint32_t /*bitset*/ = ~0u) noexcept {
    std::uint32_t value = word.load(order);
    if (done(value)) return value;
    frame& f = *current;
    wake_sleepers(*f.in);
    team_waiter waiter(f);
    for (;;) {
      value = word.load(order);
      if (done(value) || waiter.called_away()) return value;
      waiter.pass_time(word, done);
    }
  }

  static void delay(std::uint32_t steps) noexcept { machine::spin(steps); }
};

}  // namespace syncopate::openmp
