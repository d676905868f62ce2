// spin_lesson: what a lock learns about spinning, case by case.
#include <syncopate/locks/auto/spin_lesson.h>

#include <gtest/gtest.h>

namespace {

using lesson = syncopate::spin_lesson;
constexpr std::uint64_t unit = lesson::budget_unit;

TEST(SpinLesson, FitsItsBits) {
  for (const lesson l : {lesson{0, 0}, lesson{lesson::max_budget, lesson::max_pace},
                         lesson{lesson::min_budget, 3}}) {
    EXPECT_EQ(lesson::from_bits(l.bits()), l);
    EXPECT_LT(l.bits(), 1u << lesson::bits_used);
  }
  // What else the word holds is ignored.
  EXPECT_EQ(lesson::from_bits(0xf000 | lesson{7, 2}.bits()), (lesson{7, 2}));
}

TEST(SpinLesson, BeginsWithABudget) {
  EXPECT_EQ((lesson{0, 2}.or_first()), (lesson{lesson::first_budget, 2}));
  EXPECT_EQ((lesson{5, 2}.or_first()), (lesson{5, 2}));
  EXPECT_EQ((lesson{5, 0}.ticks(false)), 5 * unit);
  EXPECT_EQ((lesson{5, 0}.ticks(true)), lesson::max_budget * unit);
}

struct success {
  lesson before;
  std::uint64_t waited;  // ticks
  bool hectic;
  lesson after;
};

TEST(SpinLesson, LearnsFromSuccess) {
  const success cases[] = {
      {{64, 0}, 30 * unit, false, {64, 0}},  // the target: twice the wait, and the least
      {{64, 0}, 38 * unit, false, {68, 0}},  // a quarter of the way up to 80
      {{64, 0}, 0, false, {61, 0}},          // a sixteenth of the way down to 4
      {{64, 0}, 1'000'000 * unit, false, {128, 0}},
      {{lesson::max_budget, 0}, 1'000'000 * unit, false, {lesson::max_budget, 0}},
      {{64, 2}, 30 * unit, true, {64, 3}},
      {{64, 2}, 30 * unit, false, {64, 1}},
      {{64, lesson::max_pace}, 30 * unit, true, {64, lesson::max_pace}},
  };
  for (const success& c : cases)
    EXPECT_EQ(c.before.after_success(c.waited, c.hectic), c.after)
        << c.before.budget << " waited " << c.waited;
}

TEST(SpinLesson, GivesUpSlowlyButNeverQuite) {
  EXPECT_EQ((lesson{64, 2}.after_failure()), (lesson{56, 2}));
  lesson l{lesson::max_budget, 1};
  for (int i = 0; i < 100; ++i) l = l.after_failure();
  EXPECT_GE(l.budget, lesson::min_budget);
  EXPECT_LT(l.budget, 2 * lesson::min_budget);
}

}  // namespace
