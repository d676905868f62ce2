// What is found, and what is not blamed: races, deadlocks, lost wake-ups, livelocks, freed memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>

#include "model.h"
#include "model/explored/report/report.h"
#include "model/front/compiler/entered.h"

namespace {
using namespace model;

failure_kind kind(const std::vector<body>& threads, const options& o = {}) {
  return explore(threads, o).how.what.kind;
}

// ---- races ------------------------------------------------------------------------------------

TEST(Race, two_plain_writes) {
  EXPECT_EQ(kind({[] { a.write(1); }, [] { a.write(2); }}), failure_kind::race);
}
TEST(Race, plain_reads_do_not_race) {
  EXPECT_EQ(kind({[] { a.read(); }, [] { a.read(); }}), failure_kind::none);
}
TEST(Race, atomic_against_plain) {
  EXPECT_EQ(kind({[] { x.store(1, sc); },
                  [] {
                    on->access(reinterpret_cast<std::uintptr_t>(&x.value), 4,
                               syncopate::engine::kind::read, line(1));
                  }}),
            failure_kind::race);
}
TEST(Race, publication_needs_release_and_acquire) {
  const auto publish = [](std::memory_order store, std::memory_order load) {
    return kind({[=] {
                   a.write(1);
                   x.store(1, store);
                 },
                 [=] {
                   if (x.load(load) == 1) a.read();
                 }});
  };
  EXPECT_EQ(publish(rel, acq), failure_kind::none);
  EXPECT_EQ(publish(rlx, acq), failure_kind::race);
  EXPECT_EQ(publish(rel, rlx), failure_kind::race);
}
TEST(Race, neighboring_bytes_do_not_race) {
  static char bytes[8];
  const auto touch = [](int i) {
    on->access(reinterpret_cast<std::uintptr_t>(&bytes[i]), 1, syncopate::engine::kind::write,
               line(1));
  };
  EXPECT_EQ(kind({[=] { touch(0); }, [=] { touch(1); }}), failure_kind::none);
  EXPECT_EQ(kind({[=] { touch(3); }, [=] { touch(3); }}), failure_kind::race);
}
TEST(Race, happens_only_in_a_rare_interleaving) {
  const found f = explore({[] {
                             x.store(1, rel);
                             y.store(1, rel);
                             a.write(1);
                           },
                           [] {
                             if (y.load(acq) == 0 && x.load(acq) == 1) a.write(2);
                           }});
  EXPECT_EQ(f.how.what.kind, failure_kind::race);
  EXPECT_GT(f.how.executions, 1u);
}

// ---- waiting ----------------------------------------------------------------------------------

TEST(Deadlock, two_threads_wait_for_each_other) {
  EXPECT_EQ(kind({[] {
                    x.await(1, acq);
                    y.store(1, rel);
                  },
                  [] {
                    y.await(1, acq);
                    x.store(1, rel);
                  }}),
            failure_kind::deadlock);
}
TEST(Deadlock, waiting_that_ends_is_none) {
  const found f = explore({[] {
                             x.await(1, acq);
                             r[0] = a.read();
                           },
                           [] {
                             a.write(7);
                             x.store(1, rel);
                           }});
  EXPECT_EQ(f.how.how, result::passed);
  EXPECT_EQ(f.outcomes.size(), 1u);
  EXPECT_TRUE(f.has({7}));
}
TEST(LostWakeUp, is_a_deadlock_with_a_parked_thread) {
  // The waker looks for waiters before it changes the word: the sleeper may come in between.
  const found f = explore({[] {
                             const bool waits = y.load(sc) != 0;
                             x.store(1, sc);
                             if (waits) x.wake();
                           },
                           [] {
                             y.store(1, sc);
                             while (x.load(acq) == 0) x.park(0);
                           }});
  ASSERT_EQ(f.how.what.kind, failure_kind::deadlock);
  EXPECT_TRUE(std::any_of(f.how.what.threads.begin(), f.how.what.threads.end(),
                          [](const auto& t) { return t.parked; }));
}
TEST(LostWakeUp, right_order_has_none) {
  EXPECT_EQ(kind({[] {
                    x.store(1, rel);
                    x.wake();
                  },
                  [] {
                    while (x.load(acq) == 0) x.park(0);
                  }}),
            failure_kind::none);
}
TEST(LostWakeUp, store_and_look_need_seq_cst) {
  // The sleeper's count and the waker's store are store buffering.
  const auto run = [](std::memory_order store, std::memory_order load) {
    return kind({[=] {
                   x.store(1, store);
                   if (y.load(load) != 0) x.wake();
                 },
                 [] {
                   y.store(1, sc);
                   if (x.load(sc) == 0) x.park(0);
                 }});
  };
  EXPECT_EQ(run(sc, sc), failure_kind::none);
  EXPECT_EQ(run(rel, acq), failure_kind::deadlock);
}
TEST(Wake, wakes_the_longest_parked_first) {
  const found f = explore({[] { r[0] = x.park(0); },
                           [] {
                             while (x.wake() == 0) relax();
                           }});
  EXPECT_TRUE(f.has({1}));
}

// ---- spinning ---------------------------------------------------------------------------------

TEST(Spinning, hand_written_loops_are_finite) {
  const found f = explore({[] {
                             while (x.load(acq) != 3) relax();
                             r[0] = a.read();
                           },
                           [] {
                             a.write(4);
                             for (int i = 1; i <= 3; ++i) x.store(i, rel);
                           }});
  EXPECT_EQ(f.how.how, result::passed);
  EXPECT_TRUE(f.has({4}));
  EXPECT_LT(f.how.executions, 30u);
}
TEST(Spinning, test_and_set_lock_excludes) {
  const auto section = [] {
    while (x.exchange(1, acq) != 0) relax();
    a.write(a.read() + 1);
    x.store(0, rel);
  };
  EXPECT_EQ(kind({section, section}), failure_kind::none);
  EXPECT_EQ(kind({section, section, section}), failure_kind::none);
}
// What a loop has not written yet is there from an execution before: in every second one what it
// will write. So it is recognized a turn earlier; but not behind steps behind which it was not.
TEST(Spinning, what_was_on_a_stack_before_does_not_matter) {
  static std::array<unsigned char, 2> written;
  const auto wait = [](var& v) {
    for (int turn = 0;; ++turn) {
      written = {static_cast<unsigned char>(turn == 0 ? on->executions() % 2 : 0), 0};
      syncopate_entered.known = true;
      if (v.load(acq, 30) != 0) return;
    }
  };
  const found f = explore({[&] {
                             x.store(1, rel);
                             wait(y);
                             r[0] = z.load(rlx);
                           },
                           [&] {
                             z.store(1, rlx);
                             y.store(1, rel);
                             wait(x);
                             r[1] = z.exchange(2, rlx);
                           }},
                          {}, true, [] { return std::span<const unsigned char>(written); });
  EXPECT_EQ(f.how.what.kind, failure_kind::none);
  EXPECT_EQ(f.how.how, result::passed);
  EXPECT_TRUE(f.has({1, 1}) && f.has({2, 1}));
}
TEST(Spinning, a_loop_that_gives_up_does) {
  const found f = explore({[] {
                             for (int i = 0; i < 10 && x.load(acq) == 0; ++i) relax();
                             r[0] = x.load(acq);
                           },
                           [] { x.store(1, rel); }});
  EXPECT_TRUE(f.has({0}));
  EXPECT_TRUE(f.has({1}));
}
TEST(Spinning, loop_with_a_deadline_ends) {
  const found f = explore({[] {
                             const auto until = on->ticks() + 1'000'000;
                             while (x.load(acq) == 0 && on->ticks() < until) relax();
                             r[0] = x.load(acq) + 1;
                           },
                           [] { x.store(1, rel); }});
  EXPECT_EQ(f.how.how, result::passed);
  EXPECT_TRUE(f.has({1}) && f.has({2}));
}
TEST(Livelock, threads_that_wait_for_nobody) {
  EXPECT_EQ(kind({[] {
              while (x.load(acq) == 0) relax();
            }}),
            failure_kind::livelock);
}
TEST(Livelock, loop_without_a_pause) {
  EXPECT_EQ(kind({[] { x.store(1, rel); },
                  [] {
                    while (x.load(acq) != 2) continue;
                  }}),
            failure_kind::livelock);
}
TEST(Livelock, none_in_a_loop_that_ends) {
  EXPECT_EQ(kind({[] {
              for (int i = 0; i < 500; ++i) (void)x.load(acq);
            }}),
            failure_kind::none);
}
TEST(Livelock, none_while_somebody_will_write) {
  EXPECT_EQ(kind({[] {
                    while (x.load(acq) == 0) relax();
                    y.store(1, rel);
                  },
                  [] {
                    x.store(1, rel);
                    while (y.load(acq) == 0) relax();
                  }}),
            failure_kind::none);
}

// ---- deadlines --------------------------------------------------------------------------------

TEST(TimedWait, may_expire_and_may_not) {
  const found f =
      explore({[] { r[0] = x.await(1, acq, on->ticks() + 100) + 1; }, [] { x.store(1, rel); }});
  EXPECT_TRUE(f.has({1}) && f.has({2}));
}
TEST(TimedWait, expires_when_nothing_else_can_happen) {
  const found f =
      explore({[] { r[0] = x.await(1, acq, on->ticks() + 100) + 1; }}, with("timeouts=0,jumps=0"));
  EXPECT_EQ(f.how.how, result::passed);
  EXPECT_TRUE(f.has({1}));
}
TEST(Park, wakes_spuriously_unless_told_otherwise) {
  const std::vector<body> program = {[] {
                                       x.park(0);
                                       check(x.load(acq) == 1);
                                     },
                                     [] {
                                       x.store(1, rel);
                                       x.wake();
                                     }};
  EXPECT_EQ(kind(program, with("spurious=0")), failure_kind::none);
  EXPECT_EQ(kind(program), failure_kind::check);
}
TEST(Park, no_spurious_wake_up_saves_who_is_not_woken) {
  const std::vector<body> program = {[] {
                                       while (x.load(acq) == 0) x.park(0);
                                     },
                                     [] { x.store(1, rel); }};
  EXPECT_EQ(kind(program), failure_kind::deadlock);
  EXPECT_EQ(kind(program, with("spurious=3")), failure_kind::deadlock);
}
TEST(CompareExchange, fails_without_a_reason_if_it_is_weak) {
  const auto once = [](bool weak) {
    return std::vector<body>{[=] { check(x.cas(0, 1, rlx, rlx, weak)); }};
  };
  EXPECT_EQ(kind(once(false)), failure_kind::none);
  EXPECT_EQ(kind(once(true)), failure_kind::check);
  EXPECT_EQ(kind(once(true), with("spurious=0")), failure_kind::none);
}

// ---- the heap ---------------------------------------------------------------------------------

const auto block = [] { return reinterpret_cast<std::uintptr_t>(&z.value); };

TEST(Heap, access_after_release_and_unordered_release) {
  // The lock is freed by the thread that sees the section over; the other may still touch it.
  const auto run = [](bool touch_after) {
    return kind({[=] {
                   z.store(1, rel);
                   x.store(1, rel);
                   if (touch_after) z.load(rlx);
                 },
                 [] {
                   x.await(1, acq);
                   on->freed(block(), 4, line(20));
                 }});
  };
  EXPECT_EQ(run(false), failure_kind::none);
  const failure_kind found = run(true);
  EXPECT_TRUE(found == failure_kind::use_after_free || found == failure_kind::race);
}
TEST(Heap, use_after_free_and_double_free) {
  EXPECT_EQ(kind({[] {
              on->freed(block(), 4, line(20));
              z.load(rlx);
            }}),
            failure_kind::use_after_free);
  EXPECT_EQ(kind({[] {
              on->freed(block(), 4, line(20));
              on->freed(block(), 4, line(21));
            }}),
            failure_kind::double_free);
  EXPECT_EQ(kind({[] {
              on->freed(block(), 4, line(20));
              on->allocated(block(), 4, line(22));
              z.store(1, rlx);
            }}),
            failure_kind::none);
}

// ---- verdicts ---------------------------------------------------------------------------------

const std::vector<body> rarely_wrong = {[] {
                                          x.store(1, rlx);
                                          r[0] = y.load(rlx);
                                          z.add(1, acq_rel);
                                        },
                                        [] {
                                          y.store(1, rlx);
                                          r[1] = x.load(rlx);
                                          z.add(1, acq_rel);
                                        },
                                        [] {
                                          z.await(2, acq);
                                          check(r[0] + r[1] != 0);
                                        }};

TEST(Verdict, a_failure_can_be_repeated_by_its_schedule) {
  const found first = explore(rarely_wrong);
  ASSERT_EQ(first.how.how, result::failed);
  options o;
  o.schedule = first.how.what.schedule;
  const found again = explore(rarely_wrong, o);
  EXPECT_EQ(again.how.what.kind, failure_kind::check);
  EXPECT_EQ(again.how.executions, 1u);
  EXPECT_EQ(again.how.what.schedule, first.how.what.schedule);
}
TEST(Verdict, a_schedule_that_does_not_fit_is_said) {
  options o;
  o.schedule = "3*50";
  EXPECT_EQ(explore(rarely_wrong, o).how.what.kind, failure_kind::divergence);
}
TEST(Verdict, a_limit_is_no_pass) {
  const std::vector<body> program = {[] { x.add(1, rlx); }, [] { x.add(1, rlx); },
                                     [] { x.add(1, rlx); }};
  EXPECT_EQ(explore(program).how.how, result::passed);
  const verdict few = explore(program, with("executions=2")).how;
  EXPECT_EQ(few.how, result::bounded);
  EXPECT_EQ(few.executions, 2u);
  EXPECT_EQ(few.status(), 3);
  EXPECT_EQ(explore(program, with("steps=2")).how.how, result::bounded);
  const std::vector<body> longer = {[] { x.add(1, rlx), x.add(1, rlx); },
                                    [] { x.add(1, rlx), x.add(1, rlx); }};
  EXPECT_EQ(explore(longer, with("preemptions=0")).how.how, result::bounded);
  EXPECT_EQ(explore(longer, with("preemptions=9")).how.how, result::passed);
}
TEST(Verdict, random_scheduling_finds_it_too_and_is_bounded_otherwise) {
  const found f = explore(rarely_wrong, with("random=7,executions=5000"));
  EXPECT_EQ(f.how.how, result::failed);
  const found none =
      explore({[] { x.add(1, rlx); }, [] { x.add(1, rlx); }}, with("random=7,executions=100"));
  EXPECT_EQ(none.how.how, result::bounded);
  EXPECT_EQ(none.how.executions, 100u);
}
TEST(Verdict, weakening_an_order_is_found) {
  const std::vector<body> program = {[] {
                                       a.write(1);
                                       x.store(1, rel, 100);
                                     },
                                     [] {
                                       if (x.load(acq, 101) == 1) a.read();
                                     }};
  EXPECT_EQ(explore(program).how.how, result::passed);
  options o;
  for (o.weaken = 1; o.weaken <= 2; ++o.weaken)
    EXPECT_EQ(explore(program, o).how.what.kind, failure_kind::race);
  o.weaken = 3;
  EXPECT_EQ(explore(program, o).how.how, result::passed);
}
TEST(Verdict, the_report_names_steps_and_schedule) {
  const found f = explore(rarely_wrong);
  const std::string text = syncopate::explored::describe(f.how.what);
  EXPECT_NE(text.find("failed check: check failed"), std::string::npos) << text;
  EXPECT_NE(text.find("(old: 1 newer, this one from the start)"), std::string::npos) << text;
  EXPECT_NE(text.find("SYNCOPATE_SCHEDULE='" + f.how.what.schedule + "'"), std::string::npos);
  EXPECT_NE(text.find("thread 3 runs"), std::string::npos) << text;
}
TEST(Verdict, options_are_checked) {
  options o;
  EXPECT_EQ(syncopate::explored::parse("executions=10,preemptions=2,progress", o), "");
  EXPECT_EQ(o.executions, 10u);
  EXPECT_EQ(o.preemptions, 2);
  EXPECT_EQ(syncopate::explored::parse("executons=10", o), "there is no option executons");
  EXPECT_EQ(syncopate::explored::parse("steps=many", o), "steps=many is not a number");
  EXPECT_EQ(syncopate::explored::parse("steps=0", o), "steps must not be 0");
  // (Not as 0, and not as 2.)
  EXPECT_EQ(syncopate::explored::parse("timeouts=4294967296", o),
            "timeouts=4294967296 is not whole, or too large");
  EXPECT_EQ(syncopate::explored::parse("jumps=2.5", o), "jumps=2.5 is not whole, or too large");
  EXPECT_EQ(syncopate::explored::parse("steps=inf", o), "steps=inf is not whole, or too large");
  syncopate::explored::options large;
  EXPECT_EQ(syncopate::explored::parse("seconds=2.5,random=9007199254740992", large), "");
  EXPECT_EQ(syncopate::explored::parse("seconds=", o), "seconds has no value");
}

}  // namespace
