// The reports of a simulated run, from statistics made by hand.
#include "model/front/pthread/threads.h"
#include "model/simulated/report/report_figures.h"
#include "model/simulated/report/report_names.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

// In the place of the machine's threads, which these reports are outside of: two records.
namespace syncopate::instrument {
namespace {

alignas(64) char records[2 * sizeof(thread_record)];

}  // namespace

std::optional<std::size_t> record_with(engine::address place) {
  const std::uintptr_t offset = place - reinterpret_cast<std::uintptr_t>(records);
  if (offset >= sizeof records) return std::nullopt;
  return offset / sizeof(thread_record);
}

bool is_end_of_thread(engine::address word) {
  return record_with(word).has_value() &&
         (word - reinterpret_cast<std::uintptr_t>(records)) % sizeof(thread_record) ==
             offsetof(thread_record, ended);
}

}  // namespace syncopate::instrument

namespace syncopate::simulated {
namespace {

TEST(Names, OfTheRecordsOfThreads) {
  const auto begin = reinterpret_cast<std::uintptr_t>(instrument::records);
  const std::uintptr_t second = begin + sizeof(instrument::thread_record);
  EXPECT_EQ(wait_name(second + offsetof(instrument::thread_record, ended)),
            "end of a thread, record 1");
  EXPECT_EQ(line_name(second + 64, 64), "record 1 of threads");
  EXPECT_EQ(line_name(begin, 64), "record 0 of threads");
}

alignas(64) int watched_word[16];

statistics small_run() {
  statistics run;
  run.machine = "test-4c";
  run.hertz = 1e9;
  run.cycles = 2'000'000;
  run.finished = true;
  run.energy = {0.25, 0.125, 0.0625, 0.0625};
  run.threads.resize(2);
  run.threads[1].index = 1;
  run.threads[0].end = 2'000'000;
  run.threads[1].begin = 1'000'000;
  run.threads[1].end = 2'000'000;
  run.threads[0].cycles[static_cast<std::size_t>(activity::running)] = 2'000'000;
  run.threads[1].cycles[static_cast<std::size_t>(activity::spinning)] = 750'000;
  run.threads[1].cycles[static_cast<std::size_t>(activity::parked)] = 250'000;
  run.processors.resize(4);
  run.processors[0].memory.accesses = 1000;
  run.processors[0].memory.l1_misses = 10;

  wait_statistics wait;
  wait.address = reinterpret_cast<std::uintptr_t>(&watched_word[2]);
  wait.kind = wait_kind::await;
  wait.waits = 100;
  for (int i = 0; i < 100; ++i) wait.waited.add(1000);
  wait.most_waiters = 3;
  run.waits.push_back(wait);

  line_statistics line;
  line.what = reinterpret_cast<std::uintptr_t>(&watched_word) / 64;
  line.misses = 12345;
  run.lines.push_back(line);

  abort_statistics abort;
  abort.cause = abort_cause::write_capacity;
  abort.line = reinterpret_cast<std::uintptr_t>(&watched_word);
  abort.count = 7;
  run.aborts.push_back(abort);

  mark_statistics mark;
  mark.name = "sections \"a\"";
  mark.by_thread = {300, 100};
  mark.last = 1'000'000;
  run.marks.push_back(mark);
  run.timeline.push_back({1, 2, activity::spinning, 1'000'000, 1'500'000, wait.address});
  return run;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ReportFigures, QuantilesStayWithinTheirPowerOfTwo) {
  histogram waited;
  EXPECT_EQ(quantile(waited, 0.5), 0u);
  for (int i = 0; i < 99; ++i) waited.add(100);
  waited.add(5000);
  EXPECT_EQ(quantile(waited, 0.5), 100u);
  EXPECT_LE(quantile(waited, 0.99), 128u);
  EXPECT_EQ(quantile(waited, 1.0), 5000u);
}

TEST(ReportFigures, ThreeDigits) {
  EXPECT_EQ(duration(0), "0 ns");
  EXPECT_EQ(duration(1.5e-9), "1.50 ns");
  EXPECT_EQ(duration(812e-9), "812 ns");
  EXPECT_EQ(duration(0.0401), "40.1 ms");
  EXPECT_EQ(duration(999.96e-6), "1.00 ms");
  EXPECT_EQ(quantity(812), "812");
  EXPECT_EQ(quantity(1'250'000), "1.25 M");
  EXPECT_EQ(share(1, 4), "25.0 %");
  EXPECT_EQ(share(1, 100'000), "<0.1 %");
  EXPECT_EQ(share(0, 4), "-");
}

TEST(ReportFigures, TheMedianOfEqualTimesIsNearThem) {
  for (const std::uint64_t each : {1030u, 1072u, 1500u, 2000u}) {
    histogram held;
    for (int i = 0; i < 1000; ++i) held.add(each);
    held.add(100'000);
    EXPECT_NEAR(static_cast<double>(quantile(held, 0.5)), static_cast<double>(each), 2.0);
  }
  histogram even;
  for (std::uint64_t each = 1024; each < 2048; ++each) even.add(each);
  EXPECT_NEAR(static_cast<double>(quantile(even, 0.9)), 1024 + 0.9 * 1024, 2.0);
}

// Four threads that do a turn in 1000 cycles, and say so after each, or once for all ten.
TEST(ReportFigures, WorkInASecondIsWhatThreadsDoInOne) {
  mark_statistics mark;
  mark.by_thread = mark.calls = {0, 10, 10, 10, 10};
  mark.first = 5000;
  mark.last = 14'000;
  mark.before = 4;
  EXPECT_DOUBLE_EQ(mark.per_second(1e9), 4e6);
  mark.calls = {0, 1, 1, 1, 1};
  mark.before = 40;
  mark.first = 9'999;
  mark.last = 10'000;
  EXPECT_DOUBLE_EQ(mark.per_second(1e9), 4e6);
  mark.last = 0;
  EXPECT_EQ(mark.per_second(1e9), 0);
}

TEST(TextReport, NamesVariablesAndSharesOfTime) {
  const std::string text = text_report(small_run());
  EXPECT_TRUE(has(text, "simulated on test-4c (4 processors, 1.00 GHz): 2.00 ms")) << text;
  EXPECT_TRUE(has(text, "energy: 0.25 J, 125 W on average")) << text;
  EXPECT_TRUE(has(text, "syncopate::simulated::watched_word[2]")) << text;
  EXPECT_TRUE(has(text, "75.0 %")) << text;  // spinning of thread 1
  EXPECT_TRUE(has(text, "12.3 k")) << text;
  EXPECT_TRUE(has(text, "write capacity")) << text;
  EXPECT_TRUE(has(text, "0.750")) << text;  // fairness factor
  EXPECT_FALSE(has(text, "transactions")) << "there were none";
}

TEST(TextReport, ManyThreadsOfOneFunctionShareARow) {
  statistics run = small_run();
  run.threads.resize(65);
  for (unsigned i = 0; i < 65; ++i) run.threads[i].index = i;
  const std::string text = text_report(run);
  EXPECT_TRUE(has(text, "  64 x")) << text;
  EXPECT_TRUE(has(text, "  0 main")) << text;
}

TEST(JsonReport, HasEverythingAndEscapes) {
  const std::string text = json_report(small_run());
  EXPECT_TRUE(has(text, "\"schema\": \"syncopate-machine-report\", \"version\": 1")) << text;
  EXPECT_TRUE(has(text, "\"average_watts\": 125")) << text;
  EXPECT_TRUE(has(text,
                  "\"name\": \"sections \\\"a\\\"\", \"total\": 400, \"per_second\": "
                  "4e+05, \"fairness\": 0.75"));
  EXPECT_TRUE(has(text, "\"cause\": \"write_capacity\"")) << text;
  EXPECT_TRUE(has(text, "\"spinning\": 750000, \"parked\": 250000")) << text;
}

TEST(JsonReport, SameBytesEveryTime) {
  EXPECT_EQ(json_report(small_run()), json_report(small_run()));
}

TEST(TraceReport, StretchesOfThreadsAndProcessors) {
  const std::string text = trace_report(small_run());
  EXPECT_TRUE(has(text,
                  "\"ph\": \"X\", \"name\": \"spinning\", \"cat\": \"spinning\", \"pid\": 1, "
                  "\"tid\": 1, \"ts\": 1000, \"dur\": 500"))
      << text;
  EXPECT_TRUE(has(text, "\"name\": \"thread 1\", \"cat\": \"spinning\", \"pid\": 2, \"tid\": 2"));
  EXPECT_TRUE(has(text, "\"for\": \"syncopate::simulated::watched_word[2]\"")) << text;
}

statistics run_with_native_time() {
  statistics run = small_run();
  run.native.seconds = 2;
  run.native.samples = 2000;
  run.native.program = 0.5;
  run.native.machine = 1;
  run.native.libraries = {{"libz.so.1", 0.375}, {"libc.so.6", 0.125}};
  return run;
}

TEST(TextReport, TellsTheTimeThatTheMachineCouldNotSee) {
  const std::string text = text_report(run_with_native_time());
  EXPECT_TRUE(has(text,
                  "not simulated (native time): 500 ms in code that the machine cannot see, "
                  "of 2.00 s of CPU time"))
      << text;
  EXPECT_TRUE(has(text, "  not seen: libz.so.1  375 ms  18.8 %")) << text;
  EXPECT_TRUE(has(text, "  seen: the program    500 ms  25.0 %")) << text;
  EXPECT_FALSE(has(text_report(small_run()), "native")) << "nothing was measured";
}

TEST(TextReport, RunsTooShortForSamples) {
  statistics run = small_run();
  run.native.seconds = 0.002;
  EXPECT_TRUE(has(text_report(run), "too short to tell, 2.00 ms of CPU time in all"));
}

TEST(JsonReport, NativeTimeIsTheLastMember) {
  const std::string text = json_report(run_with_native_time());
  EXPECT_TRUE(has(text,
                  "\n\"native\": {\"cpu_seconds\": 2, \"samples\": 2000, "
                  "\"program_seconds\": 0.5, \"machine_seconds\": 1, "
                  "\"not_seen_seconds\": 0.5, \"not_seen\": [{\"library\": \"libz.so.1\", "
                  "\"seconds\": 0.375}, {\"library\": \"libc.so.6\", \"seconds\": 0.125}]}}\n"))
      << text;
  EXPECT_FALSE(has(json_report(small_run()), "native")) << "nothing was measured";
}

TEST(TraceReport, WhatWasHeldAndTransactionsHaveTracksOfTheirOwn) {
  statistics run = small_run();
  EXPECT_FALSE(has(trace_report(run), "transactions"));
  const std::uintptr_t word = run.waits[0].address;
  run.spans.push_back({1, span_kind::held, {}, 1'500'000, 1'600'000, word, nullptr});
  run.spans.push_back({1, span_kind::committed, {}, 1'600'000, 1'700'000, 0, nullptr});
  run.spans.push_back(
      {0, span_kind::aborted, abort_cause::write_capacity, 100'000, 200'000, 0, nullptr});
  const std::string text = trace_report(run);
  EXPECT_TRUE(has(text,
                  "\"name\": \"syncopate::simulated::watched_word[2]\", \"cat\": \"held\", "
                  "\"pid\": 3, \"tid\": 1, \"ts\": 1500, \"dur\": 100"))
      << text;
  EXPECT_TRUE(has(text, "\"name\": \"committed\", \"cat\": \"committed\", \"pid\": 4, \"tid\": 1"));
  EXPECT_TRUE(has(text, "\"name\": \"aborted: write capacity\", \"cat\": \"aborted\", \"pid\": 4"));
}

}  // namespace
}  // namespace syncopate::simulated
