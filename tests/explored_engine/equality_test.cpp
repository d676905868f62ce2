// The reduced search finds the same outcomes as the enumeration of every interleaving.
#include <gtest/gtest.h>

#include <random>
#include <tuple>

#include "model.h"

namespace {
using namespace model;

struct instruction {
  int what, variable, target;
  std::memory_order order;
  int value;  // to write
};

var& variable(int i) { return i == 0 ? x : i == 1 ? y : z; }

void execute(const instruction& i) {
  var& v = variable(i.variable);
  const bool sc_only = i.order == sc;
  switch (i.what) {
    case 0:
      r[static_cast<std::size_t>(i.target)] = v.load(i.order == rel       ? acq
                                                     : i.order == acq_rel ? acq
                                                                          : i.order);
      break;
    case 1: v.store(i.value, i.order == acq || i.order == acq_rel ? rel : i.order); break;
    case 2: r[static_cast<std::size_t>(i.target)] = v.add(10, i.order); break;
    case 3:
      r[static_cast<std::size_t>(i.target)] = v.cas(0, i.value, i.order, sc_only ? sc : rlx);
      break;
    case 4: fence(i.order == rlx ? sc : i.order); break;
    case 6:
      z.await(1, i.order == rel || i.order == acq_rel ? acq : i.order);
      r[static_cast<std::size_t>(i.target)] = v.load(rlx);
      break;
    case 7:
      while (z.load(i.order == rel || i.order == acq_rel ? acq : i.order) == 0) z.park(0);
      r[static_cast<std::size_t>(i.target)] = v.load(rlx);
      break;
    case 8:
      while (z.load(i.order == rel || i.order == acq_rel ? acq : i.order) == 0) relax();
      r[static_cast<std::size_t>(i.target)] = v.load(rlx);
      break;
    // Loops whose turns leave nothing behind, on more than one variable.
    case 9:
      while (v.load(i.order == rel || i.order == acq_rel ? acq : i.order) != i.value ||
             variable(1 - i.variable).load(rlx) == 0) {
        if (z.load(acq) != 0) break;
        relax();
      }
      r[static_cast<std::size_t>(i.target)] = v.load(rlx);
      break;
    case 10:
      while (!v.cas(i.value, i.value + 7, i.order, sc_only ? sc : rlx)) {
        if (z.load(rlx) != 0) break;
        relax();
      }
      r[static_cast<std::size_t>(i.target)] = variable(1 - i.variable).load(rlx);
      break;
    case 5:
      if (v.load(rlx) != 0)
        variable(1 - i.variable)
            .store(i.value + 4, i.order == acq || i.order == acq_rel ? rel : i.order);
      break;
  }
}

std::string text(const std::vector<std::vector<instruction>>& program) {
  static const char* const names[] = {"load",      "store",    "add",     "cas",
                                      "fence",     "if-store", "await z", "park on z",
                                      "spin on z", "poll",     "try"};
  std::string all;
  for (const auto& thread : program) {
    for (const auto& i : thread) {
      all += std::string(names[i.what]) + " v" + std::to_string(i.variable) + " #" +
             std::to_string(i.target) + " " + syncopate::explored::name(i.order) + " =";
      all += std::to_string(i.value);
      all += "; ";
    }
    all += "|| ";
  }
  return all;
}

constexpr std::memory_order orders[] = {rlx, acq, rel, acq_rel, sc, sc};

// What threads write: values that tell who wrote them, or few, which several messages have, so that
// one may stand for another (memory::stands_for).
enum class values { unique, few };

instruction any_of(std::mt19937& random, int kinds, int target, values of) {
  const int what = static_cast<int>(random() % static_cast<unsigned>(kinds));
  const int variable = static_cast<int>(random() % 2);
  const std::memory_order order = orders[random() % 6];
  return {what, variable, target, order,
          of == values::few ? static_cast<int>(random() % 2) : target + 1};
}

std::vector<body> bodies_of(const std::vector<std::vector<instruction>>& program, bool opens_z) {
  std::vector<body> bodies;
  for (const auto& thread : program)
    bodies.push_back([&, opens = opens_z && bodies.empty()] {
      for (const auto& i : thread) execute(i);
      if (!opens) return;
      z.store(1, thread.front().order == rlx ? rlx : rel);
      z.wake(99);
    });
  return bodies;
}

void compare(const std::vector<std::vector<instruction>>& program, bool opens_z) {
  const std::vector<body> bodies = bodies_of(program, opens_z);
  const found reduced = explore(bodies, with("jumps=0,spurious=0"));
  const found all = explore(bodies, with("jumps=0,spurious=0,every_order=1"));
  ASSERT_EQ(reduced.how.how, result::passed) << text(program);
  ASSERT_EQ(all.how.how, result::passed);
  ASSERT_EQ(reduced.outcomes, all.outcomes) << text(program);
  ASSERT_LE(reduced.how.executions, all.how.executions) << text(program);
}

class RandomPrograms : public testing::TestWithParam<std::tuple<int, values>> {};

TEST_P(RandomPrograms, reduced_search_equals_enumeration) {
  const auto [seed, of] = GetParam();
  std::mt19937 random(static_cast<unsigned>(seed));
  for (int n = 0; n < 60; ++n) {
    const std::size_t threads = 2 + random() % 2;
    std::vector<std::vector<instruction>> program(threads);
    int target = 0;
    for (auto& thread : program)
      for (std::size_t k = threads == 2 ? 2 + random() % 2 : 1 + random() % 2; k > 0; --k)
        thread.push_back(any_of(random, 6, target++, of));
    compare(program, false);
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms,
                         testing::Combine(testing::Range(0, 8),
                                          testing::Values(values::unique, values::few)));

class RandomWaiting : public testing::TestWithParam<std::tuple<int, values>> {};

// The first thread changes z at its end and wakes; another one waits for that in some way.
TEST_P(RandomWaiting, reduced_search_equals_enumeration) {
  const auto [seed, of] = GetParam();
  std::mt19937 random(static_cast<unsigned>(seed));
  for (int n = 0; n < 10; ++n) {
    const std::size_t threads = 2 + random() % 2;
    std::vector<std::vector<instruction>> program(threads);
    int target = 0;
    for (auto& thread : program) {
      for (std::size_t k = threads == 2 ? 2 : 1; k > 0; --k)
        thread.push_back(any_of(random, 6, target++, of));
      if (&thread == &program[1] || (&thread != &program[0] && random() % 2 == 0))
        thread.push_back({6 + static_cast<int>(random() % 3), static_cast<int>(random() % 2),
                          target++, orders[random() % 6], 1});
    }
    compare(program, true);
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomWaiting,
                         testing::Combine(testing::Range(0, 6),
                                          testing::Values(values::unique, values::few)));

class RandomPolling : public testing::TestWithParam<std::tuple<int, values>> {};

// The first thread writes before it opens z; the others poll what it writes. Polls of which only
// the last turn is followed (options.h, turns) have the same outcomes.
TEST_P(RandomPolling, last_turns_are_enough) {
  const auto [seed, of] = GetParam();
  std::mt19937 random(static_cast<unsigned>(seed));
  std::uint64_t fewer = 0;
  for (int n = 0; n < 20; ++n) {
    const std::size_t threads = 2 + random() % 2;
    std::vector<std::vector<instruction>> program(threads);
    int target = 0;
    for (auto& thread : program) {
      const bool writes = &thread == &program[0];
      for (std::size_t k = writes ? 4 - threads + random() % 2 : 4 - threads; k > 0; --k)
        thread.push_back({(writes ? 1 : 9) + static_cast<int>(random() % 2),
                          static_cast<int>(random() % 2), target++, orders[random() % 6],
                          of == values::few ? static_cast<int>(random() % 2) : target});
    }
    const std::vector<body> bodies = bodies_of(program, true);
    const found every = explore(bodies, with("jumps=0,spurious=0"));
    ASSERT_EQ(every.how.how, result::passed) << text(program);
    for (const char* const turns : {"jumps=0,spurious=0,turns=0", "jumps=0,spurious=0,turns=1"}) {
      const found last = explore(bodies, with(turns));
      ASSERT_EQ(last.how.how, result::passed) << text(program);
      ASSERT_EQ(last.outcomes, every.outcomes) << turns << ": " << text(program);
      fewer += last.how.executions < every.how.executions ? 1 : 0;
    }
  }
  EXPECT_GT(fewer, 0u);
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomPolling,
                         testing::Combine(testing::Range(0, 6),
                                          testing::Values(values::unique, values::few)));

// Sleepers and wakers: which of them meet depends on the order of all futex operations, or, where
// their bitsets do not, on that of fewer.
void sleep_or_wake(const instruction& i) {
  int& result = r[static_cast<std::size_t>(i.target)];
  const auto bitset = static_cast<std::uint32_t>(i.value);
  switch (i.what) {
    case 0: result = x.park(i.variable, bitset) ? 1 : 2; break;
    case 1: result = 3 + x.wake(1, bitset); break;
    case 2: result = 3 + x.wake(99, bitset); break;
    case 3: x.store(1 - i.variable, rel); break;
    case 4: result = y.load(acq); break;
    case 5: y.store(i.target + 1, rlx); break;
    case 6: result = 3 + x.requeue(y, i.variable, 1); break;
    case 7: result = 3 + y.wake(1); break;
  }
}

class RandomSleepers : public testing::TestWithParam<int> {};

TEST_P(RandomSleepers, reduced_search_equals_enumeration) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  for (int n = 0; n < 40; ++n) {
    const int kinds = GetParam() % 4 == 3 ? 8 : 6;
    std::vector<std::vector<instruction>> program(3);
    int target = 0;
    for (auto& thread : program)
      for (std::size_t k = 1 + random() % 3; k > 0; --k) {
        const int what = random() % 2 == 0 ? 0 : static_cast<int>(random() % unsigned(kinds));
        thread.push_back(
            {what, random() % 4 == 0, target++, rlx, 1 + static_cast<int>(random() % 3)});
      }
    std::vector<body> bodies;
    for (const auto& thread : program)
      bodies.push_back([&] {
        for (const auto& i : thread) sleep_or_wake(i);
      });
    const std::string set = "jumps=0,spurious=" + std::to_string(n % 2);
    const found reduced = explore(bodies, with(set.c_str()), false);
    const found all = explore(bodies, with((set + ",every_order=1").c_str()), false);
    std::string told;
    for (const auto& thread : program) {
      for (const auto& i : thread)
        told += std::to_string(i.what) + "(" + std::to_string(i.variable) + "," +
                std::to_string(i.value) + ") ";
      told += "|| ";
    }
    ASSERT_EQ(reduced.how.how, result::passed) << told;
    ASSERT_EQ(all.how.how, result::passed) << told;
    ASSERT_EQ(reduced.outcomes, all.outcomes) << told;
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomSleepers, testing::Range(0, 12));

int await_any(std::memory_order order) {
  std::uint64_t value = 0;
  syncopate::instrument::order_is_programs = true;
  on->await(
      reinterpret_cast<syncopate::engine::address>(&x.value), 4, order,
      [](void*, std::uint64_t v) { return v != 0; }, nullptr, 0, value, line(30));
  return static_cast<int>(value);
}

found same_as_every_order(const std::vector<body>& threads, const char* set = "spurious=1") {
  const found reduced = explore(threads, with(set), false);
  const found all = explore(threads, with((std::string(set) + ",every_order=1").c_str()), false);
  EXPECT_EQ(reduced.outcomes, all.outcomes);
  EXPECT_LE(reduced.how.executions, all.how.executions);
  return reduced;
}

// The sleeper is moved, wakes there for no reason, and then the wake comes in vain.
TEST(Equality, who_is_requeued_wakes_without_a_cause) {
  const found f = same_as_every_order({[] { r[0] = x.park(0) ? 1 : 2; },
                                       [] {
                                         x.exchange(2, rlx);
                                         r[1] = x.wake() + 1;
                                       },
                                       [] { r[2] = x.requeue(y, 0, 1) + 1; }});
  EXPECT_TRUE(f.has({1, 1, 2}));
  EXPECT_TRUE(f.has({1, 2, 1}) && f.has({2, 1, 1}));
  EXPECT_TRUE(f.has({0, 1, 2})) << "it may sleep for good as well";
}

// All of them are moved to where they are, each once; who was first stays first.
TEST(Equality, who_is_requeued_in_place_stays_in_line) {
  const auto sleep = [](unsigned i) { return [i] { r[i] = x.park(0) ? 1 : 2; }; };
  const found f = same_as_every_order({sleep(0), sleep(1),
                                       [] {
                                         r[2] = x.requeue(x, 0, 1) + 1;
                                         r[3] = x.requeue(x, 0, 9) + 1;
                                         r[4] = x.wake() + 1;
                                       }},
                                      "spurious=0");
  EXPECT_TRUE(f.has({1, 0, 2, 3, 2}) && f.has({0, 1, 2, 3, 2}) && f.has({0, 0, 1, 1, 1}));
}

// Each may wake without a cause or sleep for good, once, and no execution is begun in vain.
TEST(Equality, each_sleeper_wakes_without_a_cause_or_not) {
  const auto sleep = [](unsigned i) { return [i] { r[i] = x.park(0) ? 1 : 2; }; };
  const found two = same_as_every_order({sleep(0), sleep(1)});
  EXPECT_EQ(two.outcomes.size(), 4u);
  EXPECT_EQ(two.how.redundant, 0u);
}

// A seq_cst store and addition keep the await from what it waits for; it comes before both.
TEST(Equality, an_await_comes_before_what_disables_it) {
  const found f =
      same_as_every_order({[] {
                             r[0] = x.add(1, sc);
                             x.store(1, sc);
                           },
                           [] { r[1] = await_any(sc); }, [] { r[2] = x.exchange(-1, rlx) + 1; }});
  EXPECT_TRUE(f.has({-1, -1, 1}));
}
// With fences in their place, and where it waits for good otherwise.
TEST(Equality, an_await_comes_before_the_fences_that_disable_it) {
  const found f =
      same_as_every_order({[] {
                             r[0] = x.add(1, rlx);
                             fence(sc);
                             fence(sc);
                           },
                           [] { r[1] = await_any(sc); }, [] { r[2] = x.exchange(-1, rlx) + 1; }});
  EXPECT_TRUE(f.has({-1, -1, 1}));
  EXPECT_TRUE(f.has({-1, 0, 1}));
}

// A compare-exchange that fails here succeeds before the exchange; it then comes after the load,
// which is in S before it.
TEST(Equality, a_failing_compare_exchange_would_move_s) {
  const found f = same_as_every_order({[] { r[0] = x.cas(0, 1, sc, rlx) ? 1 : 2; },
                                       [] {
                                         y.store(2, rlx);
                                         r[1] = x.add(4, rlx) + 1;
                                       },
                                       [] { r[2] = x.load(sc) + 1; }});
  EXPECT_TRUE(f.has({1, 2, 1}));
}

// Each of two awaits comes too late only if the other one does: else its thread writes again.
TEST(Equality, two_awaits_that_both_come_too_late) {
  const std::vector<body> threads{[] { r[0] = x.exchange(0, rlx); },
                                  [] {
                                    r[1] = await_any(rlx);
                                    x.add(7, rlx);
                                  },
                                  [] {
                                    (void)x.cas(0, 3, rlx);
                                    r[2] = await_any(rlx);
                                  }};
  const found reduced = explore(threads, {}, false);
  EXPECT_EQ(reduced.outcomes, explore(threads, with("every_order=1"), false).outcomes);
  EXPECT_TRUE(reduced.has({3, 0, 0}));
}

}  // namespace
