// record_gaps_test.cpp -- what the recorder says of the time between two sections of a thread.
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <chrono>
#include <thread>

#include "record_support.h"

namespace record_test {
namespace {

constexpr unsigned rounds = 200;  // of them, each sixteenth is sampled
constexpr std::uint64_t measured = rounds / record::first_period * record::first_period;

record::wait_row row_of(const contents& c, record::wait_kind kind) {
  record::wait_row sum{};
  for (const auto& row : c.rows)
    if (row.item.kind == static_cast<std::uint32_t>(kind)) {
      sum.waits += row.item.waits;
      sum.wait_sum += row.item.wait_sum;
    }
  return sum;
}

double seconds(const contents& c, std::uint64_t ticks) {
  return static_cast<double>(ticks) / static_cast<double>(c.header.ticks_per_second);
}

double processor_seconds() {
  return static_cast<double>(record::cpu_time(CLOCK_THREAD_CPUTIME_ID)) * 1e-9;
}

// Rounds of a section and then `between`; what the record says of them.
template <class Between>
contents recorded(Between between) {
  scratch dir;
  const int status = in_child([&] {
    static object one;
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    for (unsigned i = 0; i < rounds; ++i) {
      one.wanted();
      one.uncontended_round();
      between();
    }
    one.wanted();
    record::finish();
    return 0;
  });
  EXPECT_EQ(status, 0);
  return read_record(dir.file());
}

void work_for(double length) {
  const double until = processor_seconds() + length;
  while (processor_seconds() < until) {
  }
}

TEST(RecordGaps, StandForAllSectionsButTheFirst) {
  const contents c = recorded([] {});
  const record::wait_row outside = row_of(c, record::wait_kind::outside);
  EXPECT_LE(outside.waits, measured);  // without those that were interrupted
  EXPECT_GE(outside.waits, measured / 2);
  EXPECT_EQ(row_of(c, record::wait_kind::away).waits, 0);
  EXPECT_LE(row_of(c, record::wait_kind::inside).waits, measured);
}

TEST(RecordGaps, WorkIsMeasured) {
  constexpr double length = 200e-6;
  const contents c = recorded([] { work_for(length); });
  const record::wait_row outside = row_of(c, record::wait_kind::outside);
  ASSERT_GT(outside.waits, 0);
  EXPECT_GE(seconds(c, outside.wait_sum), length * static_cast<double>(outside.waits));
}

TEST(RecordGaps, SleepIsNoWork) {
  constexpr auto nap = std::chrono::milliseconds(2);
  const contents c = recorded([=] { std::this_thread::sleep_for(nap); });
  const record::wait_row outside = row_of(c, record::wait_kind::outside),
                         away = row_of(c, record::wait_kind::away);
  ASSERT_GT(away.waits, 0);
  // What falling asleep and waking takes of a processor is some of a nap at most.
  EXPECT_GE(seconds(c, away.wait_sum), 1.5e-3 * static_cast<double>(away.waits));
  EXPECT_LT(seconds(c, outside.wait_sum), 1e-3 * static_cast<double>(measured));
}

TEST(RecordGaps, AWaitElsewhereIsNoWorkEvenIfItSpins) {
  constexpr double length = 200e-6;
  const contents c = recorded([] {
    static object other;
    record::wait w = record::wait_begin(record::wait_kind::mutex, other.id(), 0);
    work_for(length);
    record::wait_end(w, &other);
    record::released(&other, other.slot, true);
  });
  const record::wait_row outside = row_of(c, record::wait_kind::outside),
                         away = row_of(c, record::wait_kind::away);
  ASSERT_GT(away.waits, 0);
  EXPECT_GE(seconds(c, away.wait_sum), length * static_cast<double>(away.waits));
  EXPECT_LT(seconds(c, outside.wait_sum), seconds(c, away.wait_sum));
}

}  // namespace
}  // namespace record_test
