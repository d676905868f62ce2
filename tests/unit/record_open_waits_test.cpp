// record_open_waits_test.cpp -- the record says what a thread waits for while it waits.
#include <gtest/gtest.h>
#include <pthread.h>

#include <chrono>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

#include "record_support.h"

namespace record_test {
namespace {

using record::wait_kind;

// The calling thread's, as the file has it now.
record::thread_entry entry_in(const std::string& path) {
  for (const auto& [id, e] : read_record(path).threads)
    if (e.handle == reinterpret_cast<std::uintptr_t>(::pthread_self())) return e;
  throw std::runtime_error("no such thread");
}

std::uint64_t waits_in(const std::string& path, wait_kind kind) {
  std::uint64_t waits = 0;
  for (const auto& row : read_record(path).rows)
    if (row.item.kind == static_cast<std::uint32_t>(kind)) waits += row.item.waits;
  return waits;
}

// 0, or the line of what is not so: for children, which have no test's assertions.
#define EXPECT_HERE(what)                                     \
  do {                                                        \
    if (!(what)) {                                            \
      std::fprintf(stderr, "line %d: %s\n", __LINE__, #what); \
      return 1;                                               \
    }                                                         \
  } while (0)

TEST(RecordOpenWaits, AWaitForALockIsThereUntilItIsInItsRow) {
  scratch dir;
  const int status = in_child([&] {
    const std::string path = dir.file();
    if (!record::start(path.c_str(), "futex", "park")) return 2;
    static object lock;
    EXPECT_HERE(entry_in(path).open.since == 0);
    record::wait w = record::wait_begin(wait_kind::mutex, lock.id(), 77, {&lock, true, true});
    record::open_wait open = entry_in(path).open;
    EXPECT_HERE(open.since == w.start && open.end == 0 && open.lock == lock.slot);
    EXPECT_HERE(open.kind == static_cast<std::uint32_t>(wait_kind::mutex) && open.holder == 77);
    EXPECT_HERE(open.caller == reinterpret_cast<std::uintptr_t>(&lock));
    EXPECT_HERE(open.flags == (record::timed | record::has_owner));
    EXPECT_HERE(waits_in(path, wait_kind::mutex) == 0);
    record::wait_end(w, &lock);
    open = entry_in(path).open;
    EXPECT_HERE(open.since == w.start && open.end >= open.since);  // over, but in no row yet
    record::released(&lock, lock.slot, false);
    EXPECT_HERE(entry_in(path).open.since == 0 && waits_in(path, wait_kind::mutex) == 1);
    return 0;
  });
  EXPECT_EQ(status, 0);
}

TEST(RecordOpenWaits, AWaitThatEndsWithoutALockIsInItsRowAtOnce) {
  scratch dir;
  const int status = in_child([&] {
    const std::string path = dir.file();
    if (!record::start(path.c_str(), "futex", "park")) return 2;
    record::wait w = record::wait_begin(wait_kind::join, 0, 0);
    EXPECT_HERE(entry_in(path).open.since != 0 && waits_in(path, wait_kind::join) == 0);
    record::wait_end_now(w);
    EXPECT_HERE(entry_in(path).open.since == 0 && waits_in(path, wait_kind::join) == 1);
    return 0;
  });
  EXPECT_EQ(status, 0);
}

TEST(RecordOpenWaits, AttemptsInQuickSuccessionAreOneWait) {
  scratch dir;
  const int status = in_child([&] {
    const std::string path = dir.file();
    if (!record::start(path.c_str(), "futex", "park")) return 2;
    static object lock;
    const std::uint32_t id = lock.id();
    for (int i = 0; i < 1000; ++i) record::tried_in_vain(id, &lock, 77, &lock);
    const record::open_wait open = entry_in(path).open;
    EXPECT_HERE(open.kind == static_cast<std::uint32_t>(wait_kind::trylock) && open.holder == 77);
    EXPECT_HERE(record::trying_for == &lock);
    record::got_at_last(&lock);
    EXPECT_HERE(record::trying_for == nullptr);
    record::released(&lock, id, false);
    EXPECT_HERE(waits_in(path, wait_kind::trylock) == 1);
    // Given up: a wait for another lock ends it.
    static object other;
    for (int i = 0; i < 1000; ++i) record::tried_in_vain(id, &lock, 77, &lock);
    record::wait w = record::wait_begin(wait_kind::mutex, other.id(), 77);
    EXPECT_HERE(waits_in(path, wait_kind::trylock) == 2);
    record::wait_end_now(w);
    // One for the same goes on with it, unless the processor was lost meanwhile.
    bool goes_on = false;
    for (int round = 0; round < 100 && !goes_on; ++round) {
      const std::uint64_t given_up = waits_in(path, wait_kind::in_vain);
      for (int i = 0; i < 1000; ++i) record::tried_in_vain(id, &lock, 77, &lock);
      const std::uint64_t tried = syncopate::machine::ticks();
      w = record::wait_begin(wait_kind::mutex, id, 77);
      EXPECT_HERE(record::trying_for == nullptr);
      goes_on = w.start < tried && waits_in(path, wait_kind::in_vain) == given_up;
      record::wait_end_now(w);
    }
    EXPECT_HERE(goes_on);
    return 0;
  });
  EXPECT_EQ(status, 0);
}

// What it did before that was no wait, as far as anybody knows.
TEST(RecordOpenWaits, WhoTriesAgainLateHadGivenUp) {
  scratch dir;
  const int status = in_child([&] {
    const std::string path = dir.file();
    if (!record::start(path.c_str(), "futex", "park")) return 2;
    static object lock;
    const std::uint32_t id = lock.id();
    const std::uint64_t began = syncopate::machine::ticks();
    for (int i = 0; i < 1000; ++i) record::tried_in_vain(id, &lock, 77, &lock);
    const std::uint64_t ended = syncopate::machine::ticks();
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    record::got_at_last(&lock);
    EXPECT_HERE(record::trying_for == nullptr);
    EXPECT_HERE(waits_in(path, wait_kind::trylock) != 0);
    EXPECT_HERE(waits_in(path, wait_kind::in_vain) == waits_in(path, wait_kind::trylock));
    for (const auto& row : read_record(path).rows) EXPECT_HERE(row.item.wait_sum <= ended - began);
    return 0;
  });
  EXPECT_EQ(status, 0);
}

// ---- waits that a signal handler leaves ---------------------------------------------------------

sigjmp_buf out_of_wait;
object handlers_lock;

void jump_out(int) { ::siglongjmp(out_of_wait, 1); }
void take_and_return(int) { handlers_lock.uncontended_round(); }

// A lock call that waits for ever, were it not for the signal.
[[gnu::noinline]] record::wait wait_for_signal(object& lock, void (*handler)(int)) {
  record::wait w = record::wait_begin(wait_kind::mutex, lock.id(), 77);
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_ONSTACK;
  ::sigaction(SIGALRM, &action, nullptr);
  std::raise(SIGALRM);
  return w;
}

// Takes the lock further down the stack than anybody has waited.
[[gnu::noinline]] void take_below(object& lock, unsigned depth) {
  char room[1024];
  if (depth != 0) take_below(lock, depth - 1);
  else lock.uncontended_round();
  asm volatile("" : : "r"(room) : "memory");  // no tail call
}

TEST(RecordOpenWaits, AWaitThatAHandlerHasJumpedOutOfIsOverAtTheNextCall) {
  for (const unsigned depth : {0u, 10u}) {
    scratch dir;
    const int status = in_child([&] {
      const std::string path = dir.file();
      if (!record::start(path.c_str(), "futex", "park")) return 2;
      static object lock, other;
      if (::sigsetjmp(out_of_wait, 1) == 0) wait_for_signal(lock, jump_out);
      EXPECT_HERE(entry_in(path).open.since != 0 && waits_in(path, wait_kind::mutex) == 0);
      take_below(other, depth);
      EXPECT_HERE(entry_in(path).open.since == 0 && waits_in(path, wait_kind::mutex) == 1);
      EXPECT_HERE(waits_in(path, wait_kind::in_vain) == 1);
      record::finish();
      return 0;
    });
    EXPECT_EQ(status, 0) << depth;
  }
}

TEST(RecordOpenWaits, AWaitGoesOnWhileAHandlerRuns) {
  scratch dir;
  const int status = in_child([&] {
    const std::string path = dir.file();
    if (!record::start(path.c_str(), "futex", "park")) return 2;
    static object lock;
    static char handlers_stack[1 << 16];
    stack_t other{.ss_sp = handlers_stack, .ss_flags = 0, .ss_size = sizeof handlers_stack};
    for (const bool has_own_stack : {false, true}) {
      if (has_own_stack) ::sigaltstack(&other, nullptr);
      handlers_lock = {};  // its first acquisition comes to the recorder
      record::wait w = wait_for_signal(lock, take_and_return);
      EXPECT_HERE(entry_in(path).open.since != 0 && waits_in(path, wait_kind::mutex) == 0);
      record::wait_refused(w);
    }
    return 0;
  });
  EXPECT_EQ(status, 0);
}

// Waits, too, and gets its lock, or does not.
void wait_and_return(int) {
  record::wait w = record::wait_begin(wait_kind::mutex, handlers_lock.id(), 78);
  record::wait_end(w, &handlers_lock);
  handlers_lock.unlocked();
}
void wait_in_vain(int) {
  record::wait w = record::wait_begin(wait_kind::mutex, handlers_lock.id(), 78);
  record::wait_in_vain(w);
}

TEST(RecordOpenWaits, AWaitThatAHandlersWaitHasInterruptedGoesOn) {
  scratch dir;
  const int status = in_child([&] {
    const std::string path = dir.file();
    if (!record::start(path.c_str(), "futex", "park")) return 2;
    static object lock;
    std::uint64_t waits = 0;
    for (const auto handler : {wait_and_return, wait_in_vain}) {
      record::wait w = wait_for_signal(lock, handler);
      const record::open_wait open = entry_in(path).open;
      EXPECT_HERE(open.since == w.start && open.end == 0 && open.holder == 77);
      EXPECT_HERE(open.lock == w.id && w.id != handlers_lock.id());
      EXPECT_HERE(waits_in(path, wait_kind::mutex) == ++waits);
      record::wait_end(w, &lock);
      lock.unlocked();
      record::released(&lock, lock.slot, false);
      EXPECT_HERE(entry_in(path).open.since == 0);
      EXPECT_HERE(waits_in(path, wait_kind::mutex) == ++waits);
    }
    return 0;
  });
  EXPECT_EQ(status, 0);
}

// ---- who holds ----------------------------------------------------------------------------------

TEST(RecordOpenWaits, LocksHeldForReadingAreNamed) {
  scratch dir;
  const int status = in_child([&] {
    const std::string path = dir.file();
    if (!record::start(path.c_str(), "futex", "park")) return 2;
    static char locks[record::most_read_held + 1];
    const auto held = [&](const void* lock) {
      int times = 0;
      for (const std::uint64_t address : entry_in(path).read_held)
        times += address == reinterpret_cast<std::uintptr_t>(lock) ? 1 : 0;
      return times;
    };
    for (char& lock : locks) record::read_begins(&lock);
    EXPECT_HERE(held(&locks[0]) == 1 && held(&locks[3]) == 1 && held(&locks[4]) == 0);
    record::read_ends(&locks[1]);
    record::read_ends(&locks[4]);  // one that there was no place for
    EXPECT_HERE(held(&locks[0]) == 1 && held(&locks[1]) == 0);
    record::read_begins(&locks[0]);
    EXPECT_HERE(held(&locks[0]) == 2);
    record::read_ends(&locks[0]);
    EXPECT_HERE(held(&locks[0]) == 1);
    return 0;
  });
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace record_test
