// record_budget_test.cpp -- what a thread may spend on events and stacks, by made-up times.
#include <gtest/gtest.h>

#include <utility>

#include "record/internal.h"
#include "record/threads.h"
#include "record_support.h"

namespace record_test {
namespace {

// As in a recording, but for the time: what passed(step) says, in microseconds, lies between two
// calls. Returns what `ask` counted.
template <class Passed, class Ask>
std::uint64_t over_time(unsigned calls, Passed passed, Ask ask) {
  scratch dir;
  std::uint64_t found = 0;
  int channel[2];
  if (::pipe(channel) != 0) return 0;
  const int status = in_child([&] {
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    const std::uint64_t microsecond = record::milliseconds(1) / 1000;
    std::uint64_t now = 1'000'000'000;
    for (unsigned i = 0; i < calls; ++i) found += ask(now += passed(i) * microsecond, microsecond);
    return ::write(channel[1], &found, sizeof found) == sizeof found ? 0 : 2;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(::read(channel[0], &found, sizeof found), ssize_t{sizeof found});
  ::close(channel[0]);
  ::close(channel[1]);
  return found;
}

using ask = bool (record::event_budget::*)(std::uint64_t) noexcept;

// A wait every 50 us for 200 s: 4,096 events, and as many again each time the waits have doubled.
TEST(RecordBudget, AThreadWritesEverFewerEvents) {
  record::event_budget budget;
  const auto written = [&budget](unsigned waits, ask may) {
    budget = {};
    return over_time(
        waits, [](unsigned) { return 50u; },
        [&](std::uint64_t now, std::uint64_t) { return (budget.*may)(now) ? 1u : 0u; });
  };
  for (const ask may : {&record::event_budget::allows, &record::event_budget::allows_beginning,
                        &record::event_budget::allows_long}) {
    const std::uint64_t million = written(1'000'000, may), four = written(4'000'000, may);
    EXPECT_GT(million, 4096u);
    EXPECT_LE(million, 4096u * 9);
    EXPECT_GT(four, million);
    EXPECT_LE(four, million + 4096u * 3);
  }
}

// Waits that all come at once, as many as a processor can have: 256 events, then 2,000 a second.
TEST(RecordBudget, ABurstOfEventsIsBounded) {
  for (const ask may : {&record::event_budget::allows, &record::event_budget::allows_beginning}) {
    record::event_budget budget;
    const std::uint64_t written = over_time(
        100'000, [](unsigned) { return 1u; },
        [&](std::uint64_t now, std::uint64_t) { return (budget.*may)(now) ? 1u : 0u; });
    EXPECT_GE(written, 256u);
    EXPECT_LE(written, 256u + 200u + 1u);
  }
}

// Each turn of a thread has as many waits of one kind as then of the other, and a pause behind
// them: as many events of both, as far as chance goes.
void expect_equal_shares(unsigned turns, unsigned of_each, unsigned pause) {
  record::event_budget budget;
  unsigned at = 0;
  // Those of the one kind are counted above those of the other.
  const std::uint64_t found = over_time(
      turns * 2 * of_each, [=](unsigned i) { return i % (2 * of_each) == 0 ? pause : 2; },
      [&](std::uint64_t now, std::uint64_t) -> std::uint64_t {
        const bool is_first = at++ % (2 * of_each) < of_each;
        if (!budget.allows_beginning(now)) return 0;
        return is_first ? std::uint64_t{1} << 32 : 1;
      });
  const auto first = static_cast<double>(found >> 32);
  const auto second = static_cast<double>(found & 0xffff'ffff);
  EXPECT_GT(first + second, 1000);
  EXPECT_NEAR(first / (first + second), 0.5, 0.1) << turns << " " << of_each << " " << pause;
}

TEST(RecordBudget, WhatAThreadDoesInTurnHasItsShareOfEvents) {
  expect_equal_shares(20'000, 1, 500);      // one of both is too much
  expect_equal_shares(20'000, 2, 1000);     // two of four
  expect_equal_shares(6'000, 100, 16'000);  // frames
  expect_equal_shares(200'000, 1, 1500);    // none too many in a while, but all together
}

// A stack that takes 20 us at each wait it may be taken at, for 100 s: 0.5 % of the time, and not
// much less.
TEST(RecordBudget, StacksTakeTheirShareOfTheTime) {
  record::capture_budget budget;
  bool started = false;
  const std::uint64_t spent = over_time(
      1'000'000, [](unsigned) { return 100u; },
      [&](std::uint64_t now, std::uint64_t microsecond) {
        if (!std::exchange(started, true)) budget.start(now, 500 * microsecond);
        if (!budget.allows(now)) return 0u;
        budget.spend(20 * microsecond);
        return 20u;
      });
  EXPECT_LE(spent, 500u + 100'000'000u / 200 + 20u);
  EXPECT_GE(spent, 100'000'000u / 200 * 95 / 100);
}

// One that lost its processor for a second while it took one may take others within 100 ms.
TEST(RecordBudget, TimeWithoutAProcessorIsNotSpent) {
  record::capture_budget budget;
  bool started = false;
  const std::uint64_t allowed = over_time(
      1'000, [](unsigned) { return 100u; },
      [&](std::uint64_t now, std::uint64_t microsecond) {
        if (!std::exchange(started, true)) {
          budget.start(now, microsecond);
          budget.spend(1'000'000 * microsecond);
        }
        return budget.allows(now) ? 1u : 0u;
      });
  EXPECT_GT(allowed, 0u);
}

// A thread that comes back after an hour has no hour's credit.
TEST(RecordBudget, CreditIsNotSavedUp) {
  record::capture_budget budget;
  bool started = false;
  const std::uint64_t spent = over_time(
      10'000, [](unsigned i) { return i == 1 ? 3'600'000'000u : 1u; },
      [&](std::uint64_t now, std::uint64_t microsecond) {
        if (!std::exchange(started, true)) budget.start(now, 0);
        if (!budget.allows(now)) return 0u;
        budget.spend(20 * microsecond);
        return 20u;
      });
  EXPECT_LE(spent, 1'000'000u / 600 + 20u + 10'000u / 200 + 20u);
  EXPECT_GE(spent, 1'000'000u / 600);
}

}  // namespace
}  // namespace record_test
