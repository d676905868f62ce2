// What a lock learns of elision: each transition, and the course of loads that fail and recover.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>

#include <syncopate/elide/learning.h>

namespace {

using namespace syncopate::elide;
using learned::make;

TEST(Lesson, Failure) {
  EXPECT_EQ(learned::after_failure(make(0, 0)), make(3, 0));  // tolerated
  EXPECT_EQ(learned::after_failure(make(1, 0)), make(4, 0));
  EXPECT_EQ(learned::after_failure(make(2, 0)), make(5, 15));
  EXPECT_EQ(learned::after_failure(make(3, 0)), make(6, 31));
  EXPECT_EQ(learned::after_failure(make(4, 0)), make(7, 63));
  EXPECT_EQ(learned::after_failure(make(9, 0)), make(12, 2047));
  EXPECT_EQ(learned::after_failure(make(10, 0)), make(13, 4095));
  EXPECT_EQ(learned::after_failure(make(12, 0)), make(13, 4095));
  EXPECT_EQ(learned::after_failure(make(13, 0)), make(13, 4095));
  EXPECT_EQ(learned::after_failure(make(4, 7)), make(4, 7));  // known already
}

TEST(Lesson, Begin) {
  EXPECT_EQ(learned::after_begin(make(0, 0)), make(0, 0));
  EXPECT_EQ(learned::after_begin(make(12, 0)), make(11, 0));
  EXPECT_EQ(learned::after_begin(make(1, 0)), make(0, 0));
  EXPECT_EQ(learned::after_begin(make(5, 9)), make(4, 9));
}

TEST(Lesson, Skip) {
  EXPECT_EQ(learned::after_skip(make(4, 15)), make(4, 14));
  EXPECT_EQ(learned::after_skip(make(4, 1)), make(4, 0));
  EXPECT_EQ(learned::after_skip(make(4, 0)), make(4, 0));
  EXPECT_FALSE(learned::pays(make(4, 1)));
  EXPECT_TRUE(learned::pays(make(12, 0)));
}

// What docs/elision.md says of a lock whose sections all fail.
TEST(Lesson, NothingButFailures) {
  std::uint16_t state = 0;
  for (const unsigned left_out : {0, 15, 63, 255, 1023, 4095, 4095}) {
    state = learned::after_failure(learned::after_begin(state));
    EXPECT_EQ(learned::skips(state), left_out);
    while (!learned::pays(state)) state = learned::after_skip(state);
  }
}

// Any sixteen bits are a state, and lead to elision again: two threads may write at once.
TEST(Lesson, EveryPatternIsAState) {
  for (unsigned bits = 0; bits <= 0xffff; ++bits) {
    const auto state = static_cast<std::uint16_t>(bits);
    EXPECT_LE(learned::skips(learned::after_failure(state)), 4095u);
    EXPECT_LE(learned::level(learned::after_begin(state)), learned::level(state));
    if (!learned::pays(state)) {
      EXPECT_EQ(learned::skips(learned::after_skip(state)), learned::skips(state) - 1);
    }
  }
}

// A load: `sections` acquisitions, each of which would commit with the given probability.
// Returns how many tried.
int acquire(learning& lock, int sections, double commits, std::minstd_rand& random) {
  std::bernoulli_distribution would_commit(commits);
  int tried = 0;
  for (int i = 0; i < sections; ++i) {
    if (!lock.pays()) {
      lock.skipped();
      continue;
    }
    ++tried;
    lock.begins();
    if (!would_commit(random)) lock.failed();
  }
  return tried;
}

TEST(Learning, TurnsOffWhereNothingCommits) {
  learning lock;
  std::minstd_rand random(1);
  EXPECT_LE(acquire(lock, 10'000, 0, random), 8);
  EXPECT_LE(acquire(lock, 100'000, 0, random), 26);  // a probe in 4,096
}

TEST(Learning, StaysOnWhereMostCommit) {
  learning lock;
  std::minstd_rand random(2);
  EXPECT_EQ(acquire(lock, 10'000, 1, random), 10'000);
  EXPECT_GT(acquire(lock, 10'000, 0.95, random), 9'000);
}

TEST(Learning, TurnsOffWhereMostFail) {
  learning lock;
  std::minstd_rand random(3);
  EXPECT_LT(acquire(lock, 100'000, 0.3, random), 1'000);
}

TEST(Learning, TurnsOnAgainWhenTheLoadChanges) {
  learning lock;
  std::minstd_rand random(4);
  acquire(lock, 50'000, 0, random);
  EXPECT_GE(acquire(lock, 10'000, 1, random), 10'000 - 4'095);
  EXPECT_EQ(lock.state(), 0);
  EXPECT_EQ(acquire(lock, 1'000, 1, random), 1'000);
}

// All that is well is not written: the state shares a line with the lock.
TEST(Learning, IsNotWrittenWhileAllIsWell) {
  alignas(4) static const std::uint16_t zero[2] = {};  // read-only memory: a store would fault
  auto& lock = const_cast<learning&>(reinterpret_cast<const learning&>(zero));
  EXPECT_TRUE(lock.pays());
  lock.begins();
  EXPECT_EQ(lock.state(), 0);
}

}  // namespace
