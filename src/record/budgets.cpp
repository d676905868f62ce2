// budgets.cpp -- what bounds the cost of a thread's stacks and events.
//
// Memory order (each tag stands at its site below)
//   [H]  relaxed: the thread has loaded the header with acquire when it entered (recorder.cpp).
#include <utility>

#include "record/threads.h"

namespace syncopate::record {

namespace {

constexpr std::uint32_t burst = 256, per_second = 2000, halve_after = 4096, most_halvings = 31;
std::uint64_t price() noexcept { return ticks_per_second / per_second; }

// Usable ones, at the start.
std::uint64_t processors() noexcept {
  const file_header* const h = header.load(std::memory_order_relaxed);  // [H]
  return h != nullptr && h->processors != 0 ? h->processors : 1;
}

}  // namespace

// Share of elapsed time for each of the three reasons: 0.5 %, so 1.5 % in all. With more threads
// than processors their elapsed times add up to more than the machine has, so that the share
// shrinks accordingly.
void capture_budget::start(std::uint64_t now, std::uint64_t credit) noexcept {
  refilled_ = now;
  credit_ = static_cast<std::int64_t>(credit);
  most_ = static_cast<std::int64_t>(ticks_per_second / 600);
  if (most_ < credit_) most_ = credit_;
}

bool capture_budget::allows(std::uint64_t now) noexcept {
  if (credit_ > 0) return true;
  const std::uint64_t elapsed = now - refilled_;
  if (elapsed < milliseconds(1)) return false;  // no division at every wait
  refilled_ = now;
  const std::uint64_t running = running_threads();
  std::uint64_t share = elapsed / 200;
  if (running > processors()) share = share * processors() / running;
  credit_ += static_cast<std::int64_t>(share);
  if (credit_ > most_) credit_ = most_;
  return credit_ > 0;
}

void capture_budget::spend(std::uint64_t ticks) noexcept {
  const std::uint64_t most = ticks_per_second / 10'000;
  credit_ -= static_cast<std::int64_t>(ticks < most ? ticks : most);
}

bool event_budget::has_luck(std::uint32_t halvings) noexcept {
  if (halvings == 0) return true;
  chance_ = chance_ * 1664525u + 1013904223u;  // Numerical Recipes' generator
  return chance_ >> (32 - (halvings < most_halvings ? halvings : most_halvings)) == 0;
}

// With more threads than processors, each gets less of both, or the machine would spend on events
// what it has for one thread. At least an eighth: most of many threads may be asleep.
bool event_budget::pays(std::uint64_t now) noexcept {
  constexpr std::uint32_t most_crowded = 8;
  if (paid_until_ > now + burst * price()) return false;
  const std::uint64_t running = running_threads();
  const std::uint64_t threads_each = (running + processors() - 1) / processors();
  const std::uint64_t crowded = threads_each < most_crowded ? threads_each : most_crowded;
  paid_until_ = (paid_until_ > now ? paid_until_ : now) + price() * (crowded != 0 ? crowded : 1);
  return true;
}

bool event_budget::allows(std::uint64_t now) noexcept {
  if (!has_luck(written_ / halve_after) || !pays(now)) return false;
  ++written_;
  return true;
}

// One step at a time: what a thread does in turn, as in each frame of a game, has to come about
// meanwhile.
bool event_budget::allows_beginning(std::uint64_t now) noexcept {
  const bool may_change = now - changed_ >= burst / 8 * price();
  const auto change_to = [&](std::uint32_t thinning) {
    thinning_ = thinning;
    changed_ = now;
  };
  if (thinning_ != 0 && may_change && paid_until_ <= now + burst / 2 * price())
    change_to(thinning_ - 1);
  if (!has_luck(written_ / halve_after + thinning_)) return false;
  if (!pays(now)) {
    if (may_change && thinning_ < most_halvings) change_to(thinning_ + 1);
    return false;
  }
  ++written_;
  return true;
}

bool event_budget::allows_long(std::uint64_t now) noexcept {
  if (!has_luck(written_long_ / halve_after) || !pays(now)) return false;
  ++written_long_;
  return true;
}

std::uint32_t release_turns::take_now(turn& t) noexcept {
  constexpr std::uint32_t first_ones = 64, one_in = 16;
  if (++t.measured > first_ones) {
    chance_ = chance_ * 1664525u + 1013904223u;  // Numerical Recipes' generator
    t.left = static_cast<std::uint16_t>((chance_ >> 16) % (2 * one_in - 1));
  }
  return std::exchange(t.count, std::uint16_t{0});
}

}  // namespace syncopate::record
