// The profit control by tables; the speculating lock and lock_with_prefetch() where nothing can run
// ahead: then they are the locks inside.
#include <gtest/gtest.h>
#include <syncopate/locks/all.h>
#include <syncopate/locks/any_lock.h>
#include <syncopate/locks/lock_with_prefetch.h>
#include <syncopate/locks/speculating_lock.h>
#include <syncopate/wait/profit_control.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace {

using syncopate::waits::profit_control;

// Feeds windows that take `with` or `without` ticks; returns how many of them ran ahead.
unsigned feed(profit_control& control, unsigned windows, std::uint64_t with,
              std::uint64_t without) {
  unsigned ahead = 0;
  for (unsigned i = 0; i < windows; ++i) {
    const bool on = control.speculate();
    ahead += on ? 1 : 0;
    control.window_ended(on ? with : without);
  }
  return ahead;
}

TEST(ProfitControl, TriesInTurnFirst) {
  profit_control control;
  std::string order;
  for (unsigned i = 0; i < profit_control::trial; ++i) {
    order += control.speculate() ? '1' : '0';
    control.window_ended(100);
  }
  EXPECT_EQ(order, "1001");
}

TEST(ProfitControl, TellsWhatATrialHasFound) {
  profit_control control;
  for (unsigned i = 1; i < profit_control::trial; ++i)
    EXPECT_FALSE(control.window_ended(control.speculate() ? 80 : 100)) << i;
  EXPECT_TRUE(control.window_ended(80));
  EXPECT_EQ(control.gain(), 1250u);
  EXPECT_FALSE(control.window_ended(80));
}

TEST(ProfitControl, DecidesByTheTrial) {
  struct row {
    std::uint64_t with, without;
    bool verdict;
  };
  // On at first: stays on unless it loses by more than the margin of a 32nd.
  for (const row& r : std::initializer_list<row>{{100, 200, true},
                                                 {1000, 1000, true},
                                                 {1030, 1000, true},
                                                 {1033, 1000, false},
                                                 {200, 100, false}}) {
    profit_control control;
    feed(control, profit_control::trial, r.with, r.without);
    EXPECT_EQ(control.verdict(), r.verdict) << r.with << " with, " << r.without << " without";
    EXPECT_EQ(control.speculate(), r.verdict);
  }
}

TEST(ProfitControl, CostsLittleWhereItLoses) {
  profit_control control;
  feed(control, 100, 120, 100);
  EXPECT_LE(feed(control, 10'000, 120, 100), 10'000u * 2 / profit_control::most_patience + 2);
}

TEST(ProfitControl, NoticesAChange) {
  profit_control control;
  feed(control, 5000, 120, 100);
  EXPECT_FALSE(control.verdict());
  feed(control, profit_control::most_patience + 2 * profit_control::trial, 80, 100);
  EXPECT_TRUE(control.verdict());
  feed(control, profit_control::most_patience + 2 * profit_control::trial, 120, 100);
  EXPECT_FALSE(control.verdict());
}

TEST(ProfitControl, AnInterruptedWindowDecidesNothing) {
  for (const unsigned interrupted : {0u, 1u, 2u, 3u}) {
    profit_control control;
    for (unsigned i = 0; i < profit_control::trial; ++i)
      control.window_ended(i == interrupted ? 1'000'000'000'000 : control.speculate() ? 80 : 100);
    EXPECT_TRUE(control.verdict()) << interrupted;
  }
}

TEST(PaperNames, AreLocks) {
  for (const syncopate::lock_alias& alias : syncopate::paper_names) {
    const syncopate::any_lock lock(alias.name);
    EXPECT_EQ(lock.name(), alias.stands_for);
  }
  EXPECT_EQ(syncopate::any_lock("mcs:speculate").wait(), "speculate");
}

template <class Lock>
class Prefetching : public ::testing::Test {};
using locks =
    ::testing::Types<syncopate::tatas_lock<>, syncopate::ticket_lock<>,
                     syncopate::ticket_lock<syncopate::waits::park>,
                     syncopate::mcs_lock<syncopate::waits::spin_then_park>, syncopate::futex_lock,
                     syncopate::auto_lock, syncopate::speculating_lock<syncopate::ticket_lock<>>>;
TYPED_TEST_SUITE(Prefetching, locks);

TYPED_TEST(Prefetching, NotAtAllWhenTheLockIsFree) {
  TypeParam lock;
  EXPECT_EQ(syncopate::lock_with_prefetch(lock, [](std::size_t) { return true; }), 0u);
  EXPECT_TRUE(lock.is_locked());
  lock.unlock();
  EXPECT_FALSE(lock.is_locked());
}

// While the lock is held: steps in order, ended by the function or by the release.
TYPED_TEST(Prefetching, InStepsWhileTheLockIsHeld) {
  for (const bool endless : {false, true}) {
    TypeParam lock;
    std::atomic<std::size_t> steps{0};
    bool in_order = true;
    lock.lock();
    std::jthread waiter([&] {
      const auto held = syncopate::locked_with_prefetch(lock, [&](std::size_t step) {
        in_order = in_order && step == steps.load();
        steps.fetch_add(1);
        return endless || step + 1 < 3;
      });
      EXPECT_TRUE(held.owns_lock());
    });
    while (steps.load() < 3) std::this_thread::yield();
    lock.unlock();
    waiter.join();
    EXPECT_TRUE(in_order);
    EXPECT_TRUE(endless || steps.load() == 3);
    EXPECT_FALSE(lock.is_locked());
  }
}

TYPED_TEST(Prefetching, Excludes) {
  TypeParam lock;
  std::array<std::uint64_t, 64> data{};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 500; ++i) {
          const auto held =
              syncopate::locked_with_prefetch(lock, syncopate::prefetch_range(&data, sizeof data));
          for (std::uint64_t& d : data) ++d;
        }
      });
  }
  for (const std::uint64_t d : data) EXPECT_EQ(d, 1500u);
}

TEST(PrefetchRange, StepsThroughTheRange) {
  struct row {
    std::size_t bytes, steps;
  };
  const std::array<std::byte, 1024> memory{};
  for (const row& r : std::initializer_list<row>{{0, 1}, {1, 1}, {256, 1}, {257, 2}, {1024, 4}}) {
    auto prefetch = syncopate::prefetch_range(memory.data(), r.bytes);
    std::size_t steps = 1;
    while (prefetch(steps - 1)) ++steps;
    EXPECT_EQ(steps, r.steps) << r.bytes;
  }
}

TEST(PrefetchEach, AsksForEachItemOnce) {
  const std::vector<int> items{3, 1, 2};
  std::vector<int> asked;
  auto prefetch = syncopate::prefetch_each(items, [&asked](const int& item) {
    asked.push_back(item);
    return &item;
  });
  std::size_t step = 0;
  while (prefetch(step)) ++step;
  EXPECT_EQ(asked, items);
  const std::vector<int> none;
  EXPECT_FALSE(syncopate::prefetch_each(none, [](const int& item) { return &item; })(0));
}

}  // namespace
