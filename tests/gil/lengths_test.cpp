// How long transactions of the elided interpreter lock are: the controllers, by tables.
#include <syncopate/elide/gil_choice.h>
#include <syncopate/elide/gil_learning.h>
#include <syncopate/elide/gil_lengths.h>
#include <syncopate/elide/gil_options.h>
#include <syncopate/elide/gil_retry.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace {

using namespace syncopate;
using namespace syncopate::elide;
using machine::htm::cause;
using machine::htm::status;

constexpr length_options paper(std::uint16_t threshold) {
  return {.rule = length_rule::shrinking, .chooses = false, .threshold = threshold};
}

length_state abort_often(length_state s, int aborts, const length_options& o) {
  for (int i = 0; i < aborts; ++i) s = lengths::first_abort(lengths::begins(s, o), o);
  return s;
}

TEST(Lengths, FixedStaysWhateverAborts) {
  const length_options o{.rule = length_rule::fixed, .chooses = false, .fixed = 7};
  const length_state s = abort_often(lengths::begins({}, o), 1000, o);
  EXPECT_EQ(s.length, 7);
}

TEST(Lengths, PaperStartsLongAndShrinksByAQuarterAfterTheThreshold) {
  const length_options o = paper(3);
  length_state s = lengths::begins({}, o);
  EXPECT_EQ(s.length, 255);
  s = abort_often(s, 4, o);  // ADJUSTMENT_THRESHOLD + 1 aborts are only counted
  EXPECT_EQ(s.length, 255);
  EXPECT_EQ(s.lost, 4u);
  s = abort_often(s, 1, o);
  EXPECT_EQ(s.length, 191);
  EXPECT_EQ(s.lost, 0u);
  EXPECT_EQ(s.begun, 0u);
}

TEST(Lengths, PaperReachesOneAndStaysThere) {
  for (const std::uint16_t threshold : {3, 18}) {
    const length_options o = paper(threshold);
    EXPECT_EQ(abort_often({}, 2000, o).length, 1);
  }
}

TEST(Lengths, PaperCountsNoMoreThanTheProfilingPeriod) {
  const length_options o = paper(3);
  length_state s;
  for (int i = 0; i < 1000; ++i) s = lengths::begins(s, o);
  EXPECT_EQ(s.begun, 300u);
  EXPECT_EQ(s.length, 255);
}

// A point with that length, after the transactions and losses (eighths of B) told.
length_state judged(std::uint16_t length, std::uint32_t begun, std::uint32_t lost) {
  length_state s;
  s.length = length;
  return lengths::learn(s, begun, lost, 1, {});
}

TEST(Lengths, BalancingShrinksTheMoreTheMoreIsLost) {
  EXPECT_EQ(judged(200, 64, 8 * 64).length, 200);      // as much as beginning costs
  EXPECT_EQ(judged(200, 64, 8 * 64 * 3).length, 150);  // three times
  EXPECT_EQ(judged(200, 64, 8 * 64 * 4).length, 100);  // four times: sqrt(4) = 2
  EXPECT_EQ(judged(200, 64, 8 * 64 * 16).length, 50);  // and no further at once
  EXPECT_EQ(judged(200, 64, 8 * 64 * 999).length, 50);
  EXPECT_EQ(judged(200, 4, 8 * 64 * 4).length, 100);  // a window's losses, in few transactions
  EXPECT_EQ(judged(1, 64, 8 * 64 * 999).length, 1);
}

TEST(Lengths, BalancingGrowsByAThirdWhereLittleIsLost) {
  EXPECT_EQ(judged(99, 64, 8 * 64 / 2 + 1).length, 99);
  EXPECT_EQ(judged(99, 64, 8 * 64 / 2).length, 133);
  EXPECT_EQ(judged(99, 64, 0).length, 133);
  EXPECT_EQ(judged(99, 63, 0).length, 99);  // too few to tell
}

TEST(Lengths, APointIsJudgedByTheLengthThatItHad) {
  const length_options o;
  length_state s = lengths::learn({}, 63, 0, 40, o);
  EXPECT_EQ(s.length, 0);  // not judged yet
  s = lengths::learn(s, 1, 8 * 50, 40, o);
  EXPECT_EQ(s.length, 40);
  EXPECT_EQ(lengths::learn({}, 64, 8 * 64 * 4, 40, o).length, 20);
}

TEST(Lengths, BalancingGrowsWhereNothingIsLost) {
  const length_options o;
  length_state s;
  s.length = 1;
  std::vector<unsigned> seen;
  for (int i = 0; i < 30; ++i) {
    s = lengths::learn(s, o.window, 0, 1, o);
    seen.push_back(s.length);
  }
  EXPECT_EQ(seen.front(), 2u);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(seen.back(), o.longest);
}

TEST(Lengths, WhatFailsRightAfterItGrewIsTriedLessOften) {
  const length_options o;
  length_state s;
  s.length = 16;
  int growths = 0;
  for (int windows = 0; windows < 512; ++windows) {  // everything above 16 fails
    const auto before = s.length;
    s = lengths::learn(s, o.window, s.length > 16 ? 8 * o.window * 3 : 0, 1, o);
    growths += s.length > before;
  }
  EXPECT_LT(growths, 40);
  EXPECT_GT(growths, 2);
}

// Per yield point B/L + q (L w) with conflicts that are as likely at every point: least at
// L = sqrt(B / (q w)). The rule has to end near, and soon.
TEST(Lengths, BalancingFindsTheCheapestLength) {
  for (const double best : {4.0, 16.0, 64.0, 400.0}) {
    const length_options o;
    const double w_over_b = 1, q = 1 / (best * best * w_over_b);
    length_state s;
    s.length = o.middle;
    double sum = 0;
    for (int i = 0; i < 4000; ++i) {
      const double lost = 8.0 * 16 * q * s.length * s.length * w_over_b;
      s = lengths::learn(s, 16, static_cast<std::uint32_t>(lost + 0.5), 1, o);
      if (i == 40) {
        EXPECT_NEAR(s.length / best, 1, 0.6) << best;
      }
      if (i >= 2000) sum += s.length;
    }
    EXPECT_NEAR(sum / 2000 / best, 1, 0.5) << best;
  }
}

// ---- what threads learn together ----

TEST(Learning, WhatNewPointsBeginWithIsWhatTheProgramHasLearned) {
  using learning = gil_learning<8>;
  const length_options o;
  const auto learned = std::make_unique<learning>(o);
  std::vector<gil_record> mine(learning::records);
  const int places[3]{};
  EXPECT_EQ(learned->begins(mine.data(), learned->find(&places[0]), 0), o.middle);
  for (int i = 0; i < 6; ++i)  // 16 times B is lost, at one point
    learned->lose(mine.data(), learned->find(&places[0]), 8 * o.window * 16, 0);
  EXPECT_EQ(learned->points().state(learned->find(&places[1])).length, 0);
  EXPECT_EQ(learned->begins(mine.data(), learned->find(&places[1]), 0), o.middle / 4);
  EXPECT_LT(learned->begins(mine.data(), learned->find(&places[0]), 0), o.middle / 4);
}

TEST(Learning, APointThatWasJudgedGoesItsOwnWay) {
  using learning = gil_learning<8>;
  const length_options o;
  const auto learned = std::make_unique<learning>(o);
  std::vector<gil_record> mine(learning::records);
  const int places[2]{};
  const auto bad = learned->find(&places[0]), good = learned->find(&places[1]);
  for (int i = 0; i < 2000; ++i) {
    (void)learned->begins(mine.data(), bad, 0);
    learned->lose(mine.data(), bad, 8 * 20, 0);
    (void)learned->begins(mine.data(), good, 0);
  }
  EXPECT_EQ(learned->begins(mine.data(), bad, 0), 1);
  EXPECT_EQ(learned->begins(mine.data(), good, 0), o.longest);
  EXPECT_GT(learned->history().size(), 2u);
}

TEST(Lengths, PackedStateIsTheSame) {
  length_state s;
  s.lost = 123456789, s.begun = 54321, s.length = 1023, s.caution = 6, s.grew = 1;
  EXPECT_EQ(lengths::unpack(lengths::pack(s)), s);
}

// ---- which way of choosing ----

choice_state run_epochs(choice_state s, const std::vector<double>& cost, int epochs,
                        std::vector<int>& used) {
  used.assign(cost.size(), 0);
  for (int i = 0; i < epochs; ++i) {
    ++used[s.way];
    s = choice::after_epoch(s, cost[s.way]);
  }
  return s;
}

TEST(Choice, StaysWithTheCheapestWay) {
  for (std::size_t best = 0; best < choice_state::ways.size(); ++best) {
    std::vector<double> cost(choice_state::ways.size(), 10);
    cost[best] = 6;
    std::vector<int> used;
    const choice_state s = run_epochs({}, cost, 5000, used);
    EXPECT_EQ(s.way, best);
    EXPECT_GT(used[best], 4800);
  }
}

TEST(Choice, PrefersBalancingToWhatIsLittleBetter) {
  std::vector<int> used;
  const choice_state s = run_epochs({}, {8, 9, 10, 10, 9, 12}, 1000, used);
  EXPECT_EQ(choice_state::ways[s.way], 0);
  EXPECT_GT(used[s.way], 900);
}

TEST(Choice, TrialsCostLessThanATenthEvenIfTheOthersAreMuchWorse) {
  std::vector<double> cost{10, 20, 40, 30, 15, 12};
  std::vector<int> used;
  run_epochs({}, cost, 2000, used);
  EXPECT_GT(used[0], 1850);  // but for 32 epochs of balancing, before the first trial
}

TEST(Choice, NoticesThatTheProgramHasChanged) {
  std::vector<double> before{10, 12, 14, 15, 11, 30}, after{90, 60, 20, 40, 100, 200};
  std::vector<int> used;
  const choice_state s = run_epochs({}, before, 3000, used);
  EXPECT_EQ(s.way, 0u);
  EXPECT_EQ(run_epochs(s, after, 40, used).way, 2u);
}

// ---- after an abort: figure 1, lines 16 to 36 ----

status explicit_abort(abort_code code) {
  return {cause::explicit_, static_cast<unsigned char>(code), true, false};
}

TEST(Retry, TransientAbortsAreTriedThreeTimesInAll) {
  const status conflict{cause::conflict, 0, true, false};
  gil_tally left;
  for (const gil_step expected : {gil_step::retry, gil_step::retry, gil_step::acquire}) {
    const gil_decision d = after_abort(left, conflict, false);
    EXPECT_EQ(d.step, expected);
    left = d.left;
  }
}

TEST(Retry, AHeldLockIsWaitedForFifteenTimes) {
  gil_tally left;
  for (int i = 0; i < 15; ++i) {
    const gil_decision d = after_abort(left, explicit_abort(abort_code::lock_held), true);
    EXPECT_EQ(d.step, gil_step::wait_then_retry);
    EXPECT_EQ(d.left.transient, 3);
    left = d.left;
  }
  EXPECT_EQ(after_abort(left, explicit_abort(abort_code::lock_held), true).step, gil_step::acquire);
}

TEST(Retry, PersistentAbortsTakeTheLockAtOnce) {
  const status capacity{cause::capacity, 0, false, false}, call{cause::other, 0, false, false};
  EXPECT_EQ(after_abort({}, capacity, false).step, gil_step::acquire);
  EXPECT_EQ(after_abort({}, call, false).step, gil_step::acquire);
  EXPECT_EQ(after_abort({}, explicit_abort(abort_code::needs_lock), false).step, gil_step::acquire);
  EXPECT_EQ(after_abort({}, explicit_abort(abort_code::needs_lock), true).step, gil_step::acquire);
  // While another holds the lock, that is the reason.
  EXPECT_EQ(after_abort({}, capacity, true).step, gil_step::wait_then_retry);
}

TEST(Options, AreRead) {
  EXPECT_FALSE(parse_gil_options("gil")->elided);
  EXPECT_EQ(parse_gil_options("htm:16")->lengths.fixed, 16);
  EXPECT_EQ(parse_gil_options("paper:1")->lengths.threshold, 3);
  EXPECT_EQ(parse_gil_options("paper")->lengths.threshold, 18);
  EXPECT_TRUE(parse_gil_options("dynamic")->lengths.chooses);
  EXPECT_FALSE(parse_gil_options("balance")->lengths.chooses);
  for (const char* wrong :
       {"", "htm", "htm:0", "htm:2000", "paper:", "paper:0", "paperback", "GIL"})
    EXPECT_FALSE(parse_gil_options(wrong).has_value()) << wrong;
}

}  // namespace
