// record_gaps_test.cpp -- what the recorder says of the time between two sections of a thread.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
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

// What the program itself sees of its rounds, for bounds that do not depend on the machine's load.
struct seen {
  double longest_work;        // seconds of a gap in which the thread had a processor
  std::uint64_t preemptions;  // how often it lost its processor
};

struct stamp {
  double clock, processor;
  long switches, preemptions;
};

stamp stamp_now() {
  rusage used{};
  ::getrusage(RUSAGE_THREAD, &used);
  const auto clock = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration<double>(clock).count(), processor_seconds(),
          used.ru_nvcsw + used.ru_nivcsw, used.ru_nivcsw};
}

// Less than 1 % between two clocks, and what reading them takes.
constexpr double clocks_differ = 1.01, clocks_take = 5e-6;

// Of a thread that kept its processor, the clock's time; else the processor's.
double work_between(const stamp& a, const stamp& b) {
  const bool kept = a.switches == b.switches;
  const double work = kept ? b.clock - a.clock : b.processor - a.processor;
  return work * clocks_differ + clocks_take;
}

struct told {
  contents record;
  seen program;
};

// Rounds of a section and then `between`, which returns for how many seconds it had a processor
// but was not at work; what the record says of them.
template <class Between>
told recorded(Between between) {
  scratch dir;
  void* const shared =
      ::mmap(nullptr, sizeof(seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(shared, MAP_FAILED);
  auto& program = *static_cast<seen*>(shared);
  const int status = in_child([&] {
    static object one;
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    const stamp first = stamp_now();
    double no_work = 0;
    stamp before{};
    for (unsigned i = 0; i <= rounds; ++i) {
      const stamp here = stamp_now();
      one.wanted();
      if (i == rounds) break;
      one.uncontended_round();
      const stamp after = stamp_now();
      if (i != 0)  // from before the section that the gap follows to behind the one that ends it
        program.longest_work =
            std::max(program.longest_work, work_between(before, after) - no_work);
      before = here;
      no_work = between();
    }
    program.preemptions = static_cast<std::uint64_t>(stamp_now().preemptions - first.preemptions);
    record::finish();
    return 0;
  });
  EXPECT_EQ(status, 0);
  told found{read_record(dir.file()), program};
  ::munmap(shared, sizeof(seen));
  return found;
}

double work_for(double length) {
  const double begun = processor_seconds();
  double now = begun;
  while (now < begun + length) now = processor_seconds();
  return now - begun;
}

double limit(const told& t, const record::wait_row& row) {
  return t.program.longest_work * static_cast<double>(row.waits);
}

// A short gap in which the thread lost its processor may be left out.
void expect_all(const told& t, const record::wait_row& row) {
  EXPECT_LE(row.waits, measured);
  EXPECT_GE(row.waits + record::first_period * t.program.preemptions, measured);
}

TEST(RecordGaps, StandForAllSectionsButTheFirst) {
  const told t = recorded([] { return 0.0; });
  const record::wait_row outside = row_of(t.record, record::wait_kind::outside);
  expect_all(t, outside);
  EXPECT_EQ(row_of(t.record, record::wait_kind::away).waits, 0);
  EXPECT_LE(row_of(t.record, record::wait_kind::inside).waits, measured);
}

TEST(RecordGaps, WorkIsMeasured) {
  constexpr double length = 200e-6;
  const told t = recorded([] {
    work_for(length);
    return 0.0;
  });
  const record::wait_row outside = row_of(t.record, record::wait_kind::outside);
  ASSERT_EQ(outside.waits, measured);
  EXPECT_GE(seconds(t.record, outside.wait_sum), length * static_cast<double>(outside.waits));
  EXPECT_LE(seconds(t.record, outside.wait_sum), limit(t, outside));
}

TEST(RecordGaps, SleepIsNoWork) {
  constexpr double nap = 2e-3;
  const told t = recorded([=] {
    std::this_thread::sleep_for(std::chrono::duration<double>(nap));
    return 0.0;
  });
  const record::wait_row outside = row_of(t.record, record::wait_kind::outside),
                         away = row_of(t.record, record::wait_kind::away);
  expect_all(t, away);
  EXPECT_GE(seconds(t.record, away.wait_sum),
            (nap - t.program.longest_work) * static_cast<double>(away.waits));
  EXPECT_LE(seconds(t.record, outside.wait_sum), limit(t, outside));
}

TEST(RecordGaps, AWaitElsewhereIsNoWorkEvenIfItSpins) {
  constexpr double length = 200e-6;
  const told t = recorded([] {
    static object other;
    record::wait w = record::wait_begin(record::wait_kind::mutex, other.id(), 0);
    const double waited = work_for(length);
    record::wait_end(w, &other);
    record::released(&other, other.slot, true);
    return waited;
  });
  const record::wait_row outside = row_of(t.record, record::wait_kind::outside),
                         away = row_of(t.record, record::wait_kind::away);
  expect_all(t, away);
  EXPECT_GE(seconds(t.record, away.wait_sum), length * static_cast<double>(away.waits));
  EXPECT_LE(seconds(t.record, outside.wait_sum), limit(t, outside));
}

}  // namespace
}  // namespace record_test
