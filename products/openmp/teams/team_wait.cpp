// team_wait.cpp -- see team_wait.h.

#include "openmp/teams/team_wait.h"

#include <syncopate/wait/plan.h>

namespace syncopate::openmp {
namespace {

// Steps of polling before the clock is looked at and anything decided: about a microsecond, several
// times what a barrier of two running threads takes.
constexpr std::uint32_t first_steps = 40;
// With more threads than processors whom we wait for is likely not to run.
constexpr std::uint32_t first_steps_crowded = 2;
constexpr std::uint32_t steps_per_look = 16;
constexpr std::uint64_t spin_then_park_ticks = 20'000;  // wait/spin_then_park.h
constexpr std::uint64_t for_ever = ~std::uint64_t{0} / 4;
// What this thread's waits have been like.
thread_local constinit waits::history past [[gnu::tls_model("initial-exec")]];

}  // namespace

team_waiter::team_waiter(frame& f) noexcept : frame_(f) {
  if (oversubscribed()) waits::be_seen();
  if (config.wait == waiting::park) polls_ = 0;
  else polls_ = machine::polls(oversubscribed() ? first_steps_crowded : first_steps);
}

team_waiter::~team_waiter() {
  if (stage_ == stage::falling_asleep)
    frame_.in->sleepers.fetch_sub(1, std::memory_order_relaxed);  // [W]
  if (stage_ == stage::yielding) yield_.was_last();
  if (config.wait != waiting::adaptive) return;
  const std::uint64_t wake_latency = machine::wake_latency();
  const std::uint64_t took = start_ != 0 ? machine::ticks() - start_ : 0;
  const std::uint64_t price = slept_ ? wake_latency : 0;
  past.note(took > price ? took - price : 1, wake_latency);
  waits::others.took(took);
}

bool team_waiter::shares_processor() const noexcept {
  const team& t = *frame_.in;
  const auto here = static_cast<std::uint16_t>(machine::processor() + 1);
  const std::uint32_t count = frame_.threads < team::watched ? frame_.threads : team::watched;
  for (std::uint32_t i = 0; i < count; ++i)
    if (i != frame_.id && t.processor[i].load(std::memory_order_relaxed) == here)
      return true;  // [K]
  return false;
}

void team_waiter::begin(stage next, std::uint64_t limit) noexcept {
  stage_ = next;
  limit_ = start_ + limit;
  if (next != stage::falling_asleep) return;
  team& t = *frame_.in;
  seen_ = t.event.load(std::memory_order_acquire);     // [S]
  t.sleepers.fetch_add(1, std::memory_order_relaxed);  // [W]
  if (machine::heavy_fence()) return;                  // [W]; now one more look, then sleep()
  t.sleepers.fetch_sub(1, std::memory_order_relaxed);  // [W]
  stage_ = stage::yielding;                            // nobody would see us sleep
  limit_ = ~std::uint64_t{0};
}

void team_waiter::decide() noexcept {
  start_ = machine::ticks();
  switch (config.wait) {
    case waiting::spin: return begin(stage::spinning, for_ever);
    case waiting::monitor:
      // As wait/monitor.h: where there is no monitor it polls. But teams may outnumber processors.
      if (crowded()) return begin(stage::yielding, for_ever);
      return begin(machine::monitor_usable() ? stage::on_monitor : stage::spinning, for_ever);
    case waiting::yield: return begin(stage::yielding, for_ever);
    case waiting::park: return begin(stage::falling_asleep, 0);
    case waiting::spin_then_park:
      return machine::may_spin() ? begin(stage::spinning, spin_then_park_ticks)
                                 : begin(stage::falling_asleep, 0);
    case waiting::adaptive: break;
  }
  if (waits::others.is_there()) return begin(stage::falling_asleep, 0);
  const std::uint64_t expected = past.expected(), wake_latency = machine::wake_latency();
  const waits::plan how =
      waits::choose({.expected = expected,
                     .wake_latency = wake_latency,
                     .alone = !machine::may_spin(),
                     .crowded = crowded(),
                     .may_yield = true,
                     .monitor = machine::monitor_usable(),
                     .probe = expected > wake_latency && waits::history::probe()});
  switch (how.first) {
    case waits::way::park: return begin(stage::falling_asleep, 0);
    case waits::way::yield: return begin(stage::yielding, how.limit);
    case waits::way::monitor: return begin(stage::on_monitor, how.limit);
    default: return begin(stage::spinning, how.limit);
  }
}

bool team_waiter::crowded() const noexcept { return oversubscribed() || shares_processor(); }

void team_waiter::yield_if_crowded() noexcept {
  if (crowded()) begin(stage::yielding, for_ever);
}

void team_waiter::go_on_spinning() noexcept {
  polls_ = machine::polls(steps_per_look);
  if (config.wait == waiting::spin) return;
  if (config.wait == waiting::monitor) return yield_if_crowded();
  const std::uint64_t now = machine::ticks();
  if (now >= limit_) return begin(stage::falling_asleep, 0);
  if (config.wait == waiting::adaptive && shares_processor())
    begin(stage::yielding, 2 * machine::wake_latency());
}

void team_waiter::go_on_after_monitor() noexcept {
  if (config.wait == waiting::monitor) return yield_if_crowded();
  if (machine::ticks() >= limit_) return begin(stage::falling_asleep, 0);
  if (shares_processor()) begin(stage::yielding, 2 * machine::wake_latency());
}

void team_waiter::go_on_yielding() noexcept {
  if (config.wait == waiting::yield) return machine::yield();
  if (machine::ticks() >= limit_ || !yield_.offer()) begin(stage::falling_asleep, 0);
}

// The thread is counted among the sleepers, and has looked since.
void team_waiter::sleep() noexcept {
  slept_ = true;
  machine::park(frame_.in->event, seen_);
  seen_ = frame_.in->event.load(std::memory_order_acquire);  // [S]
}

void team_waiter::pass_time_slow() noexcept {
  switch (stage_) {
    case stage::first: return decide();
    case stage::spinning: return go_on_spinning();
    case stage::on_monitor: return;  // not here: sleep_on_monitor()
    case stage::yielding: return go_on_yielding();
    case stage::falling_asleep: return sleep();
  }
}

}  // namespace syncopate::openmp
