// record_usage_test.cpp -- of sampled waits the record tells whether their thread slept or spun.
#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <functional>
#include <thread>

#include "record_support.h"

namespace record_test {
namespace {

std::uint64_t thread_cpu_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// The only event of a recording with one wait that does this.
record::event event_of(const std::function<void()>& waiting) {
  scratch dir;
  const int status = in_child([&] {
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    record::wait w = record::wait_begin(record::wait_kind::condition, 0, 0);
    waiting();
    record::wait_end_now(w);
    record::finish();
    return 0;
  });
  EXPECT_EQ(status, 0);
  const contents c = read_record(dir.file());
  EXPECT_EQ(c.events.size(), 1u);
  return c.events.empty() ? record::event{} : c.events[0].item;
}

TEST(RecordUsage, AThreadThatSpinsUsesItsProcessor) {
  const auto spin = [] {
    for (const std::uint64_t until = thread_cpu_ns() + 5'000'000; thread_cpu_ns() < until;) {
    }
  };
  const record::event e = event_of(spin);
  EXPECT_GT(e.on_processor, 0u);
  EXPECT_LE(e.on_processor, e.end - e.start);
  // 5 ms at no less than 100 MHz.
  EXPECT_GE(e.on_processor, 500'000u);
}

TEST(RecordUsage, AThreadThatSleepsLeavesItsProcessor) {
  const record::event e =
      event_of([] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); });
  EXPECT_GT(e.on_processor, 0u);
  EXPECT_LT(e.on_processor, (e.end - e.start) / 4);
  EXPECT_GE(e.sleeps, 1u);
}

}  // namespace
}  // namespace record_test
