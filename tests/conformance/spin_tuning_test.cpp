// spin_tuning: what a lock learns about spinning, case by case.
#include <syncopate/locks/auto/spin_tuning.h>

#include <gtest/gtest.h>

namespace {

using tuning = syncopate::spin_tuning;
constexpr std::uint64_t unit = tuning::budget_unit;

TEST(SpinTuning, FitsItsBits) {
  for (const tuning l : {tuning{0, 0}, tuning{tuning::max_budget, tuning::max_pace},
                         tuning{tuning::min_budget, 3}}) {
    EXPECT_EQ(tuning::from_bits(l.bits()), l);
    EXPECT_LT(l.bits(), 1u << tuning::bits_used);
  }
  // What else the word holds is ignored.
  EXPECT_EQ(tuning::from_bits(0xf000 | tuning{7, 2}.bits()), (tuning{7, 2}));
}

TEST(SpinTuning, BeginsWithABudget) {
  EXPECT_EQ((tuning{0, 2}.or_first()), (tuning{tuning::first_budget, 2}));
  EXPECT_EQ((tuning{5, 2}.or_first()), (tuning{5, 2}));
  EXPECT_EQ((tuning{5, 0}.ticks(false)), 5 * unit);
  EXPECT_EQ((tuning{5, 0}.ticks(true)), tuning::max_budget * unit);
}

struct success {
  tuning before;
  std::uint64_t waited;  // ticks
  bool hectic;
  tuning after;
};

TEST(SpinTuning, LearnsFromSuccess) {
  const success cases[] = {
      {{64, 0}, 30 * unit, false, {64, 0}},  // the target: twice the wait, and the least
      {{64, 0}, 38 * unit, false, {68, 0}},  // a quarter of the way up to 80
      {{64, 0}, 0, false, {61, 0}},          // a sixteenth of the way down to 4
      {{64, 0}, 1'000'000 * unit, false, {128, 0}},
      {{tuning::max_budget, 0}, 1'000'000 * unit, false, {tuning::max_budget, 0}},
      {{64, 2}, 30 * unit, true, {64, 3}},
      {{64, 2}, 30 * unit, false, {64, 1}},
      {{64, tuning::max_pace}, 30 * unit, true, {64, tuning::max_pace}},
  };
  for (const success& c : cases)
    EXPECT_EQ(c.before.after_success(c.waited, c.hectic), c.after)
        << c.before.budget << " waited " << c.waited;
}

TEST(SpinTuning, GivesUpSlowlyButNeverQuite) {
  EXPECT_EQ((tuning{64, 2}.after_failure()), (tuning{56, 2}));
  tuning l{tuning::max_budget, 1};
  for (int i = 0; i < 100; ++i) l = l.after_failure();
  EXPECT_GE(l.budget, tuning::min_budget);
  EXPECT_LT(l.budget, 2 * tuning::min_budget);
}

}  // namespace
