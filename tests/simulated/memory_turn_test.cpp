// Lines that take time to change hands: turn().
#include "memory_fixture.h"

namespace syncopate::simulated {
namespace {

class TurnTest : public MemoryTest {
 protected:
  TurnTest() {
    machine.coherence.request = 20;
    machine.coherence.hold = 30;
    rebuild();
    modify(0, 100, 0);
  }
  cycles turn(unsigned processor, line what, use how, cycles now) {
    return memory->turn(processor, address(what), 8, how, now);
  }
};

TEST_F(TurnTest, HolderGoesOnUntilTheRequestHasReachedIt) {
  EXPECT_EQ(turn(1, 100, use::modify, 1000), 1020u);
  EXPECT_EQ(turn(0, 100, use::modify, 1010), 1010u);
  EXPECT_EQ(modify(0, 100, 1010), 1022u);  // a hit
  EXPECT_EQ(turn(1, 100, use::modify, 1020), 1020u);
  EXPECT_EQ(modify(1, 100, 1020), 1060u);  // as without turns: 1000 + 50 + RMW 10
  EXPECT_EQ(memory->totals(1).waited, 0u);
}

TEST_F(TurnTest, WaitersGetTheLineInOrderAndEachHoldsIt) {
  turn(1, 100, use::modify, 1000);
  modify(1, 100, 1020);                               // until 1060
  EXPECT_EQ(turn(3, 100, use::modify, 1021), 1090u);  // 30 after that
  EXPECT_EQ(turn(2, 100, use::modify, 1022), 1190u);  // 1 -> 3: 80 - 20, RMW 10, and another 30
  EXPECT_EQ(modify(1, 100, 1080), 1092u);             // still a hit
  EXPECT_EQ(turn(3, 100, use::modify, 1090), 1090u);
  EXPECT_EQ(modify(3, 100, 1090), 1160u);
  EXPECT_EQ(turn(2, 100, use::modify, 1190), 1190u);
  EXPECT_EQ(modify(2, 100, 1190), 1230u);    // 3 -> 2: 50 - 20, RMW 10
  EXPECT_EQ(memory->totals(3).waited, 49u);  // 1090 - 1041
}

TEST_F(TurnTest, OnlyWhoTakesALineFromSomebodyWaits) {
  EXPECT_EQ(turn(0, 100, use::modify, 1000), 1000u);  // has it
  EXPECT_EQ(turn(1, 101, use::modify, 1000), 1000u);  // nobody has it
  EXPECT_EQ(turn(1, 999, use::read, 1000), 1000u);    // nobody ever asked for it
  EXPECT_EQ(turn(1, 100, use::read, 1000), 1020u);
  EXPECT_EQ(read(1, 100, 1020), 1050u);
  EXPECT_EQ(turn(2, 100, use::read, 1100), 1100u);    // shared: a copy is for the asking
  EXPECT_EQ(turn(1, 100, use::modify, 1100), 1120u);  // the other copy goes
}

TEST_F(TurnTest, RequestIsForgottenWhenTheLineCameOtherwise) {
  EXPECT_EQ(turn(1, 100, use::modify, 1000), 1020u);
  write(1, 100, 1001);
  EXPECT_EQ(turn(1, 100, use::modify, 1060), 1060u);
  modify(0, 100, 2000);
  EXPECT_EQ(turn(1, 100, use::modify, 3000), 3020u);
}

TEST_F(TurnTest, StoreTakesTheLineAtOnceAndGetsItInTurn) {
  turn(1, 100, use::modify, 1000);
  modify(1, 100, 1020);  // until 1060, held until 1090
  EXPECT_EQ(write(0, 100, 1021), 1022u);
  EXPECT_EQ(memory->drained_at(0), 1120u);  // 1090 + 50 - 20
  EXPECT_EQ(memory->drained_at(0), 1120u);
  EXPECT_EQ(turn(0, 100, use::read, 1030), 1030u);  // from the store buffer
}

TEST_F(TurnTest, WithoutTheKeysNobodyWaits) {
  EXPECT_TRUE(memory->lines_are_held());
  machine.coherence.request = machine.coherence.hold = 0;
  rebuild();
  EXPECT_FALSE(memory->lines_are_held());
}

}  // namespace
}  // namespace syncopate::simulated
