// The native machine: time, processors, waiting for a word, parking and waking.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <limits>
#include <thread>

#include <sched.h>

#include <syncopate/machine.h>
#include <syncopate/machine/affinity.h>

namespace {

namespace machine = syncopate::machine;

constexpr std::uint64_t millisecond = 1'000'000;  // in nanoseconds

machine::deadline after(clockid_t clock, std::uint64_t nanoseconds) {
  timespec t;
  clock_gettime(clock, &t);
  const std::uint64_t sum = static_cast<std::uint64_t>(t.tv_nsec) + nanoseconds;
  t.tv_sec += static_cast<time_t>(sum / 1'000'000'000u);
  t.tv_nsec = static_cast<long>(sum % 1'000'000'000u);
  return {t, clock};
}

// A bound thread counts its own processor only; the runtime that bound it knows of the others.
TEST(Processors, AreLearntAndNeverForgotten) {
  const unsigned before = machine::processors();
  machine::learn_processors(0);
  machine::learn_processors(static_cast<int>(before) - 1);
  EXPECT_EQ(machine::processors(), before);
  machine::learn_processors(static_cast<int>(before) + 1);
  EXPECT_EQ(machine::processors(), before + 1);
  EXPECT_TRUE(machine::may_spin());
  machine::detail::usable_processors.store(static_cast<int>(before));
}

TEST(Processors, AreLeftForOthersAndUsableAsBefore) {
  const machine::detail::processor_mask before;
  const unsigned here = machine::processor();
  bool asked_of_another = false;
  const bool moved = machine::move_away([&](unsigned n) {
    asked_of_another |= n != here;
    EXPECT_TRUE(before.has(n));
    return n == here;
  });
  EXPECT_EQ(moved, before.count() > 1);
  EXPECT_EQ(asked_of_another, before.count() > 1);
  const machine::detail::processor_mask after;
  EXPECT_EQ(after.count(), before.count());
  for (unsigned n = 0; n < before.end(); ++n) EXPECT_EQ(after.has(n), before.has(n)) << n;
  EXPECT_FALSE(machine::move_away([](unsigned) { return true; }));
  EXPECT_EQ(machine::detail::processor_mask().count(), before.count());
}

// A budget of 100 steps is 4,000 ticks, whatever a PAUSE takes.
TEST(Polls, ABudgetOfStepsIsATime) {
  using machine::detail::rate_of;
  using machine::detail::scaled;
  constexpr std::uint32_t tried = 32, steps = 100;
  for (const std::uint32_t pause : {10, 40, 63, 140}) {
    const std::uint32_t polls = scaled(rate_of(tried, tried * pause), steps);
    EXPECT_LE(polls * pause, 4'000u) << pause;
    EXPECT_GE(polls * (pause + 1) + pause, 3'900u) << pause;
  }
}

TEST(Polls, AreAtLeastOneAndNeverEndless) {
  using machine::detail::rate_of;
  using machine::detail::scaled;
  const std::uint32_t trapped = rate_of(32, 32u * 100'000), free = rate_of(32, 0);
  EXPECT_EQ(scaled(trapped, 1), 1u);
  EXPECT_EQ(scaled(trapped, 0), 0u);
  EXPECT_EQ(scaled(free, 1), 64u);
  EXPECT_EQ(scaled(free, UINT32_MAX), UINT32_MAX);
  EXPECT_EQ(machine::polls(0), 0u);
  EXPECT_GE(machine::polls(1), 1u);
}

TEST(Clock, TicksAndNowAdvanceTogether) {
  const std::uint64_t rate = machine::ticks_per_second();
  EXPECT_GT(rate, 1'000'000u);
  EXPECT_EQ(machine::ticks_per_second(), rate);
  const std::uint64_t t0 = machine::now(), c0 = machine::ticks();
  while (machine::now() - t0 < 20 * millisecond) machine::relax();
  const double by_ticks = static_cast<double>(machine::ticks() - c0) / static_cast<double>(rate);
  // Loose on purpose: only a wrong unit or a wrong clock must fail, not a busy machine.
  EXPECT_GT(by_ticks, 0.010);
  EXPECT_LT(by_ticks, 10.0);
}

TEST(Processor, IsOneThatThisThreadMayRunOn) {
  cpu_set_t usable;
  ASSERT_EQ(sched_getaffinity(0, sizeof usable, &usable), 0);
  EXPECT_TRUE(CPU_ISSET(machine::processor(), &usable));
  EXPECT_EQ(machine::may_spin(), CPU_COUNT(&usable) > 1);
}

TEST(WaitUntil, ReturnsTheValueThatSatisfies) {
  std::atomic<int> word{0};
  std::jthread other([&] { word.store(7, std::memory_order_release); });
  EXPECT_EQ(machine::wait_until(word, std::memory_order_acquire, [](int v) { return v != 0; }), 7);
}

TEST(WaitUntil, GivesUpAtItsLimit) {
  std::atomic<int> word{0};
  const auto never = [](int v) { return v != 0; };
  EXPECT_FALSE(machine::wait_until(word, std::memory_order_acquire, never, machine::ticks()));
  word.store(1, std::memory_order_relaxed);
  EXPECT_TRUE(machine::wait_until(word, std::memory_order_acquire, never, machine::ticks() - 1));
}

TEST(Park, ReturnsAtOnceWhenTheWordHasChanged) {
  std::atomic<std::uint32_t> word{1};
  EXPECT_EQ(machine::park(word, 0), machine::park_result::value_changed);
}

TEST(Park, TimesOutOnBothClocks) {
  std::atomic<std::uint32_t> word{0};
  for (const clockid_t clock : {CLOCK_MONOTONIC, CLOCK_REALTIME}) {
    const auto past = after(clock, 0);
    EXPECT_EQ(machine::park(word, 0, &past), machine::park_result::timed_out);
    const std::uint64_t start = machine::now();
    const auto soon = after(clock, 5 * millisecond);
    EXPECT_EQ(machine::park(word, 0, &soon), machine::park_result::timed_out);
    EXPECT_GE(machine::now() - start, 4 * millisecond);
  }
}

// A clock has no time before its beginning: far in the past is not far in the future.
TEST(Deadline, OfTheFarPastHasPassed) {
  for (const std::int64_t ago : {std::int64_t{-1}, std::int64_t{1} << 62, std::int64_t{-1} << 62,
                                 std::numeric_limits<std::int64_t>::min()})
    EXPECT_EQ(machine::remaining(machine::after(ago)) <= 0, ago < 0) << ago;
}

TEST(Park, LeavesErrnoAlone) {
  std::atomic<std::uint32_t> word{0};
  const auto past = after(CLOCK_MONOTONIC, 0);
  errno = 12345;
  static_cast<void>(machine::park(word, 0, &past));
  static_cast<void>(machine::wake(&word, 1));
  EXPECT_EQ(errno, 12345);
}

TEST(Park, IsWokenThroughTheAddressAlone) {
  std::atomic<std::uint32_t> word{0};
  std::atomic<bool> back{false};
  std::jthread sleeper([&] {
    while (word.load(std::memory_order_acquire) == 0) static_cast<void>(machine::park(word, 0));
    back.store(true, std::memory_order_release);
  });
  EXPECT_EQ(machine::wake(&back, 1), 0);  // nobody sleeps on this one
  word.store(1, std::memory_order_release);
  while (!back.load(std::memory_order_acquire)) {
    static_cast<void>(machine::wake(&word, 1));
    machine::yield();
  }
  EXPECT_TRUE(back.load(std::memory_order_relaxed));
}

TEST(Park, WakesOnlyTheBitsetNamed) {
  std::atomic<std::uint32_t> word{0};
  std::atomic<int> returns{0};
  std::jthread sleeper([&] {
    static_cast<void>(machine::park(static_cast<const void*>(&word), 0, nullptr, 0b10));
    returns.fetch_add(1, std::memory_order_release);
  });
  // Bit 0 never meets the sleeper's bit 1; wake() says how many it woke, whenever that is.
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(machine::wake(&word, 1, 0b01), 0);
    machine::yield();
  }
  while (returns.load(std::memory_order_acquire) == 0) {
    static_cast<void>(machine::wake(&word, 1, 0b10));
    machine::yield();
  }
  EXPECT_EQ(returns.load(std::memory_order_relaxed), 1);
}

}  // namespace
