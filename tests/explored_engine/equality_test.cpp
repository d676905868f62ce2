// The reduced search finds the same outcomes as the enumeration of every interleaving.
#include <gtest/gtest.h>

#include <random>

#include "model.h"

namespace {
using namespace model;

struct instruction {
  int what, variable, target;
  std::memory_order order;
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
    case 1: v.store(i.target + 1, i.order == acq || i.order == acq_rel ? rel : i.order); break;
    case 2: r[static_cast<std::size_t>(i.target)] = v.add(10, i.order); break;
    case 3:
      r[static_cast<std::size_t>(i.target)] = v.cas(0, i.target + 1, i.order, sc_only ? sc : rlx);
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
    case 5:
      if (v.load(rlx) != 0)
        variable(1 - i.variable)
            .store(i.target + 5, i.order == acq || i.order == acq_rel ? rel : i.order);
      break;
  }
}

std::string text(const std::vector<std::vector<instruction>>& program) {
  static const char* const names[] = {"load",     "store",   "add",       "cas",      "fence",
                                      "if-store", "await z", "park on z", "spin on z"};
  std::string all;
  for (const auto& thread : program) {
    for (const auto& i : thread)
      all += std::string(names[i.what]) + " v" + std::to_string(i.variable) + " #" +
             std::to_string(i.target) + " " + syncopate::explored::name(i.order) + "; ";
    all += "|| ";
  }
  return all;
}

constexpr std::memory_order orders[] = {rlx, acq, rel, acq_rel, sc, sc};

void compare(const std::vector<std::vector<instruction>>& program, bool opens_z) {
  std::vector<body> bodies;
  for (const auto& thread : program)
    bodies.push_back([&, opens = opens_z && bodies.empty()] {
      for (const auto& i : thread) execute(i);
      if (!opens) return;
      z.store(1, thread.front().order == rlx ? rlx : rel);
      z.wake(99);
    });
  const found reduced = explore(bodies, with("jumps=0"));
  const found all = explore(bodies, with("jumps=0,every_order=1"));
  ASSERT_EQ(reduced.how.how, result::passed) << text(program);
  ASSERT_EQ(all.how.how, result::passed);
  ASSERT_EQ(reduced.outcomes, all.outcomes) << text(program);
  ASSERT_LE(reduced.how.executions, all.how.executions) << text(program);
}

class RandomPrograms : public testing::TestWithParam<int> {};

TEST_P(RandomPrograms, reduced_search_equals_enumeration) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  for (int n = 0; n < 60; ++n) {
    const std::size_t threads = 2 + random() % 2;
    std::vector<std::vector<instruction>> program(threads);
    int target = 0;
    for (auto& thread : program)
      for (std::size_t k = threads == 2 ? 2 + random() % 2 : 1 + random() % 2; k > 0; --k)
        thread.push_back({static_cast<int>(random() % 6), static_cast<int>(random() % 2), target++,
                          orders[random() % 6]});
    compare(program, false);
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms, testing::Range(0, 8));

class RandomWaiting : public testing::TestWithParam<int> {};

// The first thread changes z at its end and wakes; another one waits for that in some way.
TEST_P(RandomWaiting, reduced_search_equals_enumeration) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  for (int n = 0; n < 10; ++n) {
    const std::size_t threads = 2 + random() % 2;
    std::vector<std::vector<instruction>> program(threads);
    int target = 0;
    for (auto& thread : program) {
      for (std::size_t k = threads == 2 ? 2 : 1; k > 0; --k)
        thread.push_back({static_cast<int>(random() % 6), static_cast<int>(random() % 2), target++,
                          orders[random() % 6]});
      if (&thread == &program[1] || (&thread != &program[0] && random() % 2 == 0))
        thread.push_back({6 + static_cast<int>(random() % 3), static_cast<int>(random() % 2),
                          target++, orders[random() % 6]});
    }
    compare(program, true);
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomWaiting, testing::Range(0, 8));

}  // namespace
