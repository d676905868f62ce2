// duplicate_filter: what stays in a log, how long it gets, and that it keeps away where there is
// nothing to find.
#include "tm/logs/duplicates.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

namespace {

using syncopate::tm::buffer;
using syncopate::tm::duplicate_filter;
using syncopate::tm::u64;

using log_of_numbers = buffer<u64>;
constexpr std::size_t first = log_of_numbers::first_capacity;

class logged {
 public:
  logged() = default;
  ~logged() { std::free(log.begin()); }  // transactions keep theirs for good
  logged(const logged&) = delete;
  logged& operator=(const logged&) = delete;

  void add(u64 number) {
    const bool has_room = !log.is_full() || filter.make_room(log, [](u64 n) { return n; });
    ASSERT_TRUE(has_room);
    ASSERT_FALSE(log.is_full());
    log.push_unchecked(number);
  }
  [[nodiscard]] std::set<u64> distinct() { return {log.begin(), log.end()}; }

  log_of_numbers log;
  duplicate_filter filter;
};

TEST(Duplicates, RepeatedReadsDoNotLengthenTheLog) {
  logged reads;
  for (u64 i = 0; i < 100 * first; ++i) reads.add(i % 100);
  EXPECT_LE(reads.log.size(), first);
  EXPECT_EQ(reads.distinct().size(), 100U);
}

TEST(Duplicates, NothingThatWasReadIsLost) {
  logged reads;
  for (u64 i = 0; i < 40 * first; ++i) reads.add(i * i % (7 * first));
  std::set<u64> expected;
  for (u64 i = 0; i < 40 * first; ++i) expected.insert(i * i % (7 * first));
  EXPECT_EQ(reads.distinct(), expected);
  EXPECT_LE(reads.log.size(), 16 * first);
}

TEST(Duplicates, ALogWithoutAnyGrows) {
  logged reads;
  for (u64 i = 0; i < 50 * first; ++i) reads.add(i);
  EXPECT_EQ(reads.log.size(), 50 * first);
  EXPECT_EQ(reads.distinct().size(), 50 * first);
}

TEST(Duplicates, ALongLogStartsShortAgain) {
  logged reads;
  for (u64 i = 0; i < 50 * first; ++i) reads.add(i);
  for (int round = 0; round < 100; ++round) {  // until the filter looks again
    reads.log.clear_to_first();
    for (u64 i = 0; i < 4 * first; ++i) reads.add(i % 10);
  }
  EXPECT_LE(reads.log.size(), first);
  EXPECT_EQ(reads.distinct().size(), 10U);
}

}  // namespace
