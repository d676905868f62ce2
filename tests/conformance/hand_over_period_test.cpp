// What a thread learns about handing a lock over: pure arithmetic.
#include <gtest/gtest.h>

#include <syncopate/locks/auto/hand_over_period.h>

namespace {

using syncopate::hand_over_period;

constexpr std::uint64_t time_slice = 7'500'000;  // ticks; 3 ms at 2.5 GHz

TEST(HandOverPeriod, BeginsWithTheLeastAndKeepsItWhereHandOversAreCheap) {
  hand_over_period hand_over;
  EXPECT_EQ(hand_over.period(), hand_over_period::least);
  for (int i = 0; i < 100; ++i) hand_over.note(hand_over_period::least / 2);
  EXPECT_EQ(hand_over.period(), hand_over_period::least);
}

// Beside other processes: after the second lost slice no more than half of the time is lost to
// them.
TEST(HandOverPeriod, FollowsLostSlicesAtOnce) {
  hand_over_period hand_over;
  hand_over.note(time_slice);
  EXPECT_GE(hand_over.period(), time_slice / 2);
  for (int i = 0; i < 5; ++i) hand_over.note(time_slice);
  EXPECT_GE(hand_over.period(), time_slice * 9 / 10);
  EXPECT_LE(hand_over.period(), time_slice);
}

// One slice in four is lost, as when two busy processes share two processors with a queue: the
// period stays long between them.
TEST(HandOverPeriod, DoesNotForgetBetweenTwo) {
  hand_over_period hand_over;
  for (int i = 0; i < 100; ++i) {
    hand_over.note(time_slice);
    for (int cheap = 0; cheap < 3; ++cheap) hand_over.note(1'000);
    EXPECT_GE(hand_over.period(), time_slice / 3);
  }
}

TEST(HandOverPeriod, ForgetsWhenTheOthersHaveGone) {
  hand_over_period hand_over;
  for (int i = 0; i < 10; ++i) hand_over.note(time_slice);
  for (int i = 0; i < 40; ++i) hand_over.note(1'000);
  EXPECT_EQ(hand_over.period(), hand_over_period::least);
}

TEST(HandOverPeriod, NeverExceedsWhatStampsCanTell) {
  hand_over_period hand_over;
  for (int i = 0; i < 100; ++i) hand_over.note(~std::uint64_t{0} / 4);
  EXPECT_EQ(hand_over.period(), hand_over_period::most);
}

}  // namespace
