// trials: which way of running transactions `auto` keeps, for programs of which each way's rate is
// known. Time is a number here: nothing depends on the machine.
#include "tm/core/trials.h"

#include <gtest/gtest.h>

namespace {

using syncopate::tm::trials;
using syncopate::tm::u64;
using syncopate::tm::way;

constexpr u64 millisecond = trials::millisecond;

// A program under `auto`: so many commits per millisecond in each way, and aborts side by side.
class program {
 public:
  program(double in_turn, double in_slices, double side_by_side, double aborts = 0)
      : rates_{in_turn, in_slices, side_by_side, 0}, abort_rate_(aborts) {}
  // On a machine whose hardware transactions commit.
  static program with_hardware(double in_turn, double in_slices, double side_by_side,
                               double in_hardware) {
    program p(in_turn, in_slices, side_by_side);
    p.rates_[static_cast<int>(way::in_hardware)] = in_hardware;
    p.lessons_.allow_hardware();
    return p;
  }

  void change(double in_turn, double in_slices, double side_by_side) {
    rates_[0] = in_turn, rates_[1] = in_slices, rates_[2] = side_by_side;
  }
  // Runs for so long, asking every tenth of a millisecond.
  void run(u64 milliseconds) {
    for (u64 i = 0; i < 10 * milliseconds; ++i) {
      time_ += millisecond / 10;
      spent_[static_cast<int>(now_)] += 0.1;
      commits_ += rates_[static_cast<int>(now_)] / 10;
      if (now_ == way::side_by_side) aborts_ += abort_rate_ / 10;
      now_ = lessons_.step(time_, static_cast<u64>(commits_), static_cast<u64>(aborts_));
    }
  }
  // Nobody waits for anybody: nobody asks.
  void rest(u64 milliseconds, double commits) {
    time_ += milliseconds * millisecond;
    commits_ += commits;
  }
  [[nodiscard]] way now() const { return now_; }
  [[nodiscard]] double milliseconds(way w) const { return spent_[static_cast<int>(w)]; }

 private:
  trials lessons_;
  double rates_[syncopate::tm::ways];
  double spent_[syncopate::tm::ways] = {};
  u64 time_ = 1'000'000 * millisecond;
  double abort_rate_, commits_ = 0, aborts_ = 0;
  way now_ = way::in_turn;
};

TEST(Trials, KeepsTheBestWay) {
  for (const way best : {way::in_turn, way::in_slices, way::side_by_side}) {
    program p(best == way::in_turn ? 9000 : 3000, best == way::in_slices ? 9000 : 3000,
              best == way::side_by_side ? 9000 : 3000);
    p.run(60);
    EXPECT_EQ(p.now(), best);
  }
}

TEST(Trials, HardwareIsTriedFirstWhereItIsThere) {
  program p = program::with_hardware(3000, 4000, 2000, 9000);
  p.run(1);
  EXPECT_EQ(p.now(), way::in_hardware);
  EXPECT_LT(p.milliseconds(way::in_turn), 0.5);
  p.run(60);
  EXPECT_EQ(p.now(), way::in_hardware);

  program without(3000, 4000, 2000);
  without.run(1'000);
  EXPECT_EQ(without.now(), way::in_slices);
  EXPECT_EQ(without.milliseconds(way::in_hardware), 0);
}

TEST(Trials, HardwareThatDoesNotPayIsGivenUp) {
  program p = program::with_hardware(3000, 9000, 2000, 1000);
  p.run(60);
  EXPECT_EQ(p.now(), way::in_slices);
  EXPECT_LT(p.milliseconds(way::in_hardware), 12);
}

TEST(Trials, AChangeHasToBeWorthIt) {
  program p(1000, 1030, 1030);
  p.run(60);
  EXPECT_EQ(p.now(), way::in_turn);
}

TEST(Trials, CostLittle) {
  program p(3000, 4000, 400);
  p.run(20'000);
  EXPECT_EQ(p.now(), way::in_slices);
  EXPECT_GT(p.milliseconds(way::in_slices), 19'500);
  EXPECT_LT(p.milliseconds(way::side_by_side), 100);
}

TEST(Trials, AHopelessWayIsSoonGivenUp) {
  program p(9000, 8000, 1000);
  p.run(60);
  EXPECT_EQ(p.now(), way::in_turn);
  EXPECT_LT(p.milliseconds(way::side_by_side), 4);  // with its warm-up
}

TEST(Trials, NoticeThatTheProgramHasChanged) {
  program p(3000, 4000, 400);
  p.run(5'000);
  EXPECT_EQ(p.now(), way::in_slices);
  p.change(1000, 1000, 3000);
  p.run(150);
  EXPECT_EQ(p.now(), way::side_by_side);
}

TEST(Trials, LongTransactionsRunSideBySideAtOnce) {
  program p(5, 5, 9);
  p.run(6);
  EXPECT_EQ(p.now(), way::side_by_side);
  p.run(900);
  EXPECT_EQ(p.now(), way::side_by_side);
  EXPECT_LT(p.milliseconds(way::in_turn), 3);
  EXPECT_EQ(p.milliseconds(way::in_slices), 0);
}

TEST(Trials, LongTransactionsThatFollowShortOnesAreNotComparedWithThem) {
  program p(200, 200, 200);
  p.run(2);
  p.change(10, 10, 18);
  p.run(6);
  EXPECT_EQ(p.now(), way::side_by_side);
  p.run(500);
  EXPECT_EQ(p.now(), way::side_by_side);
  EXPECT_LT(p.milliseconds(way::in_turn) + p.milliseconds(way::in_slices), 7);
}

TEST(Trials, LongTransactionsAreComparedInTheEnd) {
  program p(9, 9, 5);  // few abort, but they wait for each other
  p.run(2'500);
  EXPECT_EQ(p.now(), way::in_turn);
}

TEST(Trials, TransactionsThatOnlySeemedLongAreCompared) {
  program p(5, 5, 500);
  p.run(6);
  p.change(9000, 3000, 3000);
  p.run(200);
  EXPECT_EQ(p.now(), way::in_turn);
}

TEST(Trials, LongTransactionsThatAbortGoBackToTurns) {
  program p(5, 5, 1, 4);
  p.run(400);
  EXPECT_NE(p.now(), way::side_by_side);
}

TEST(Trials, WhatWasMeasuredWhileNobodyAskedDoesNotCount) {
  program p(3000, 9000, 400);
  p.run(2);
  p.rest(500, 100'000'000);  // alone, in turn, and very fast
  p.run(60);
  EXPECT_EQ(p.now(), way::in_slices);
}

}  // namespace
