// Whether a waiter goes on spinning for a holder.
#include "preload/guard/holder_watch.h"

#include <gtest/gtest.h>

#include <ostream>

namespace syncopate::shim {
namespace {

struct two_looks {
  const char* name;
  holder_look before, now;
  wait_advice advice;
};
// Names the case in lists of tests, in place of its bytes.
void PrintTo(const two_looks& looks, std::ostream* to) { *to << looks.name; }

class HolderWatch : public ::testing::TestWithParam<two_looks> {};

TEST_P(HolderWatch, Advises) {
  EXPECT_EQ(advise_waiter(GetParam().before, GetParam().now), GetParam().advice);
}

constexpr holder_look at_first{.holder = 7, .at = 1000, .ran = 500, .known = true};

INSTANTIATE_TEST_SUITE_P(
    All, HolderWatch,
    ::testing::Values(
        two_looks{"DidNotRun", at_first, {7, 21'000, 500, true}, wait_advice::sleep},
        two_looks{"RanAlmostNothing", at_first, {7, 21'000, 2'000, true}, wait_advice::sleep},
        two_looks{"Ran", at_first, {7, 21'000, 20'000, true}, wait_advice::spin},
        two_looks{"RanAPart", at_first, {7, 21'000, 4'000, true}, wait_advice::spin},
        two_looks{"AnotherHolder", at_first, {8, 21'000, 500, true}, wait_advice::spin},
        two_looks{"NobodyNow", at_first, {0, 21'000, 0, false}, wait_advice::spin},
        two_looks{"NobodyBefore", {}, {7, 21'000, 500, true}, wait_advice::spin},
        two_looks{"ClockRefused", at_first, {7, 21'000, 0, false}, wait_advice::spin},
        two_looks{"NoTimePassed", at_first, at_first, wait_advice::spin}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace syncopate::shim
