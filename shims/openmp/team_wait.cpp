// team_wait.cpp -- L4: see team_wait.h.

#include "openmp/team_wait.h"

#include <syncopate/wait/plan.h>

namespace syncopate::openmp {
namespace {

// Polls before the clock is looked at and anything decided: about a microsecond, several times what
// a barrier of two running threads takes.
constexpr std::uint32_t first_polls = 40;
// With more threads than processors whom we wait for is likely not to run.
constexpr std::uint32_t first_polls_crowded = 2;
constexpr std::uint32_t polls_per_look = 16;
constexpr std::uint64_t spin_then_park_ticks = 20'000;  // wait/spin_then_park.h
// What this thread's waits have been like.
thread_local constinit waits::history past [[gnu::tls_model("initial-exec")]];

}  // namespace

team_waiter::team_waiter(frame& f) noexcept : frame_(f) {
  if (oversubscribed()) waits::begin_wait();
  if (config.wait == waiting::park) polls_ = 0;
  else polls_ = oversubscribed() ? first_polls_crowded : first_polls;
}

team_waiter::~team_waiter() {
  if (stage_ == stage::falling_asleep) frame_.in->sleepers.fetch_sub(1, std::memory_order_relaxed);
  if (config.wait != waiting::adaptive) return;
  const std::uint64_t wake_latency = machine::wake_latency();
  const std::uint64_t took = start_ != 0 ? machine::ticks() - start_ : 0;
  const std::uint64_t price = slept_ ? wake_latency : 0;
  past.note(took > price ? took - price : 1, wake_latency);
  if (stage_ == stage::yielding) yield_.was_last();
}

bool team_waiter::shares_processor() const noexcept {
  const team& t = *frame_.in;
  const auto here = static_cast<std::uint16_t>(machine::processor() + 1);
  const std::uint32_t count = frame_.threads < team::watched ? frame_.threads : team::watched;
  for (std::uint32_t i = 0; i < count; ++i)
    if (i != frame_.id && t.processor[i].load(std::memory_order_relaxed) == here) return true;
  return false;
}

void team_waiter::begin(stage next, std::uint64_t limit) noexcept {
  stage_ = next;
  limit_ = start_ + limit;
  if (next != stage::falling_asleep) return;
  team& t = *frame_.in;
  seen_ = t.event.load(std::memory_order_acquire);
  t.sleepers.fetch_add(1, std::memory_order_relaxed);
  if (machine::heavy_fence()) return;  // [W]; now one more look, then sleep()
  t.sleepers.fetch_sub(1, std::memory_order_relaxed);
  stage_ = stage::yielding;  // nobody would see us sleep
  limit_ = ~std::uint64_t{0};
}

void team_waiter::decide() noexcept {
  start_ = machine::ticks();
  switch (config.wait) {
    case waiting::spin: return begin(stage::spinning, ~std::uint64_t{0} - start_);
    case waiting::yield: return begin(stage::yielding, ~std::uint64_t{0} - start_);
    case waiting::park: return begin(stage::falling_asleep, 0);
    case waiting::spin_then_park:
      return machine::may_spin() ? begin(stage::spinning, spin_then_park_ticks)
                                 : begin(stage::falling_asleep, 0);
    case waiting::adaptive: break;
  }
  const std::uint64_t expected = past.expected(), wake_latency = machine::wake_latency();
  const waits::plan how =
      waits::choose({.expected = expected,
                     .wake_latency = wake_latency,
                     .alone = !machine::may_spin(),
                     .crowded = oversubscribed() || shares_processor(),
                     .may_yield = true,
                     .probe = expected > wake_latency && waits::history::probe()});
  switch (how.first) {
    case waits::way::park: return begin(stage::falling_asleep, 0);
    case waits::way::yield: return begin(stage::yielding, how.limit);
    default: return begin(stage::spinning, how.limit);
  }
}

void team_waiter::go_on_spinning() noexcept {
  polls_ = polls_per_look;
  if (config.wait == waiting::spin) return;
  const std::uint64_t now = machine::ticks();
  if (now >= limit_) return begin(stage::falling_asleep, 0);
  if (config.wait == waiting::adaptive && shares_processor())
    begin(stage::yielding, 2 * machine::wake_latency());
}

void team_waiter::go_on_yielding() noexcept {
  if (config.wait != waiting::adaptive) return machine::yield();
  if (machine::ticks() >= limit_ || !yield_.offer()) begin(stage::falling_asleep, 0);
}

// The thread is counted among the sleepers, and has looked since.
void team_waiter::sleep() noexcept {
  slept_ = true;
  machine::park(frame_.in->event, seen_);
  seen_ = frame_.in->event.load(std::memory_order_acquire);
}

void team_waiter::pass_time_slow() noexcept {
  switch (stage_) {
    case stage::first: return decide();
    case stage::spinning: return go_on_spinning();
    case stage::yielding: return go_on_yielding();
    case stage::falling_asleep: return sleep();
  }
}

}  // namespace syncopate::openmp
