// Hardware transactions: what others see of them, how they abort, what they are ordered with.
#include <gtest/gtest.h>

#include <algorithm>

#include "model.h"
#include "model/explored/report/report.h"

namespace {
using namespace model;
using htm::cause;
using htm::mode;

failure_kind kind(const std::vector<body>& threads, const options& o = {}) {
  return explore(threads, o).how.what.kind;
}
const options no_aborts = with("aborts=0");

// Runs `what` in one transaction, again until it commits.
template <class What>
void atomically(What what) {
  while (!begin().started()) {
  }
  what();
  commit();
}

// ---- begin and end ----------------------------------------------------------------------------

TEST(Transaction, commits_as_one_step) {
  const found f = explore({[] { atomically([] { x.store(1, rlx), y.store(1, rlx); }); },
                           [] { atomically([] { r[0] = x.load(rlx), r[1] = y.load(rlx); }); }});
  ASSERT_EQ(f.how.how, result::passed);
  EXPECT_TRUE(f.has({0, 0}));
  EXPECT_TRUE(f.has({1, 1}));
  EXPECT_EQ(f.outcomes.size(), 2u);
}
TEST(Transaction, an_observer_outside_sees_all_of_it_or_nothing) {
  const found f = explore({[] { atomically([] { x.store(1, rlx), y.store(1, rlx); }); },
                           [] { r[0] = y.load(acq), r[1] = x.load(rlx); }});
  ASSERT_EQ(f.how.how, result::passed);
  EXPECT_FALSE(f.has({1, 0}));
  EXPECT_TRUE(f.has({0, 1}));  // two loads: the transaction in between
}
TEST(Transaction, reads_the_newest_value) {
  const found f = explore({[] { x.store(1, rlx), y.store(1, rlx); },
                           [] {
                             if (y.load(rlx) == 1) atomically([] { r[0] = 1 + x.load(rlx); });
                           }},
                          no_aborts);
  EXPECT_TRUE(f.has({2}));
  EXPECT_FALSE(f.has({1}));  // the store of x was made before: not stale
}
TEST(Transaction, leaves_nothing_behind_when_it_aborts) {
  const found f = explore({[] {
                            volatile int on_stack = 1;
                            x.store(1, rlx);
                            const htm::status s = begin();
                            if (s.started()) {
                              x.store(2, rlx);
                              a.write(2);
                              on_stack = 2;
                              abort(7);
                            }
                            r[0] = static_cast<int>(s.why);
                            r[1] = s.code;
                            r[2] = x.load(rlx);
                            r[3] = a.read();
                            r[4] = on_stack;
                          }},
                          no_aborts);
  ASSERT_EQ(f.how.how, result::passed);
  EXPECT_EQ(f.outcomes.size(), 1u);
  EXPECT_TRUE(f.has({static_cast<int>(cause::explicit_), 7, 1, 0, 1}));
}
TEST(Transaction, aborts_for_every_cause_as_often_as_allowed) {
  const auto program = [] {
    for (int i = 0; i < 3; ++i)
      if (const htm::status s = begin(); s.started()) commit();
      else r[static_cast<std::size_t>(s.why)] += 1;
  };
  constexpr auto conflict = static_cast<std::size_t>(cause::conflict),
                 capacity = static_cast<std::size_t>(cause::capacity),
                 other = static_cast<std::size_t>(cause::other);
  EXPECT_EQ(explore({program}, no_aborts).outcomes.size(), 1u);
  const found once = explore({program}, with("aborts=1"));
  EXPECT_EQ(once.outcomes.size(), 4u);
  EXPECT_EQ(once.how.executions, 10u);
  for (const std::size_t why : {conflict, capacity, other})
    EXPECT_TRUE(std::any_of(once.outcomes.begin(), once.outcomes.end(),
                            [=](const auto& o) { return o[why] == 1; }));
  EXPECT_EQ(explore({program}, with("aborts=3")).how.executions, 64u);
}
TEST(Transaction, nested_ones_are_part_of_the_outermost) {
  const found f = explore({[] {
                            const htm::status s = begin();
                            if (s.started()) {
                              x.store(1, rlx);
                              if (begin().started()) {
                                y.store(1, rlx);
                                commit();
                                check(on->in_transaction());
                              }
                              if (begin().started()) abort(3);
                            }
                            r[1] = s.nested;
                            r[2] = s.code;
                          }},
                          no_aborts);
  EXPECT_EQ(f.outcomes.size(), 1u);
  EXPECT_TRUE(f.has({0, 1, 3}));
  EXPECT_EQ((*f.outcomes.begin())[8], 0);
}
TEST(Transaction, commit_outside_of_one_faults) {
  EXPECT_EQ(kind({[] { commit(); }}), failure_kind::crash);
}
TEST(Transaction, abort_outside_of_one_does_nothing) {
  EXPECT_EQ(kind({[] { abort(1); }}), failure_kind::none);
}
TEST(Transaction, waiting_inside_ends_it) {
  const auto why = [](const body& wait) {
    const found f = explore({[&] {
                               const htm::status s = begin();
                               if (s.started()) {
                                 wait();
                                 commit();
                               }
                               r[0] = static_cast<int>(s.why);
                             },
                             [] { x.store(1, rel); }},
                            no_aborts);
    EXPECT_EQ(f.how.how, result::passed);
    std::set<int> all;
    for (const auto& o : f.outcomes) all.insert(o[0]);
    return all;
  };
  const int done = static_cast<int>(cause::started), ended = static_cast<int>(cause::other);
  EXPECT_EQ(why([] { x.await(1, acq); }), (std::set{done, ended}));
  EXPECT_EQ(why([] { x.park(0); }), std::set{ended});
  EXPECT_EQ(why([] { x.wake(); }), std::set{ended});
  EXPECT_EQ(why([] { relax(); }), std::set{ended});
  // By the store that it polls for.
  EXPECT_EQ(why([] {
              while (x.load(acq) == 0) {
              }
            }),
            (std::set{done, static_cast<int>(cause::conflict)}));
}
TEST(Transaction, machine_without_them) {
  const found f = explore({[] { r[0] = static_cast<int>(begin().why); }}, with("htm=0"));
  EXPECT_TRUE(f.has({static_cast<int>(cause::other)}));
  EXPECT_EQ(f.how.executions, 1u);
}

// ---- always abort -----------------------------------------------------------------------------

TEST(AlwaysAbort, never_commits) {
  const found f = explore({[] {
    if (begin(mode::always_abort).started()) {
      x.store(1, rlx);
      commit();
      r[0] = 1;
    }
    r[1] = x.load(rlx);
  }});
  EXPECT_EQ(f.outcomes.size(), 1u);
  EXPECT_TRUE(f.has({0, 0}));
}
TEST(AlwaysAbort, what_it_finds_is_no_failure) {
  const auto ahead = [](const body& what) {
    return kind({[] { a.write(1); },
                 [&] {
                   if (begin(mode::always_abort).started()) {
                     what();
                     commit();
                   }
                 }});
  };
  EXPECT_EQ(ahead([] { a.write(2); }), failure_kind::none);
  EXPECT_EQ(ahead([] { check(false); }), failure_kind::none);
}

// ---- races ------------------------------------------------------------------------------------

TEST(TransactionRace, transactions_do_not_race) {
  const auto add = [] { atomically([] { a.write(a.read() + 1); }); };
  const found f = explore({add, add, add});
  EXPECT_EQ(f.how.how, result::passed);
  EXPECT_EQ(a.value, 3);
}
TEST(TransactionRace, with_a_plain_access_outside) {
  EXPECT_EQ(kind({[] { atomically([] { a.write(1); }); }, [] { a.read(); }}), failure_kind::race);
  EXPECT_EQ(kind({[] { atomically([] { a.read(); }); }, [] { a.write(1); }}), failure_kind::race);
  EXPECT_EQ(kind({[] { atomically([] { a.read(); }); }, [] { a.read(); }}), failure_kind::none);
}
TEST(TransactionRace, publication) {
  EXPECT_EQ(kind({[] { atomically([] { a.write(1), x.store(1, rlx); }); },
                  [] {
                    if (x.load(acq) == 1) a.read();
                  }}),
            failure_kind::none);
  EXPECT_EQ(kind({[] { a.write(1), x.store(1, rel); },
                  [] {
                    atomically([] {
                      if (x.load(rlx) == 1) a.read();
                    });
                  }}),
            failure_kind::none);
  EXPECT_EQ(kind({[] { a.write(1), x.store(1, rlx); },
                  [] {
                    atomically([] {
                      if (x.load(rlx) == 1) a.read();
                    });
                  }}),
            failure_kind::race);
}

// A lock word x, elided by one thread and taken by the other.
failure_kind elided(const body& section_of_transaction, const body& take) {
  return kind({[&] {
                 if (!begin().started()) return;
                 section_of_transaction();
                 commit();
               },
               [&] {
                 take();
                 a.write(a.read() + 1);
                 x.store(0, rel);
               }});
}
void add_if_free() {
  if (x.load(rlx) != 0) abort(1);
  a.write(a.read() + 1);
}
TEST(Elision, locked_instruction_comes_after_transactions_that_read_the_word) {
  EXPECT_EQ(elided(add_if_free, [] { x.exchange(1, acq); }), failure_kind::none);
  EXPECT_EQ(elided(add_if_free, [] { x.cas(0, 1, acq); }), failure_kind::none);
  EXPECT_EQ(elided(add_if_free, [] { x.store(1, sc); }), failure_kind::none);
}
TEST(Elision, a_store_may_wait_in_the_store_buffer) {
  EXPECT_EQ(elided(add_if_free, [] { x.store(1, rel); }), failure_kind::race);
}
TEST(Elision, without_subscription) {
  EXPECT_EQ(elided([] { a.write(a.read() + 1); }, [] { x.exchange(1, acq); }), failure_kind::race);
}
TEST(Elision, subscription_at_the_end) {
  EXPECT_EQ(elided(
                [] {
                  a.write(a.read() + 1);
                  if (x.load(rlx) != 0) abort(1);
                },
                [] { x.exchange(1, acq); }),
            failure_kind::race);
}
TEST(Elision, zombies_are_found_without_races_by_their_checks) {
  // y == z whenever x is 0; all atomic, so that nothing races.
  const auto holder = [] {
    x.exchange(1, acq);
    y.store(1, rlx), z.store(1, rlx);
    x.store(0, rel);
  };
  const auto eager = [] {
    if (!begin().started()) return;
    if (x.load(rlx) != 0) abort(1);
    check(y.load(rlx) == z.load(rlx));
    commit();
  };
  const auto lazy = [] {
    if (!begin().started()) return;
    check(y.load(rlx) == z.load(rlx));
    if (x.load(rlx) != 0) abort(1);
    commit();
  };
  EXPECT_EQ(kind({holder, eager}), failure_kind::none);
  EXPECT_EQ(kind({holder, lazy}), failure_kind::check);
}
TEST(Elision, ends_with_a_full_fence) {
  // Store buffering, one side by a transaction.
  const auto side = [](var& mine, var& other, std::size_t seen) {
    atomically([&] { mine.store(1, rlx); });
    r[seen] = other.load(rlx);
  };
  const found f = explore({[&] { side(x, y, 0); },
                           [] {
                             y.store(1, rlx);
                             fence(sc);
                             r[1] = x.load(rlx);
                           }},
                          no_aborts);
  EXPECT_FALSE(f.has({0, 0}));
  EXPECT_TRUE(f.has({1, 1}));
}
TEST(Elision, waiting_by_transactions_ends) {
  const found f = explore({[] {
                             for (;;) {
                               if (begin().started()) {
                                 const int seen = x.load(rlx);
                                 commit();
                                 if (seen == 1) break;
                               }
                               relax();
                             }
                           },
                           [] { x.store(1, rel); }},
                          no_aborts);
  EXPECT_EQ(f.how.how, result::passed);
}

TEST(TransactionReport, schedule_and_text) {
  const std::vector<body> threads{[] {
    const htm::status s = begin();
    if (s.started()) {
      x.store(1, rlx);
      commit();
    }
    check(s.started() || s.why != cause::capacity);
  }};
  const found f = explore(threads);
  ASSERT_EQ(f.how.what.kind, failure_kind::check);
  EXPECT_EQ(f.how.what.schedule, "1/2");
  const std::string text = syncopate::explored::describe(f.how.what);
  EXPECT_NE(text.find("transaction aborts: capacity (at once)"), std::string::npos) << text;
  EXPECT_NE(syncopate::explored::summary(f.how, {}).find("aborts at most 2"), std::string::npos);
  options o;
  o.schedule = f.how.what.schedule;
  EXPECT_EQ(explore(threads, o).how.what.kind, failure_kind::check);
}

// A lock that is elided ends as the lock does.
TEST(Elision, ends_as_under_the_lock) {
  const auto take = [] {
    while (x.exchange(1, acq) != 0) x.await(0, rlx);
  };
  const auto section = [](int n) { a.write(a.read() * 3 + n), b.write(b.read() + 1); };
  const auto locked = [=](int n) {
    take();
    section(n);
    x.store(0, rel);
  };
  const auto elided = [=](int n) {
    if (begin().started()) {
      if (x.load(rlx) != 0) abort(1);
      section(n);
      commit();
    } else {
      locked(n);
    }
  };
  const auto ends = [](auto enter) {
    const auto by = [=](int n) {
      return [=] {
        enter(n);
        y.add(1, acq_rel);
        if (n == 1) {
          y.await(3, acq);
          r[0] = a.read(), r[1] = b.read();
        }
      };
    };
    const found f = explore({by(1), by(2), by(3)});
    EXPECT_EQ(f.how.how, result::passed) << f.how.what.text;
    std::set<std::pair<int, int>> all;
    for (const auto& o : f.outcomes) all.insert({o[0], o[1]});
    return all;
  };
  const auto under_the_lock = ends(locked);
  EXPECT_EQ(under_the_lock.size(), 6u);
  EXPECT_EQ(ends(elided), under_the_lock);
}

}  // namespace
