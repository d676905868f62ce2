// What a thread learns about handing a lock over: pure arithmetic.
#include <gtest/gtest.h>

#include <syncopate/locks/auto/hand_over_lesson.h>

namespace {

using syncopate::hand_over_lesson;

constexpr std::uint64_t time_slice = 7'500'000;  // ticks; 3 ms at 2.5 GHz

TEST(HandOverLesson, BeginsWithTheLeastAndKeepsItWhereHandOversAreCheap) {
  hand_over_lesson lesson;
  EXPECT_EQ(lesson.period(), hand_over_lesson::least);
  for (int i = 0; i < 100; ++i) lesson.note(hand_over_lesson::least / 2);
  EXPECT_EQ(lesson.period(), hand_over_lesson::least);
}

// Beside other processes: after the second lost slice no more than half of the time is lost to
// them.
TEST(HandOverLesson, FollowsLostSlicesAtOnce) {
  hand_over_lesson lesson;
  lesson.note(time_slice);
  EXPECT_GE(lesson.period(), time_slice / 2);
  for (int i = 0; i < 5; ++i) lesson.note(time_slice);
  EXPECT_GE(lesson.period(), time_slice * 9 / 10);
  EXPECT_LE(lesson.period(), time_slice);
}

// One slice in four is lost, as when two busy processes share two processors with a queue: the
// period stays long between them.
TEST(HandOverLesson, DoesNotForgetBetweenTwo) {
  hand_over_lesson lesson;
  for (int i = 0; i < 100; ++i) {
    lesson.note(time_slice);
    for (int cheap = 0; cheap < 3; ++cheap) lesson.note(1'000);
    EXPECT_GE(lesson.period(), time_slice / 3);
  }
}

TEST(HandOverLesson, ForgetsWhenTheOthersHaveGone) {
  hand_over_lesson lesson;
  for (int i = 0; i < 10; ++i) lesson.note(time_slice);
  for (int i = 0; i < 40; ++i) lesson.note(1'000);
  EXPECT_EQ(lesson.period(), hand_over_lesson::least);
}

TEST(HandOverLesson, NeverExceedsWhatStampsCanTell) {
  hand_over_lesson lesson;
  for (int i = 0; i < 100; ++i) lesson.note(~std::uint64_t{0} / 4);
  EXPECT_EQ(lesson.period(), hand_over_lesson::most);
}

}  // namespace
