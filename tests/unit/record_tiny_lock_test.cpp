// record_tiny_lock_test.cpp -- the recorder waits for its own lock while its holder may release it.
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include "record/internal.h"

namespace syncopate::record {
namespace {

using std::chrono::milliseconds;
using clock = std::chrono::steady_clock;
using std::this_thread::sleep_for;

// What a process does, in the middle of which it is stopped for two seconds; its exit status.
int stopped_meanwhile(int (*what)(int ready)) {
  int ready[2];
  EXPECT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) _exit(what(ready[1]));
  char byte;
  EXPECT_EQ(read(ready[0], &byte, 1), 1);
  kill(child, SIGSTOP);
  sleep_for(milliseconds(2000));
  kill(child, SIGCONT);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  close(ready[0]);
  close(ready[1]);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(RecordTinyLock, AHolderThatWasStoppedIsWaitedFor) {
  const int status = stopped_meanwhile([](int ready) {
    static tiny_lock lock;
    if (!lock.lock()) return 1;
    bool taken = false;
    std::thread other([&] { taken = lock.lock(); });
    sleep_for(milliseconds(100));              // it waits
    auto before = clock::now(), now = before;  // it may be stopped just behind the next line
    if (write(ready, "", 1) != 1) return 2;
    for (; now - before < milliseconds(500); before = std::exchange(now, clock::now()))
      sleep_for(milliseconds(10));
    sleep_for(milliseconds(300));  // the process goes on: the other thread looks at this one
    lock.unlock();
    other.join();
    return taken ? 0 : 3;
  });
  EXPECT_EQ(status, 0);
}

// Who has just taken it may be long without a processor before it says so. Meanwhile who had it
// before is no holder: not one that has ended, nor the waiting thread itself.
class RecordTinyLockTaken : public ::testing::TestWithParam<bool> {};

TEST_P(RecordTinyLockTaken, WhoHadItBeforeIsNoHolder) {
  tiny_lock lock;
  const auto pass = [&] {
    ASSERT_TRUE(lock.lock());
    lock.unlock();
  };
  GetParam() ? pass() : std::thread(pass).join();
  auto& word = *reinterpret_cast<std::atomic<std::uint32_t>*>(&lock);
  word = 1;  // as of the next one
  std::thread other([&] {
    sleep_for(milliseconds(3500));
    word = 0;
    machine::wake(&word, 1);
  });
  EXPECT_TRUE(lock.lock());
  other.join();
}

INSTANTIATE_TEST_SUITE_P(ByItself, RecordTinyLockTaken, ::testing::Bool());

TEST(RecordTinyLock, AHolderThatIsGoneIsNot) {
  static tiny_lock lock;
  std::thread([] { EXPECT_TRUE(lock.lock()); }).join();
  EXPECT_FALSE(lock.lock());
}

// A handler that jumped out of the recorder, whose thread comes back.
TEST(RecordTinyLock, AHolderThatWaitsForItItselfIsNot) {
  static tiny_lock lock;
  ASSERT_TRUE(lock.lock());
  EXPECT_FALSE(lock.lock());
  lock.unlock();
}

TEST(RecordTinyLock, AHolderThatSleepsElsewhereIsNot) {
  static tiny_lock lock;
  ASSERT_TRUE(lock.lock());
  bool taken = true;
  std::thread([&] { taken = lock.lock(); }).join();  // this thread sleeps until that one gives up
  EXPECT_FALSE(taken);
  lock.unlock();
}

}  // namespace
}  // namespace syncopate::record
