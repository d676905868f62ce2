// Monitor waits with the real instruction encodings: executed by monitor_emulator.h, which sees
// what they were asked for, and by the processor where it executes them, whether or not it reports
// them.
#include <gtest/gtest.h>

#include <syncopate/machine.h>
#include <syncopate/machine/probe.h>
#include <syncopate/machine/trial.h>

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

// No assumption may cost more than this, even a wrong one.
std::uint64_t five_seconds() { return machine::ticks() + 5 * machine::ticks_per_second(); }

// Whether `watched` was seen to become set within five seconds.
bool becomes_set(sleep_depth depth) {
  return machine::monitor_wait(watched.word, std::memory_order_acquire, is_set, depth,
                               five_seconds());
}

// Writes the word once the waiter has begun that many waits.
void write_after(const std::atomic<unsigned>& count, unsigned waits) {
  EXPECT_TRUE(emulator::reaches(count, waits)) << "waits begun: " << count.load();
  watched.word.store(1, std::memory_order_release);
}

class Monitor : public ::testing::TestWithParam<monitor_family> {
 protected:
  Monitor() {
    machine::use_monitor(GetParam());
    watched.word.store(0);
  }
  ~Monitor() override { machine::use_monitor(monitor_family::unknown); }

  [[nodiscard]] bool waitpkg() const { return GetParam() == monitor_family::waitpkg; }

  // Waits in vain for so many ticks, as often as the scheduler spoils it: until satisfied() says
  // that the waits were as they should. Returns whether they ever were.
  template <class Satisfied>
  bool waits_in_vain(std::uint64_t duration, sleep_depth depth, Satisfied satisfied) {
    const std::uint64_t give_up = five_seconds();
    while (machine::ticks() < give_up) {
      emulator::reset_counts();
      const std::uint64_t start = machine::ticks(), until = start + duration;
      EXPECT_FALSE(
          machine::monitor_wait(watched.word, std::memory_order_acquire, never, depth, until));
      EXPECT_GE(machine::ticks(), until);
      if (satisfied(start, until)) return true;
    }
    return false;
  }

 private:
  emulator::scope scope_;
};

TEST_P(Monitor, ReturnsAtOnceWithTheValueThatSatisfies) {
  watched.word.store(7);
  EXPECT_EQ(
      machine::monitor_wait(watched.word, std::memory_order_acquire, is_set, sleep_depth::light),
      7u);
  EXPECT_EQ(emulator::traps.load(), 0u);
}

TEST_P(Monitor, WakesWhenTheWordIsWritten) {
  std::jthread writer([] { write_after(emulator::waits, 1); });
  EXPECT_TRUE(becomes_set(sleep_depth::light));
  EXPECT_GE(emulator::armings.load(), 1u);
}

// The store comes between the waiter's look and its arming: no later store will wake it.
TEST_P(Monitor, LooksAgainBetweenArmingAndSleeping) {
  emulator::machine.before_arming = [] { watched.word.store(1, std::memory_order_release); };
  EXPECT_TRUE(becomes_set(sleep_depth::light));
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
  std::jthread writer([] { write_after(emulator::waits, 7); });
  EXPECT_TRUE(becomes_set(sleep_depth::deep));
}

TEST_P(Monitor, WorksWhereTheKernelAllowsNoSleep) {
  emulator::machine.system_limit = 0;
  std::jthread writer([this] {  // MWAITX knows no such limit
    write_after(waitpkg() ? emulator::limited : emulator::waits, waitpkg() ? 3 : 1);
  });
  EXPECT_TRUE(becomes_set(sleep_depth::light));
}

// After arming, the thread moves: to a processor without a monitor, or with one on another line.
TEST_P(Monitor, SurvivesMigration) {
  for (const bool other_line : {false, true}) {
    watched.word.store(0);
    emulator::waits.store(0);
    emulator::machine.loses_monitor = !other_line;
    emulator::machine.armed_by_other = other_line ? &other : nullptr;
    std::jthread writer([] { write_after(emulator::waits, 2); });
    EXPECT_TRUE(becomes_set(sleep_depth::light));
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
    if (!waitpkg()) {
      EXPECT_GE(machine::ticks() - start, 30'000u);
      return;
    }
    absolute = emulator::last.what == emulator::instruction::tpause &&
               !emulator::last.already_past && emulator::last.deadline >= start + 30'000;
  }
  EXPECT_TRUE(absolute) << "TPAUSE takes an absolute time";
}

const auto families = ::testing::Values(monitor_family::waitpkg, monitor_family::monitorx);
constexpr auto family_name = [](const auto& info) {
  return info.param == monitor_family::waitpkg ? "Waitpkg" : "Monitorx";
};
INSTANTIATE_TEST_SUITE_P(Instructions, Monitor, families, family_name);

// What the processor itself does with the instructions, found out by trying them in a child.
machine::trial_end tried(monitor_family family) {
  int word = 0;
  if (family == monitor_family::waitpkg)
    return machine::run_trial(word, machine::detail::try_umwait);
  return machine::run_trial(word, machine::detail::try_mwaitx);
}

class NativeMonitor : public ::testing::TestWithParam<monitor_family> {
 protected:
  ~NativeMonitor() override { machine::use_monitor(monitor_family::unknown); }
};

// Where it does not execute them it says so by SIGILL, and the library does without.
TEST_P(NativeMonitor, WaitsEndAsTheyShould) {
  machine::use_monitor(monitor_family::unknown);
  if (const auto end = tried(GetParam()); end != machine::trial_end::completed) {
    EXPECT_EQ(end, machine::trial_end::illegal_instruction);
    EXPECT_NE(machine::monitor_in_use(), GetParam());
    return;
  }
  machine::use_monitor(GetParam());
  for (const sleep_depth depth : {sleep_depth::light, sleep_depth::deep}) {
    for (int round = 0; round < 20; ++round) {
      watched.word.store(0);
      std::jthread writer([] { watched.word.store(1, std::memory_order_release); });
      EXPECT_TRUE(becomes_set(depth));
    }
    watched.word.store(0);
    const std::uint64_t until = machine::ticks() + 400'000;
    EXPECT_FALSE(
        machine::monitor_wait(watched.word, std::memory_order_acquire, never, depth, until));
    EXPECT_GE(machine::ticks(), until);
    EXPECT_LT(machine::ticks(), five_seconds());
  }
}

// What executes but is not reported is not used: a hypervisor hides it, and may move the program to
// a processor that lacks it.
TEST_P(NativeMonitor, UsesOnlyWhatIsReportedAndExecutes) {
  const bool waitpkg = GetParam() == monitor_family::waitpkg;
  const bool reported =
      waitpkg ? machine::detail::reported(7, 5) : machine::detail::reported(0x80000001, 29);
  const bool executes = tried(GetParam()) == machine::trial_end::completed;
  machine::use_monitor(monitor_family::unknown);
  if (machine::monitor_in_use() == GetParam()) {
    EXPECT_TRUE(reported && executes);
  }
  EXPECT_EQ(machine::usable(waitpkg ? "waitpkg" : "monitorx"), reported && executes);
  for (const auto& c : machine::probe()) {
    if (c.name != (waitpkg ? "waitpkg" : "monitorx") || reported || !executes) continue;
    EXPECT_NE(c.reason.find("though it executes"), std::string::npos) << c.reason;
  }
}

INSTANTIATE_TEST_SUITE_P(Processor, NativeMonitor, families, family_name);

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
