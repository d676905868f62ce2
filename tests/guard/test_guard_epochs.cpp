// When a lock's choice is compared, kept and given up.
#include "preload/guard/guard_epochs.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

namespace syncopate::shim {
namespace {

epoch_tally busy(std::uint64_t wait_by_acquisition, std::uint64_t time_by_acquisition = 3000) {
  return {.acquisitions = 1000,
          .waits = 500,
          .wait_ticks = 1000 * wait_by_acquisition,
          .ticks = 1000 * time_by_acquisition};
}

// The steps of a lock whose choice and fallback wait as given: s, t(ry), b(ack), g(ive up).
std::string steps(guard_history& history, unsigned epochs, std::uint64_t choice,
                  std::uint64_t fallback) {
  std::string made;
  for (unsigned i = 0; i < epochs; ++i)
    made +=
        "stbg"[static_cast<unsigned>(history.after(busy(history.on_fallback ? fallback : choice)))];
  return made;
}

TEST(GuardEpochs, ThreeLostComparisonsInARowGiveUpForGood) {
  guard_history history;
  EXPECT_EQ(steps(history, 10, 2000, 1000), "tbtbtgssss");
  EXPECT_TRUE(history.given_up);
}

TEST(GuardEpochs, AChoiceThatPaysIsComparedEverMoreRarely) {
  guard_history history;
  EXPECT_EQ(steps(history, 16, 1000, 2000), "tbtbstbssstbssss");
  EXPECT_EQ(steps(history, 1000, 1000, 2000).find('g'), std::string::npos);
  EXPECT_EQ(history.gap, guard_history::longest_gap);
}

TEST(GuardEpochs, ThroughputGoesBeforeWaits) {
  guard_history slow, fast;
  for (int i = 0; i < 6; ++i) {
    (void)slow.after(slow.on_fallback ? busy(2000, 500) : busy(1000, 600));
    (void)fast.after(fast.on_fallback ? busy(1000, 600) : busy(2000, 500));
  }
  EXPECT_TRUE(slow.given_up) << "it waits less only because it does less";
  EXPECT_FALSE(fast.given_up);
}

TEST(GuardEpochs, AFewEndlessWaitsAreWorthAComparison) {
  guard_history history;
  EXPECT_EQ(history.after({.acquisitions = 64, .waits = 2, .wait_ticks = 64 * 50'000}),
            guard_step::try_fallback);
}

TEST(GuardEpochs, ATieKeepsTheChoice) {
  guard_history history;
  EXPECT_EQ(steps(history, 200, 1000, 1000).find('g'), std::string::npos);
  EXPECT_EQ(steps(history, 200, 1099, 1000).find('g'), std::string::npos) << "within the margin";
}

TEST(GuardEpochs, OneComparisonWonStartsTheCountAnew) {
  guard_history history;
  EXPECT_EQ(steps(history, 4, 2000, 1000), "tbtb");
  EXPECT_EQ(steps(history, 2, 1000, 2000), "tb");
  EXPECT_EQ(steps(history, 5, 2000, 1000), "stbtb");
  EXPECT_FALSE(history.given_up);
}

TEST(GuardEpochs, WaitsThatGrowAreComparedAtOnce) {
  guard_history history;
  (void)steps(history, 60, 1000, 2000);
  while (history.on_fallback || history.since + 2 >= history.gap)
    (void)history.after(busy(history.on_fallback ? 2000 : 1000));
  EXPECT_EQ(history.after(busy(1000)), guard_step::stay);
  EXPECT_EQ(history.after(busy(5000)), guard_step::try_fallback);
}

struct quiet_epoch {
  const char* what;
  epoch_tally seen;
};
// Names the case in lists of tests, in place of its bytes.
void PrintTo(const quiet_epoch& epoch, std::ostream* to) { *to << epoch.what; }
class GuardEpochsQuiet : public ::testing::TestWithParam<quiet_epoch> {};

TEST_P(GuardEpochsQuiet, SaysNothing) {
  guard_history history;
  EXPECT_EQ(history.after(GetParam().seen), guard_step::stay);
  EXPECT_FALSE(history.on_fallback);
}
INSTANTIATE_TEST_SUITE_P(
    All, GuardEpochsQuiet,
    ::testing::Values(quiet_epoch{"no acquisition", {}},
                      quiet_epoch{"hardly one", {.acquisitions = 63, .waits = 63, .wait_ticks = 9}},
                      quiet_epoch{"no waits", {.acquisitions = 100'000, .waits = 0}},
                      quiet_epoch{"few", {.acquisitions = 999, .waits = 15, .wait_ticks = 99}}),
    [](const auto& info) { return "Epoch" + std::to_string(info.index); });

TEST(GuardEpochs, AQuietEpochOfTheFallbackGoesOn) {
  guard_history history;
  EXPECT_EQ(history.after(busy(1000)), guard_step::try_fallback);
  EXPECT_EQ(history.after({}), guard_step::stay);
  EXPECT_TRUE(history.on_fallback);
  EXPECT_EQ(history.after(busy(3000)), guard_step::back_to_choice);
}

}  // namespace
}  // namespace syncopate::shim
