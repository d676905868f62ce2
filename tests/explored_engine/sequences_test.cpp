// Release sequences: since C++20 and C23 through read-modify-writes only, before that also through
// later stores of the thread that began them, as long as no other thread's store stands in between.
#include <gtest/gtest.h>

#include "model.h"

namespace {
using namespace model;

void release_then_relaxed(bool older) {
  x.store(1, rlx);
  if (older) y.store_17(1, rel);
  else y.store(1, rel);
  if (older) y.store_17(2, rlx);
  else y.store(2, rlx);
}
void acquire_and_look() {
  r[0] = y.load(acq);
  r[1] = x.load(rlx);
}

TEST(ReleaseSequences, own_later_store_is_in_it_until_cxx17) {
  EXPECT_TRUE(explore({[] { release_then_relaxed(false); }, acquire_and_look}).has({2, 0}));
  const found f = explore({[] { release_then_relaxed(true); }, acquire_and_look});
  EXPECT_FALSE(f.has({2, 0}));
  EXPECT_TRUE(f.has({2, 1}) && f.has({0, 0}) && f.has({1, 1}) && f.has({0, 1}));
  EXPECT_FALSE(f.how.withheld.sequences);
}

TEST(ReleaseSequences, store_of_another_thread_ends_it) {
  for (const bool older : {false, true}) {
    const found f = explore({[] { release_then_relaxed(true); },
                             [=] {
                               if (older) y.store_17(3, rlx);
                               else y.store(3, rlx);
                             },
                             acquire_and_look});
    EXPECT_TRUE(f.has({2, 0})) << "1, 3, 2 is the modification order";
    EXPECT_TRUE(f.has({3, 0})) << "3 is in nobody's";
    EXPECT_FALSE(f.has({1, 0}));
    EXPECT_FALSE(f.how.withheld.sequences);
  }
}

TEST(ReleaseSequences, read_modify_write_of_another_thread_does_not_end_it) {
  const found f =
      explore({[] { release_then_relaxed(true); }, [] { y.add(10, rlx); }, acquire_and_look});
  for (const int y_value : {1, 11, 2, 12}) EXPECT_FALSE(f.has({y_value, 0})) << y_value;
  EXPECT_TRUE(f.has({12, 1}) && f.has({11, 1}) && f.has({2, 1}));
}

// The read-modify-write stands behind the store that the other one has cut off.
TEST(ReleaseSequences, what_follows_the_broken_store_is_broken_too) {
  const found f = explore({[] { release_then_relaxed(true); }, [] { y.store(3, rlx); },
                           [] {
                             r[0] = y.add(10, acq);
                             r[1] = x.load(rlx);
                           }});
  EXPECT_TRUE(f.has({2, 0}));
  EXPECT_FALSE(f.has({1, 0}));
}

TEST(ReleaseSequences, another_threads_store_does_not_continue_it) {
  const found f = explore({[] {
                             x.store(1, rlx);
                             y.store_17(1, rel);
                           },
                           [] {
                             if (y.load(rlx) == 1) y.store_17(2, rlx);
                           },
                           acquire_and_look});
  EXPECT_TRUE(f.has({2, 0}));
}

TEST(ReleaseSequences, by_fences) {
  const found f = explore({[] {
                             x.store(1, rlx);
                             y.store_17(1, rel);
                             y.store_17(2, rlx);
                           },
                           [] {
                             r[0] = y.load(rlx);
                             fence(acq);
                             r[1] = x.load(rlx);
                           }});
  EXPECT_FALSE(f.has({2, 0}));
}

TEST(ReleaseSequences, races_are_judged_by_them) {
  const auto publishes = [](bool older) {
    return explore({[=] {
                      a.write(1);
                      if (older) {
                        y.store_17(1, rel);
                        y.store_17(2, rlx);
                      } else {
                        y.store(1, rel);
                        y.store(2, rlx);
                      }
                    },
                    [] {
                      if (y.load(acq) == 2) a.write(2);
                    }});
  };
  EXPECT_EQ(publishes(true).how.how, result::passed);
  EXPECT_EQ(publishes(false).how.what.kind, failure_kind::race);
}

// A store that breaks a sequence, and follows from a read of what the sequence had reached: the
// reader would have to know before. The verdict says that this is left out.
TEST(ReleaseSequences, one_that_breaks_later_is_told_of) {
  const found f = explore({[] { release_then_relaxed(true); },
                           [] {
                             r[0] = y.load(acq);
                             z.store(1, rlx);
                           },
                           [] {
                             if (z.load(rlx) == 1) y.store(3, rlx);
                           }});
  EXPECT_TRUE(f.how.withheld.sequences);
}

// A thread that reads its own store learns nothing: another's may still come to stand before it.
TEST(ReleaseSequences, own_read_keeps_nobody_out) {
  const auto reads_its_own = [](bool rmw) {
    y.store_17(1, rel);
    y.store_17(2, rlx);
    r[0] = rmw ? y.add(0, rlx) : y.load(rlx);
  };
  for (const bool rmw : {false, true}) {
    const found f = explore({[=] { reads_its_own(rmw); }, [] { y.store(3, rlx); },
                             [] {
                               r[1] = y.load(rlx);
                               r[2] = y.load(rlx);
                             }});
    EXPECT_TRUE(f.has({2, 1, 3}) && f.has({2, 3, 2})) << "1, 3, 2";
    EXPECT_FALSE(f.how.withheld.sequences);
  }
}

TEST(ReleaseSequences, every_order_finds_the_same) {
  const std::vector<body> threads{[] { release_then_relaxed(true); }, [] { y.store(3, rel); },
                                  acquire_and_look};
  EXPECT_EQ(explore(threads).outcomes, explore(threads, with("every_order")).outcomes);
}

}  // namespace
