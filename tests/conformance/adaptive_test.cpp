// How the adaptive strategy decides, as a table; and what its memory makes of a sequence of waits.
#include <gtest/gtest.h>

#include <new>
#include <string>

#include <syncopate/wait/adaptive.h>

namespace {

namespace machine = syncopate::machine;
namespace waits = syncopate::waits;
using waits::plan;
using waits::situation;
using waits::way;

constexpr std::uint64_t sleep_price = 20'000;

struct row {
  const char* when;
  situation given;
  plan wanted;
};

constexpr row table[] = {
    {"nothing known: poll for the price of a sleep", {}, {way::spin, sleep_price}},
    {"short waits", {.expected = 500}, {way::spin, sleep_price}},
    {"waits of just the price", {.expected = sleep_price}, {way::spin, sleep_price}},
    {"longer waits: polling would not see the end", {.expected = sleep_price + 1}, {way::park, 0}},
    {"longer waits, probing", {.expected = 100'000, .probe = true}, {way::spin, sleep_price}},
    {"short waits with a monitor: not worth falling asleep",
     {.expected = 500, .monitor = true},
     {way::spin, sleep_price}},
    {"middle waits with a monitor",
     {.expected = 5'000, .monitor = true},
     {way::monitor, waits::monitor_factor* sleep_price}},
    {"a monitor burns little: it may wait longer than the price",
     {.expected = 3 * sleep_price, .monitor = true},
     {way::monitor, waits::monitor_factor* sleep_price}},
    {"too long even for a monitor", {.expected = 5 * sleep_price, .monitor = true}, {way::park, 0}},
    {"one processor: nobody runs while we poll", {.expected = 500, .alone = true}, {way::park, 0}},
    {"crowded: at once, whatever was before", {.expected = 500, .crowded = true}, {way::park, 0}},
    {"crowded, with a monitor", {.crowded = true, .monitor = true}, {way::park, 0}},
    {"crowded, nothing known", {.crowded = true}, {way::park, 0}},
    {"crowded, in a team: let them run",
     {.expected = 500, .crowded = true, .may_yield = true},
     {way::yield, waits::yield_factor* sleep_price}},
    {"one processor, in a team",
     {.alone = true, .may_yield = true},
     {way::yield, waits::yield_factor* sleep_price}},
    {"crowded, in a team, long waits",
     {.expected = 100 * sleep_price, .crowded = true, .may_yield = true},
     {way::park, 0}},
    {"yields help only where somebody waits for this processor",
     {.expected = 500, .may_yield = true},
     {way::spin, sleep_price}},
};

std::string text(const plan& p) {
  constexpr const char* names[] = {"spin", "monitor", "yield", "park"};
  return std::string(names[static_cast<int>(p.first)]) + " for " + std::to_string(p.limit);
}

TEST(Choose, FollowsTheTable) {
  for (row r : table) {
    r.given.wake_latency = sleep_price;
    EXPECT_EQ(text(waits::choose(r.given)), text(r.wanted)) << r.when;
  }
}

TEST(History, KnowsNothingAtFirstAndThenTheMean) {
  waits::history past;
  EXPECT_EQ(past.expected(), 0u);
  past.note(16'000);
  EXPECT_EQ(past.expected(), 16'000u);
  for (int i = 0; i < 100; ++i) past.note(1'600);
  EXPECT_NEAR(static_cast<double>(past.expected()), 1'600, 160);
  for (int i = 0; i < 100; ++i) past.note(64'000);
  EXPECT_NEAR(static_cast<double>(past.expected()), 64'000, 640);
}

TEST(History, ForgetsNothingButTheScale) {
  waits::history past;
  past.note(~std::uint64_t{0});  // a wait without end
  EXPECT_GT(past.expected(), 100'000'000u);
  past.note(0);
  EXPECT_GT(past.expected(), 0u);
}

// Where waits are short, as most are, nothing is written: the line may stay in all caches.
TEST(History, ShortWaitsAfterShortWaitsAreNotNoted) {
  waits::history past;
  past.note(sleep_price / 8, sleep_price);
  EXPECT_EQ(past.expected(), 0u);
  past.note(sleep_price, sleep_price);
  EXPECT_EQ(past.expected(), sleep_price);
  past.note(16, sleep_price);
  EXPECT_LT(past.expected(), sleep_price);
}

TEST(History, ProbesNowAndThen) {
  int probes = 0;
  for (int i = 0; i < 320; ++i) probes += waits::history::probe() ? 1 : 0;
  EXPECT_EQ(probes, 10);
}

// Times in slices; a slice is long against a sleep, as measured at start-up or estimated.
struct foreign_slices {
  static constexpr std::uint64_t zero = 1'000'000'000'000;
  const std::uint64_t slice = 100 * waits::foreign_factor * syncopate::machine::wake_latency() / 10;
  waits::foreign_load load;

  void took(double start, double length = 1) { load.took_slice(at(start), at(start + length)); }
  [[nodiscard]] bool is_there(double time) const { return load.is_there(at(time)); }
  [[nodiscard]] std::uint64_t at(double time) const {
    return zero + static_cast<std::uint64_t>(time * static_cast<double>(slice));
  }
};

TEST(ForeignLoad, KnowsNothingAtFirst) { EXPECT_FALSE(foreign_slices().is_there(0)); }

TEST(ForeignLoad, ASliceAloneIsNothing) {
  foreign_slices f;
  for (int i = 0; i < 10; ++i) f.took(3 * i);  // two slices' time in between
  EXPECT_FALSE(f.is_there(40));
}

TEST(ForeignLoad, TwoThreadsThatMeetOneSliceMeetOne) {
  foreign_slices f;
  f.took(0);
  f.took(0.1);
  EXPECT_FALSE(f.is_there(2));
}

TEST(ForeignLoad, OneSliceAfterTheOtherIsAThreadThatComputes) {
  foreign_slices f;
  f.took(0);
  f.took(1.1);
  EXPECT_TRUE(f.is_there(3));
  EXPECT_TRUE(f.is_there(30));
  EXPECT_FALSE(f.is_there(40));
}

TEST(ForeignLoad, TakesAllWhereNothingIsLeftInBetween) {
  foreign_slices f;
  f.took(0);
  f.took(1.01);
  EXPECT_TRUE(f.load.takes_all());
  f.took(500);
  f.took(501.5);
  EXPECT_TRUE(f.is_there(503));
  EXPECT_FALSE(f.load.takes_all());
  f.load.try_again();
  EXPECT_FALSE(f.is_there(503));
}

TEST(ForeignLoad, WhoIsStillThereIsLeftAloneForLonger) {
  foreign_slices f;
  f.took(0);
  f.took(1.1);
  f.took(36);  // one is enough now
  EXPECT_TRUE(f.is_there(36 + 60));
  EXPECT_FALSE(f.is_there(36 + 70));
  f.took(1000);  // long after: as at first
  EXPECT_FALSE(f.is_there(1002));
}

TEST(ForeignLoad, WhatIsTriedAgainIsKnownByOneSlice) {
  foreign_slices f;
  f.took(0);
  f.took(1.1);
  EXPECT_FALSE(f.load.is_sure());
  f.load.try_again();
  EXPECT_FALSE(f.is_there(3));
  f.took(3);
  EXPECT_TRUE(f.is_there(5));
  EXPECT_TRUE(f.load.is_sure());
}

TEST(ForeignLoad, LessIsSureOfWhatWasThereOnceOrEarlier) {
  foreign_slices once, earlier, again;
  earlier.took(0), earlier.took(1.1);
  once.took(10), once.took(11.1);
  again.took(0), again.took(1.1), again.took(36);
  EXPECT_TRUE(earlier.load.is_less_sure_than(once.load));
  EXPECT_FALSE(once.load.is_less_sure_than(earlier.load));
  EXPECT_TRUE(once.load.is_less_sure_than(again.load));
  EXPECT_FALSE(again.load.is_less_sure_than(again.load));
  EXPECT_TRUE(foreign_slices().load.is_less_sure_than(earlier.load));
}

// The processors that this thread may use, with what is known of them put back at the end.
class OnProcessors : public ::testing::Test {
 protected:
  void meet(unsigned n, int times) {
    const std::uint64_t slice = 100 * waits::foreign_factor * machine::wake_latency();
    const std::uint64_t first = machine::ticks();
    waits::load_of(n).took_slice(first, first + slice);
    for (int i = 1; i < times; ++i) {
      waits::load_of(n).took_slice(first + i * slice + 1, first + (i + 1) * slice);
      if (i + 1 < times) waits::load_of(n).try_again();
    }
  }
  template <class Each>
  void each(Each act) {
    const machine::detail::processor_mask mine;
    for (unsigned n = 0; n < mine.end(); ++n)
      if (mine.has(n)) act(n);
  }
  void TearDown() override {
    for (auto& load : waits::on_processor) {
      load.~foreign_load();
      new (&load) waits::foreign_load;
    }
  }
};

TEST_F(OnProcessors, AThreadMovesAwayFromAForeignOne) {
  if (machine::detail::processor_mask().count() < 2) GTEST_SKIP() << "there is one processor only";
  const unsigned taken = machine::processor();
  meet(taken, 2);
  // The system may have moved it meanwhile, or move it back.
  bool is_away = false;
  for (int i = 0; i < 100 && !is_away; ++i) {
    EXPECT_TRUE(waits::peer_yield().offer());
    is_away = machine::processor() != taken;
  }
  EXPECT_TRUE(is_away);
}

// Two offers that take long for nobody's sake; shown(), called before either is told to have been
// the last, says what a peer does meanwhile. Returns whether a foreign thread is suspected.
template <class Shown>
bool suspects_after_two_long_offers(Shown shown) {
  unsigned at = machine::no_processor;
  for (int i = 0; i < 2; ++i) {
    waits::peer_yield ours;
    EXPECT_TRUE(ours.offer());
    at = machine::processor();
    const std::uint64_t end =
        machine::ticks() + 2 * waits::foreign_factor * machine::wake_latency();
    while (machine::ticks() < end) machine::relax();
    shown();
    ours.was_last();
  }
  return waits::load_of(at).is_there(machine::ticks());
}

TEST_F(OnProcessors, LongOffersAreAForeignOnesUnlessAPeerWasThere) {
  EXPECT_FALSE(suspects_after_two_long_offers([] { waits::be_seen(); }));
  EXPECT_FALSE(suspects_after_two_long_offers(
      [] { waits::load_of(machine::processor()).offers(machine::ticks()); }));
  // The system may move the thread, or take its processor, in between.
  bool suspected = false;
  for (int i = 0; i < 100 && !suspected; ++i) {
    TearDown();
    suspected = suspects_after_two_long_offers([] {});
  }
  EXPECT_TRUE(suspected);
}

// Each is tried once more before all are given up.
TEST_F(OnProcessors, WhereAllAreTakenTheLeastSureIsTriedAndThenOneSleeps) {
  each([this](unsigned n) { meet(n, 2); });
  EXPECT_TRUE(waits::peer_yield().offer());
  int left = 0;
  each([&left](unsigned n) { left += waits::load_of(n).is_there(machine::ticks()) ? 0 : 1; });
  EXPECT_EQ(left, 1);
  each([this](unsigned n) { meet(n, 3); });
  bool yields = true;
  for (int i = 0; i < 100 && yields; ++i) yields = waits::peer_yield().offer();
  EXPECT_FALSE(yields);
  EXPECT_FALSE(waits::peer_yield().offer());
}
TEST(ForeignLoad, AStandStillIsNoSlice) {
  foreign_slices f;
  f.took(0, 1e6);
  f.took(1e6 + 1, 1e6);
  EXPECT_FALSE(f.is_there(2e6 + 1 + 1000));
}

TEST(LastWaiter, IsInTheWayOnlyIfItIsAnother) {
  waits::last_waiter last;
  EXPECT_FALSE(last.is_in_our_way());
  last.is_me();
  EXPECT_FALSE(last.is_in_our_way());
}

}  // namespace
