// What the environment may do to an execution (options.h): to each thread; said where it is
// withheld; and a schedule brings what it needs.
#include <gtest/gtest.h>

#include "model.h"
#include "model/explored/report/report.h"

namespace {
using namespace model;

void pause(int place) { on->relax(line(place)); }

// Polls a word for a while, then sleeps until it is not 0; says so before.
void spin_then_sleep(int turns, int place) {
  for (int i = 0; i < turns; ++i) {
    if (x.load(acq) != 0) return;
    pause(place);
  }
  w.store(1, rel);
  while (x.load(acq) == 0) x.park(0);
}
const auto sleeper = [] { spin_then_sleep(3, 12); };
const auto waker_of_one = [] {
  x.store(1, rel);
  x.wake(1);
};
const auto waker_of_two = [] {
  x.store(1, rel);
  x.wake(2);
};

// ---- each thread ------------------------------------------------------------------------------

TEST(GivingUp, two_loops_can_in_one_execution) {
  EXPECT_EQ(explore({sleeper, sleeper, waker_of_one}).how.what.kind, failure_kind::deadlock);
  EXPECT_EQ(explore({sleeper, sleeper, waker_of_two}).how.how, result::passed);
}
TEST(GivingUp, at_a_deadline_too) {
  const auto timed = [] {
    for (int i = 0; i < 2; ++i)
      if (x.await(1, acq, on->ticks() + 100)) return;
    while (x.load(acq) == 0) x.park(0);
  };
  EXPECT_EQ(explore({timed, timed, waker_of_one}, with("jumps=0")).how.what.kind,
            failure_kind::deadlock);
  EXPECT_EQ(explore({timed, timed, waker_of_two}, with("jumps=0")).how.how, result::passed);
}
TEST(GivingUp, by_the_clock_too) {
  const auto until_late = [] {
    const auto until = on->ticks() + 1'000'000;
    while (on->ticks() < until)
      if (x.load(acq) != 0) return;
    check(y.add(1, acq_rel) == 0);
  };
  const auto both = [&](const char* extent) {
    return explore({until_late, until_late, [] { x.store(1, rel); }}, with(extent)).how.what.kind;
  };
  EXPECT_EQ(both("steps=60,preemptions=2"), failure_kind::check);
}

// ---- long loops -------------------------------------------------------------------------------

TEST(LongCount, is_no_endless_loop) {
  const found f = explore({[] {
                             spin_then_sleep(1'000, 12);
                             r[0] = 1;
                           },
                           [] {
                             while (w.load(acq) == 0) pause(30);
                             waker_of_one();
                           }});
  EXPECT_EQ(f.how.what.kind, failure_kind::none);
  EXPECT_TRUE(f.has({1}));
}
TEST(LongCount, hides_nothing_behind_it) {
  // The sleeper takes the number that it compares with after it has looked.
  const auto sleeps_late = [] {
    for (int i = 0; i < 5'000; ++i) {
      if (x.load(acq) != 0) return;
      pause(12);
    }
    if (x.load(acq) == 0) y.park(y.load(acq));
  };
  const auto wakes = [] {
    x.store(1, rel);
    y.add(1, rel);
    y.wake();
  };
  EXPECT_EQ(explore({sleeps_late, wakes}).how.what.kind, failure_kind::deadlock);
}
TEST(LongCount, a_loop_without_a_pause_behind_it_is_followed) {
  const auto waits = [] {
    for (int i = 0; i < 3; ++i) {
      if (x.load(acq) != 0) return;
      pause(12);
    }
    while (x.load(acq) == 0) continue;
  };
  const found f = explore({waits, [] { x.store(1, rel); }}, with("steps=30"));
  EXPECT_EQ(f.how.what.kind, failure_kind::none);
}

// ---- what was withheld ------------------------------------------------------------------------

std::string said(const std::vector<body>& threads, const char* extent) {
  const options o = with(extent);
  return syncopate::explored::summary(explore(threads, o).how, o);
}

TEST(Withheld, is_said) {
  const std::string some = said({sleeper, sleeper, waker_of_two}, "jumps=0");
  EXPECT_NE(some.find(", jumps at most 0"), std::string::npos) << some;
  EXPECT_EQ(some.find("timeouts"), std::string::npos) << some;
  const std::string timed =
      said({[] { x.await(1, acq, on->ticks() + 100); }, waker_of_one}, "timeouts=0");
  EXPECT_NE(timed.find(", timeouts at most 0"), std::string::npos) << timed;
  const std::string none = said({[] { x.add(1, rlx); }, [] { x.add(1, rlx); }}, "");
  EXPECT_EQ(none.find("at most"), std::string::npos) << none;
}

// ---- schedules --------------------------------------------------------------------------------

// Found with these options, repeated without any.
void expect_repeatable(const std::vector<body>& threads, const char* extent) {
  const verdict first = explore(threads, with(extent)).how;
  ASSERT_EQ(first.how, result::failed) << extent;
  options o;
  o.schedule = first.what.schedule;
  const verdict again = explore(threads, o).how;
  EXPECT_EQ(again.what.kind, first.what.kind) << first.what.schedule;
  EXPECT_EQ(again.what.schedule, first.what.schedule);
}

TEST(Schedule, brings_the_options_that_it_needs) {
  expect_repeatable({[] {
                       x.park(0);
                       check(x.load(acq) == 1);
                     },
                     waker_of_one},
                    "spurious=2");
  const auto late_twice = [] {
    for (int i = 0; i < 2; ++i) {
      const auto before = on->ticks();
      if (on->ticks() - before < 1'000'000) return;
    }
    check(x.load(acq) == 1);
  };
  EXPECT_EQ(explore({late_twice, waker_of_one}).how.how, result::passed);
  expect_repeatable({late_twice, waker_of_one}, "jumps=2");
}
TEST(Schedule, of_a_livelock_found_late) {
  // The loop is known to be endless when the execution that fails begins.
  expect_repeatable({[] { x.store(1, rlx); }, [] { z.store(x.load(rlx), rel); },
                     [] {
                       while (z.load(acq) == 0) relax();
                     }},
                    "");
}
// Where nothing else can run, time passes for a sleeper, or another one wakes without a cause, or
// the same one does.
TEST(Schedule, of_one_that_wakes_instead_of_timing_out) {
  const auto sleep = [](bool timed) {
    const auto ns = on->nanoseconds(CLOCK_MONOTONIC) + 1'000'000;
    const syncopate::machine::deadline until{
        timespec{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)},
        CLOCK_MONOTONIC};
    const auto at = reinterpret_cast<syncopate::engine::address>(timed ? &x.value : &y.value);
    return on->park(at, 0, timed ? &until : nullptr, ~0u, line(40)) ==
           syncopate::machine::park_result::timed_out;
  };
  const char* const calm = "timeouts=0,jumps=0,spurious=1";
  const std::vector<body> both{[=] { r[0] = sleep(true) ? 1 : 2; },
                               [=] { r[1] = sleep(false) ? 1 : 2; }};
  const found f = explore(both, with(calm), false);
  EXPECT_EQ(f.outcomes,
            explore(both, with("timeouts=0,jumps=0,spurious=1,every_order"), false).outcomes);
  EXPECT_EQ(f.outcomes.size(), 4u) << "time-out or not, asleep for good or not";
  expect_repeatable({[=] { check(sleep(true)); }}, calm);
  expect_repeatable({[=] { (void)sleep(true); },
                     [=] {
                       (void)sleep(false);
                       check(false);
                     }},
                    "timeouts=0,jumps=0,spurious=1");
}
TEST(Schedule, with_a_bad_option_is_refused) {
  options o;
  o.schedule = "jumbs=2 0*3";
  EXPECT_EQ(syncopate::explored::take_options_of_schedule(o), "there is no option jumbs");
}

}  // namespace
