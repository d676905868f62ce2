// Monitor waits with the real instruction encodings, executed by monitor_emulator.h where the
// processor has none. Where it has them, what they were asked for cannot be seen, and the tests
// check how the waits end only.
#include <gtest/gtest.h>

#include <syncopate/machine.h>

#if defined(__x86_64__)

#include <thread>

#include "monitor_emulator.h"

namespace {

namespace machine = syncopate::machine;
namespace emulator = monitor_emulator;
using machine::monitor_family;
using machine::sleep_depth;

constexpr auto is_set = [](std::uint32_t value) { return value != 0; };
constexpr auto never = [](std::uint32_t) { return false; };

struct alignas(64) line {
  std::atomic<std::uint32_t> word{0};
};
line watched, other;

bool runs_here(monitor_family family) {
  machine::use_monitor(monitor_family::unknown);
  return machine::monitor_in_use() == family;
}

class Monitor : public ::testing::TestWithParam<monitor_family> {
 protected:
  Monitor() : emulated_(!runs_here(GetParam())) {
    machine::use_monitor(GetParam());
    watched.word.store(0);
  }
  ~Monitor() override { machine::use_monitor(monitor_family::unknown); }

  [[nodiscard]] bool waitpkg() const { return GetParam() == monitor_family::waitpkg; }
  [[nodiscard]] bool emulated() const { return emulated_; }

  // Waits in vain for so many ticks, as often as the scheduler spoils it: until satisfied() says
  // that the waits were as they should. Returns whether they ever were.
  template <class Satisfied>
  bool waits_in_vain(std::uint64_t duration, sleep_depth depth, Satisfied satisfied) {
    const std::uint64_t give_up = machine::ticks() + 5 * machine::ticks_per_second();
    while (machine::ticks() < give_up) {
      emulator::reset_counts();
      const std::uint64_t start = machine::ticks(), until = start + duration;
      EXPECT_FALSE(
          machine::monitor_wait(watched.word, std::memory_order_acquire, never, depth, until));
      EXPECT_GE(machine::ticks(), until);
      if (!emulated() || satisfied(start, until)) return true;
    }
    return false;
  }

  emulator::scope scope_;

 private:
  const bool emulated_;
};

TEST_P(Monitor, ReturnsAtOnceWithTheValueThatSatisfies) {
  watched.word.store(7);
  EXPECT_EQ(
      machine::monitor_wait(watched.word, std::memory_order_acquire, is_set, sleep_depth::light),
      7u);
  EXPECT_EQ(emulator::traps.load(), 0u);
}

TEST_P(Monitor, WakesWhenTheWordIsWritten) {
  std::jthread writer([this] {
    if (emulated())
      while (emulator::waits.load() == 0) machine::yield();
    watched.word.store(1, std::memory_order_release);
  });
  EXPECT_EQ(
      machine::monitor_wait(watched.word, std::memory_order_acquire, is_set, sleep_depth::light),
      1u);
  if (!emulated()) return;
  EXPECT_GE(emulator::armings.load(), 1u);
}

// The store comes between the waiter's look and its arming: no later store will wake it.
TEST_P(Monitor, LooksAgainBetweenArmingAndSleeping) {
  emulator::machine.before_arming = [] { watched.word.store(1, std::memory_order_release); };
  if (!emulated()) watched.word.store(1);
  machine::monitor_wait(watched.word, std::memory_order_acquire, is_set, sleep_depth::light);
  EXPECT_EQ(emulator::waits.load(), 0u);
}

// A deadline of the other kind is always past (UMWAIT), or far too late (MWAITX).
TEST_P(Monitor, KeepsItsLimit) {
  EXPECT_TRUE(waits_in_vain(80'000, sleep_depth::light, [this](auto start, auto until) {
    const emulator::request& last = emulator::last;
    if (emulator::waits.load() == 0 || emulator::past.load() != 0) return false;
    if (waitpkg()) return last.deadline == until;
    constexpr std::uint32_t timer = 2;
    return last.deadline <= until - start && last.extensions == timer;
  }));
}

// Whatever the caller's limit, one sleep is short: the monitor may be lost.
TEST_P(Monitor, NeverSleepsForLong) {
  EXPECT_TRUE(waits_in_vain(400'000, sleep_depth::light,
                            [](auto, auto) { return emulator::waits.load() >= 3; }));
}

TEST_P(Monitor, SleepsOnWhenTheSystemLimitsIt) {
  emulator::machine.system_limit = 2'000;
  EXPECT_TRUE(waits_in_vain(100'000, sleep_depth::deep, [this](auto, auto) {
    return !waitpkg() || emulator::limited.load() >= 2;  // MWAITX knows no such limit
  }));
}

TEST_P(Monitor, GoesOnAfterFalseWakes) {
  emulator::machine.false_wakes = 5;
  std::jthread writer([this] {
    if (emulated())
      while (emulator::waits.load() < 7) machine::yield();
    watched.word.store(3, std::memory_order_release);
  });
  EXPECT_EQ(
      machine::monitor_wait(watched.word, std::memory_order_acquire, is_set, sleep_depth::deep),
      3u);
}

TEST_P(Monitor, WorksWhereTheKernelAllowsNoSleep) {
  emulator::machine.system_limit = 0;
  std::jthread writer([this] {
    if (emulated() && waitpkg())
      while (emulator::limited.load() < 3) machine::yield();
    watched.word.store(1, std::memory_order_release);
  });
  EXPECT_EQ(
      machine::monitor_wait(watched.word, std::memory_order_acquire, is_set, sleep_depth::light),
      1u);
}

// After arming, the thread moves: to a processor without a monitor, or with one on another line.
TEST_P(Monitor, SurvivesMigration) {
  for (const bool other_line : {false, true}) {
    watched.word.store(0);
    emulator::waits.store(0);
    emulator::machine.loses_monitor = !other_line;
    emulator::machine.armed_by_other = other_line ? &other : nullptr;
    std::jthread writer([this] {
      if (emulated())
        while (emulator::waits.load() < 2) machine::yield();
      watched.word.store(1, std::memory_order_release);
    });
    EXPECT_EQ(
        machine::monitor_wait(watched.word, std::memory_order_acquire, is_set, sleep_depth::light),
        1u);
  }
}

TEST_P(Monitor, TranslatesTheDepth) {
  const auto asked_for = [](std::uint32_t operand) {
    return [operand](auto, auto) {
      return emulator::waits.load() != 0 && emulator::last.depth == operand;
    };
  };
  EXPECT_TRUE(waits_in_vain(50'000, sleep_depth::light, asked_for(waitpkg() ? 1 : 0xf0)));
  EXPECT_TRUE(waits_in_vain(50'000, sleep_depth::deep, asked_for(0)));
}

// Below the quantum the instruction costs more than it saves.
TEST_P(Monitor, PollsForVeryShortLimits) {
  const std::uint64_t until = machine::ticks() + 100;
  EXPECT_FALSE(machine::monitor_wait(watched.word, std::memory_order_acquire, never,
                                     sleep_depth::light, until));
  EXPECT_EQ(emulator::waits.load(), 0u);
}

TEST_P(Monitor, DozePassesTheTime) {
  bool absolute = false;
  for (int attempt = 0; attempt < 1000 && !absolute; ++attempt) {
    emulator::last = {};
    const std::uint64_t start = machine::ticks();
    machine::doze(30'000);
    if (!emulated() || !waitpkg()) {
      EXPECT_GE(machine::ticks() - start, 30'000u);
      return;
    }
    absolute = emulator::last.what == emulator::instruction::tpause &&
               !emulator::last.already_past && emulator::last.deadline >= start + 30'000;
  }
  EXPECT_TRUE(absolute) << "TPAUSE takes an absolute time";
}

INSTANTIATE_TEST_SUITE_P(Instructions, Monitor,
                         ::testing::Values(monitor_family::waitpkg, monitor_family::monitorx),
                         [](const auto& info) {
                           return info.param == monitor_family::waitpkg ? "Waitpkg" : "Monitorx";
                         });

TEST(MonitorFamily, PollingNeedsNoInstruction) {
  emulator::scope scope;
  machine::use_monitor(monitor_family::polling);
  std::atomic<std::uint64_t> word{0};
  EXPECT_FALSE(machine::monitor_wait(
      word, std::memory_order_acquire, [](std::uint64_t v) { return v != 0; }, sleep_depth::light,
      machine::ticks() + 10'000));
  EXPECT_EQ(emulator::traps.load(), 0u);
  machine::use_monitor(monitor_family::unknown);
}

// The handler knows the encodings and the semantics; so a wrong kind of deadline shows.
TEST(MonitorEmulator, TellsDeadlinesApart) {
  emulator::scope scope;
  machine::use_monitor(monitor_family::unknown);
  if (machine::monitor_in_use() == monitor_family::waitpkg) return;  // the processor does it
  machine::x86::umonitor(&watched);
  EXPECT_FALSE(machine::x86::umwait(machine::x86::c0::c0_1, 50'000));  // relative by mistake
  EXPECT_TRUE(emulator::last.already_past);
  emulator::machine.system_limit = 1'000;
  EXPECT_TRUE(machine::x86::tpause(machine::x86::c0::c0_2, machine::ticks() + 1'000'000));
  EXPECT_TRUE(emulator::last.limited);
}

TEST(AsymmetricFences, OneOfTwoSeesTheOther) {
  machine::prepare_asymmetric_fences();
  std::atomic<int> x{0}, y{0};
  int neither = 0;
  for (int round = 0; round < 300; ++round) {
    x.store(0), y.store(0);
    int seen_by_light = -1, seen_by_heavy = -1;
    bool effective = false;
    {
      std::jthread light([&] {
        x.store(1, std::memory_order_relaxed);
        machine::light_fence();
        seen_by_light = y.load(std::memory_order_relaxed);
      });
      y.store(1, std::memory_order_relaxed);
      effective = machine::heavy_fence();
      seen_by_heavy = x.load(std::memory_order_relaxed);
    }
    if (effective && seen_by_light == 0 && seen_by_heavy == 0) ++neither;
  }
  EXPECT_EQ(neither, 0);
}

TEST(WakeLatency, IsMeasuredWithinBounds) {
  const std::uint64_t second = machine::ticks_per_second();
  EXPECT_GT(machine::wake_latency(), 0u);  // an estimate at first
  machine::measure_wake_latency();
  EXPECT_GE(machine::wake_latency(), second / 1'000'000);
  EXPECT_LE(machine::wake_latency(), second / 10'000);
}

}  // namespace

#endif
