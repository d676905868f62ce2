// watched_process_test.cpp -- only some waits have a stack that says what their futex is a part of.
// What was told of the others before is the same in the record: rows, events, and waits that nobody
// was seen to end.
#include "record/kernel/watched_process.h"

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "unit/record_support.h"

namespace syncopate::record::kernel {
namespace {

constexpr std::uint64_t object = 0x7f00'0000'1000, millisecond = 1'000'000;
constexpr std::uint32_t in_private_memory = 128, wait_bitset = 9;

struct kind_of_object {
  const char* function;  // of the C library's, in which threads wait
  std::uint64_t word, other_word;
  object_kind is;
  wait_kind waits_are;
  friend void PrintTo(const kind_of_object& k, std::ostream* to) { *to << k.function; }
};

// Of a thread that begins to wait in this function.
void tell_stack(watched_process& seen, const char* function, std::uint32_t thread,
                std::uint64_t since) {
  auto e = std::make_unique<stack_event>();
  std::memset(static_cast<void*>(e.get()), 0, sizeof *e);
  e->head = {event_stack, seen.id(), thread, 1, since};
  e->since = since;
  e->waiter = thread;
  e->bytes = sizeof e->stack;
  e->registers.of[16] = reinterpret_cast<std::uintptr_t>(::dlsym(RTLD_DEFAULT, function)) + 1;
  e->registers.of[7] = 0x7ffe'0000'0000;
  seen.stack(*e);
}

// At `object`, for a condition or a semaphore; woken at its end.
wait_event wait_of(const watched_process& seen, std::uint32_t thread, std::uint64_t since,
                   std::uint64_t end, std::uint32_t waker) {
  wait_event e{};
  e.head = {event_wait, seen.id(), thread, 1, end};
  e.since = since;
  e.address = object;
  e.operation = in_private_memory | wait_bitset;
  e.waker = waker;
  e.woken = end;
  return e;
}

class WatchedProcess : public ::testing::TestWithParam<kind_of_object> {
 protected:
  WatchedProcess() : seen_(static_cast<std::uint32_t>(::getpid()), 0, takers_) {
    EXPECT_EQ(seen_.begin(path(), false, now_ns()), 0);
    begin_ = now_ns();
  }
  std::string path() const { return folder_.path() / "record"; }

  // For 60 ms, after all waits before; woken by `waker`, 0: nobody was seen to.
  void waits(std::uint32_t thread, std::uint64_t at, bool has_its_stack, std::uint32_t waker = 1) {
    const std::uint64_t since = begin_ += 100 * millisecond;
    if (has_its_stack) tell_stack(seen_, GetParam().function, thread, since);
    wait_event e = wait_of(seen_, thread, since, since + 60 * millisecond, waker);
    e.address = at;
    if (waker == 0) e.woken = 0;
    seen_.wait(e);
  }

  record_test::contents all_told() {
    seen_.finish(finished, kernel_controls{}, now_ns());
    return record_test::read_record(path());
  }

  // The record has so many waits, all of the kind that is meant, for one object; `unended`: of
  // these nobody was seen to end so many, which no signal to a condition variable has.
  void expect_waits(std::uint64_t count, std::uint64_t unended) {
    const bool is_condition = GetParam().is == object_kind::condition;
    const record_test::contents c = all_told();
    std::uint64_t waits = 0, events = 0, entries = 0;
    for (const auto& [id, lock] : c.locks) {
      EXPECT_NE(lock.object, static_cast<int>(object_kind::futex));
      entries += lock.address == object && lock.object == static_cast<int>(GetParam().is);
      if (lock.address == object) {
        EXPECT_EQ(lock.acquisitions, is_condition ? count - unended : count);
      }
    }
    EXPECT_EQ(entries, 1u);
    for (const auto& [thread, row] : c.rows) {
      if (row.waits == 0) continue;
      EXPECT_EQ(row.kind, static_cast<std::uint32_t>(GetParam().waits_are));
      EXPECT_EQ(c.locks.at(row.lock).address, object);
      std::uint64_t in_histogram = 0;
      for (const std::uint32_t each : row.histogram) in_histogram += each;
      EXPECT_EQ(in_histogram, row.waits);
      EXPECT_EQ(row.wait_sum, row.waits * 60 * millisecond);
      EXPECT_EQ(row.wait_max, 60 * millisecond);
      waits += row.waits;
    }
    for (const auto& [thread, e] : c.events) {
      if (e.kind != static_cast<std::uint8_t>(event_kind::wait)) continue;
      EXPECT_EQ(e.wait, static_cast<std::uint8_t>(GetParam().waits_are));
      EXPECT_EQ(c.locks.at(e.lock).address, object);
      ++events;
    }
    EXPECT_EQ(waits, count);
    EXPECT_EQ(events, count);
  }

  watched_process::takers takers_;
  record_test::scratch folder_;
  watched_process seen_;

 private:
  std::uint64_t begin_ = 0;
};

TEST_P(WatchedProcess, WhatWasToldBeforeAStackSaidMoreIsOfItsKind) {
  const std::uint64_t at = object + GetParam().word;
  waits(1001, at, false);
  waits(1001, at, false);
  waits(1002, at, false, 0);  // over when the record ends
  waits(1003, at, true);
  waits(1001, at, false);
  expect_waits(5, 1);
}

TEST_P(WatchedProcess, AnotherWordOfAKnownObjectIsTheSame) {
  const std::uint64_t at = object + GetParam().word, other = object + GetParam().other_word;
  waits(1001, at, true);
  waits(1001, other, false);  // who has a row of the object already
  waits(1002, other, false);  // who has none
  waits(1003, other, false, 0);
  waits(1004, other, true);
  expect_waits(5, 1);
}

TEST_P(WatchedProcess, AWaitThatIsNotOverIsOfItsKind) {
  const std::uint64_t at = object + GetParam().word, other = object + GetParam().other_word;
  waits(1001, at, true);
  waits(1002, other, false, 0);
  waits(1003, other, true);
  exit_event killed{};
  killed.head = {event_exit, seen_.id(), 1002, 1, now_ns()};
  killed.exit_code = 9;
  killed.in_a_wait = 1;
  seen_.thread_ended(killed);
  const record_test::contents c = all_told();
  unsigned found = 0;
  for (const auto& [id, thread] : c.threads) {
    if (thread.thread_id != 1002) continue;
    EXPECT_NE(thread.open.since, 0u);
    EXPECT_EQ(thread.open.kind, static_cast<std::uint32_t>(GetParam().waits_are));
    EXPECT_EQ(c.locks.at(thread.open.lock).address, object);
    ++found;
  }
  EXPECT_EQ(found, 1u);
}

TEST_P(WatchedProcess, AWaitThatASignalEndedIsOverWhereTheThreadIsElsewhereWhenItEnds) {
  waits(1001, object + GetParam().word, true, 0);
  exit_event elsewhere{};
  elsewhere.head = {event_exit, seen_.id(), 1001, 1, now_ns()};
  elsewhere.exit_code = 9;
  seen_.thread_ended(elsewhere);
  const record_test::contents c = all_told();
  for (const auto& [id, thread] : c.threads) EXPECT_EQ(thread.open.since, 0u);
  std::uint64_t waits = 0;
  for (const auto& [thread, row] : c.rows) waits += row.waits;
  EXPECT_EQ(waits, 1u);
}

TEST_P(WatchedProcess, AFutexWithoutAnyStackIsTheProgramsOwn) {
  waits(1001, object, false);
  waits(1002, object, false, 0);
  const record_test::contents c = all_told();
  std::uint64_t waits = 0;
  for (const auto& [thread, row] : c.rows) {
    EXPECT_EQ(row.kind, static_cast<std::uint32_t>(wait_kind::futex));
    waits += row.waits;
  }
  EXPECT_EQ(waits, 2u);
}

// Offsets of their words in glibc's objects: kinds.cpp.
INSTANTIATE_TEST_SUITE_P(
    Objects, WatchedProcess,
    ::testing::Values(
        kind_of_object{"pthread_cond_wait", 40, 44, object_kind::condition, wait_kind::condition},
        kind_of_object{"pthread_rwlock_rdlock", 8, 12, object_kind::rwlock, wait_kind::read},
        kind_of_object{"pthread_rwlock_wrlock", 12, 8, object_kind::rwlock, wait_kind::write},
        kind_of_object{"pthread_barrier_wait", 0, 4, object_kind::barrier, wait_kind::barrier}),
    [](const auto& of) { return std::string(of.param.function); });

// A server that makes a thread for each request does so for hours.
TEST(WatchedThreads, ThoseThatEndGiveTheirEntriesToLaterOnes) {
  constexpr std::uint32_t rounds = 8, at_once = 700, each_ran = 5;
  constexpr std::uint64_t each_lived = 3 * millisecond, first = 0x4000'0000;
  watched_process::takers takers;
  record_test::scratch folder;
  watched_process seen(static_cast<std::uint32_t>(::getpid()), 0, takers);
  const std::uint64_t begin = now_ns();
  ASSERT_EQ(seen.begin(folder.path() / "record", false, begin), 0);
  std::uint64_t now = begin + millisecond;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    for (std::uint32_t i = 0; i < at_once; ++i) {
      const auto thread = static_cast<std::uint32_t>(first + round * at_once + i);
      seen.thread_began({event_thread, seen.id(), thread, 1, now});
      seen.wait(wait_of(seen, thread, now + millisecond, now + 2 * millisecond, 1));
      exit_event ended{};
      ended.head = {event_exit, seen.id(), thread, 1, now + each_lived};
      ended.cpu_ns = each_ran;
      seen.thread_ended(ended);
    }
    seen.refresh(kernel_controls{});
    now += 10 * millisecond;
  }
  seen.finish(finished, kernel_controls{}, now_ns());
  const record_test::contents c = record_test::read_record(folder.path() / "record");
  EXPECT_LT(c.threads.size(), 2048u + at_once + 10);
  std::uint64_t lived = 0, ran = 0, waits = 0;
  for (const auto& [id, thread] : c.threads) {
    if (thread.thread_id < first) continue;  // of this test itself
    lived += thread.end_ticks - thread.start_ticks;
    ran += thread.cpu_ns;
  }
  for (const auto& [thread, row] : c.rows) waits += row.waits;
  EXPECT_EQ(lived, rounds * at_once * each_lived);
  EXPECT_EQ(ran, rounds * at_once * each_ran);
  EXPECT_EQ(waits, rounds * at_once);
}

// Who posts a semaphore that it has taken itself has had it as a lock: also after many others.
TEST(WatchedThreads, ThoseThatHaveEndedAreNoTakersAnyLonger) {
  watched_process::takers takers;
  record_test::scratch folder;
  const auto self = static_cast<std::uint32_t>(::getpid());
  watched_process seen(self, 0, takers);
  ASSERT_EQ(seen.begin(folder.path() / "record", false, now_ns()), 0);
  std::uint64_t now = now_ns();
  const auto waits = [&](std::uint32_t thread, std::uint32_t waker) {
    now += millisecond;
    wait_event e = wait_of(seen, thread, now - millisecond / 2, now, waker);
    e.operation = in_private_memory;
    seen.wait(e);
  };
  for (std::uint32_t i = 0; i < 3000; ++i) waits(0x4000'0000 + i, 0);  // ids of no thread
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // they are forgotten now and then
  waits(self, 0x4000'0000);
  for (int i = 0; i < 100; ++i) waits(self, self);
  seen.finish(finished, kernel_controls{}, now_ns());
  const record_test::contents c = record_test::read_record(folder.path() / "record");
  std::uint64_t as_lock = 0;
  for (const auto& [thread, row] : c.rows)
    if (row.kind == static_cast<std::uint32_t>(wait_kind::futex_lock)) as_lock += row.waits;
  EXPECT_GT(as_lock, 50u);
}

// Workers that post for each other wait for no lock, as is seen once more than one may go on.
TEST(WatchedSemaphores, OneForSeveralIsNoLock) {
  for (const std::uint32_t flags : {0u, static_cast<unsigned>(for_several)}) {
    watched_process::takers takers;
    record_test::scratch folder;
    const auto self = static_cast<std::uint32_t>(::getpid());
    watched_process seen(self, 0, takers);
    ASSERT_EQ(seen.begin(folder.path() / "record", false, now_ns()), 0);
    std::uint64_t now = now_ns();
    for (std::uint32_t i = 0; i < 100; ++i) {
      now += millisecond;
      wait_event e = wait_of(seen, self + i % 3, now - millisecond / 2, now, self + (i + 1) % 3);
      e.flags = i == 50 ? flags : 0;
      if (i == 0) tell_stack(seen, "sem_wait", self, e.since);
      seen.wait(e);
    }
    seen.finish(finished, kernel_controls{}, now_ns());
    const record_test::contents c = record_test::read_record(folder.path() / "record");
    unsigned semaphores = 0;
    for (const auto& [id, lock] : c.locks) {
      if (lock.object != static_cast<int>(object_kind::semaphore)) continue;
      ++semaphores;
      EXPECT_EQ((lock.flags & used_as_lock) != 0, flags == 0);
    }
    EXPECT_EQ(semaphores, 1u);
    for (const auto& [thread, row] : c.rows)
      EXPECT_EQ(row.kind, static_cast<std::uint32_t>(wait_kind::semaphore));
  }
}

// What a process ran that had ended before its record began, the kernel has told.
TEST(WatchedProcess, OneThatHasEndedIsCalledAsItWas) {
  constexpr std::uint32_t nobody = (1 << 22) - 1;  // no process: numbers are below
  watched_process::takers takers;
  record_test::scratch folder;
  watched_process seen(nobody, 1, takers);
  const std::string command("quick\0of file\0", 14);
  ASSERT_EQ(seen.begin(folder.path() / "record", false, now_ns(), {"/opt/quick", command}), 0);
  seen.finish(finished, kernel_controls{}, now_ns());
  const record_test::contents c = record_test::read_record(folder.path() / "record");
  EXPECT_STREQ(c.header.executable, "/opt/quick");
  EXPECT_EQ(std::string(c.header.command, command.size()), command);
  EXPECT_GT(c.header.processors, 0u);
}

}  // namespace
}  // namespace syncopate::record::kernel
