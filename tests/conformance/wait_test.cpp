// The waiting strategies and the baton: a waiter goes on when, and only when, it may.
#include <gtest/gtest.h>

#include <type_traits>

#include <syncopate/wait/all.h>
#include <syncopate/wait/baton.h>

#include "support.h"

namespace {

using namespace conformance;
namespace waits = syncopate::waits;

template <class Wait>
class Strategy : public ::testing::Test {};
using strategies =
    ::testing::Types<waits::spin, waits::yield, waits::monitor, waits::spin_then_park, waits::park,
                     waits::adaptive, waits::team_adaptive>;
struct strategy_name {
  template <class Wait>
  static std::string GetName(int) {
    return std::is_same_v<Wait, waits::team_adaptive> ? "team_adaptive" : Wait::name;
  }
};
TYPED_TEST_SUITE(Strategy, strategies, strategy_name);

// Where nobody sleeps, a busy machine may let a whole time slice pass at each change of turns.
template <class Wait>
constexpr int turns = Wait::parks ? 2000 : 100;

constexpr std::uint32_t parked = 1, go = 2;
constexpr auto may_go = [](std::uint32_t value) { return (value & ~parked) == go; };

TYPED_TEST(Strategy, ReturnsAtOnceWithTheValueThatSatisfies) {
  std::atomic<std::uint32_t> word{go | parked};
  EXPECT_EQ(TypeParam{}.until(word, std::memory_order_acquire, may_go, parked), go | parked);
  EXPECT_EQ(word.load(), go | parked);
}

TYPED_TEST(Strategy, WaitsUntilTheWordSatisfies) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<std::uint32_t> word{0};
    std::atomic<bool> released{false};
    int data = 0;
    std::jthread waiter([&] {
      TypeParam{}.until(word, std::memory_order_acquire, may_go, parked);
      EXPECT_TRUE(released.load(std::memory_order_relaxed));
      EXPECT_EQ(data, 42);
    });
    machine::spin(static_cast<std::uint32_t>(round) * 8);
    data = 42;
    released.store(true, std::memory_order_relaxed);
    if (word.exchange(go, std::memory_order_release) == parked) machine::wake(&word, 1);
  }
}

TYPED_TEST(Strategy, AnnouncesASleeperExactlyIfItSleeps) {
  std::atomic<std::uint32_t> word{0};
  observed_thread waiter(
      [&] { TypeParam{}.until(word, std::memory_order_acquire, may_go, parked); });
  if (TypeParam::parks) {
    waiter.await_sleep();
    EXPECT_EQ(word.load(), parked);
    machine::wake(&word, 1);  // without cause: it must sleep on
    waiter.await_sleep();
  } else {
    sleep_ms(5);
    EXPECT_EQ(word.load(), 0u);
  }
  EXPECT_FALSE(waiter.is_done());
  word.store(go, std::memory_order_release);
  machine::wake(&word, 1);
}

TYPED_TEST(Strategy, ABatonGoesBackAndForth) {
  constexpr int rounds = turns<TypeParam>;
  waits::baton<TypeParam> ping, pong;
  int count = 0;  // guarded by whoever has the baton
  on_threads(2, [&](int me) {
    for (int i = 0; i < rounds; ++i) {
      if (me == 0) {
        ++count;
        ping.pass();
        pong.await();
        pong.reset();
      } else {
        ping.await();
        ping.reset();
        ++count;
        pong.pass();
      }
    }
  });
  EXPECT_EQ(count, 2 * rounds);
}

TYPED_TEST(Strategy, ABatonMayBePassedBeforeItIsAwaited) {
  waits::baton<TypeParam> baton;
  EXPECT_FALSE(baton.is_passed());
  baton.pass();
  EXPECT_TRUE(baton.is_passed());
  baton.await();
  baton.reset();
  EXPECT_FALSE(baton.is_passed());
}

// The waiter's frame, and the baton in it, may be gone before pass() returns.
TYPED_TEST(Strategy, ABatonMayDieOnceItIsPassed) {
  std::atomic<waits::baton<TypeParam>*> published{nullptr};
  constexpr int rounds = turns<TypeParam>;
  on_threads(2, [&](int me) {
    for (int i = 0; i < rounds; ++i) {
      if (me == 0) {
        auto* const mine = new waits::baton<TypeParam>;
        published.store(mine, std::memory_order_release);
        mine->await();
        delete mine;
      } else {
        waits::baton<TypeParam>* theirs = nullptr;
        await([&] {
          theirs = published.exchange(nullptr, std::memory_order_acquire);
          return theirs != nullptr;
        });
        theirs->pass();
      }
    }
  });
  EXPECT_EQ(published.load(), nullptr);
}

TEST(Park, SleepsUntilTheDeadlineOnBothClocks) {
  std::atomic<std::uint32_t> word{7};
  for (const clockid_t clock : both_clocks) {
    const machine::deadline until = in(10 * millisecond, clock);
    while (machine::park(word, 7, &until) != machine::park_result::timed_out) {
    }
    EXPECT_LE(machine::remaining(until), 0);
  }
}

TEST(Park, WakeCountsWhomItWakes) {
  std::atomic<std::uint32_t> word{0};
  const auto sleep = [&word] {
    while (word.load(std::memory_order_acquire) == 0) machine::park(word, 0);
  };
  observed_thread first(sleep), second(sleep), third(sleep);
  for (const auto* thread : {&first, &second, &third}) thread->await_sleep();
  word.store(1, std::memory_order_release);
  EXPECT_EQ(machine::wake(&word, 2), 2);
  EXPECT_EQ(machine::wake(&word, INT32_MAX), 1);
  EXPECT_EQ(machine::wake(&word, INT32_MAX), 0);
}

TEST(WaitUntil, KeepsItsTickLimit) {
  const std::atomic<int> word{0};
  const auto never = [](int value) { return value != 0; };
  const std::uint64_t until = machine::ticks() + 100'000;
  EXPECT_FALSE(machine::wait_until(word, std::memory_order_relaxed, never, until));
  EXPECT_GE(static_cast<std::int64_t>(machine::ticks() - until), 0);
}

}  // namespace
