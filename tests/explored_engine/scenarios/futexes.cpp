// Who waits counts himself and sleeps by the futex of a word; who changes the word looks at the
// count, and wakes only if it is not 0. Of all pairs of orders only some keep the look behind the
// change in S: with the others the waiter sleeps for good. (On x86 the store of a release may stand
// in its processor's buffer while the load behind it is made.) What libstdc++ does so inside of
// notify_one is right by the language's promise, whatever orders its caller uses. The argument
// names the scenario.
// Scenario: seq_cst_and_seq_cst 0 passed: [0-9]+ executions
// Scenario: release_and_seq_cst 1 failed: deadlock
// Scenario: relaxed_and_seq_cst 1 failed: deadlock
// Scenario: seq_cst_and_acquire 1 failed: deadlock
// Scenario: release_and_acquire 1 failed: deadlock
// Scenario: relaxed_fence_and_relaxed 0 passed: [0-9]+ executions
// Scenario: relaxed_fence_and_seq_cst 0 passed: [0-9]+ executions
// Scenario: release_fence_and_acquire 0 passed: [0-9]+ executions
// Scenario: exchange_and_seq_cst 0 passed: [0-9]+ executions
// Scenario: release_exchange_and_seq_cst 1 failed: deadlock
// Scenario: notify_behind_relaxed 0 passed: [0-9]+ executions
// Scenario: notify_behind_release 0 passed: [0-9]+ executions
// Scenario: notify_behind_seq_cst 0 passed: [0-9]+ executions
// Scenario: notify_behind_release_of_a_byte 0 passed: [0-9]+ executions
// Scenario: no_notify 1 failed: deadlock
// Scenario: latch 0 passed: [0-9]+ executions
// Scenario: barrier 0 passed: [0-9]+ executions
// Scenario: semaphore 0 passed: [0-9]+ executions
// Scenario: data_by_seq_cst_and_a_flag 1 failed: failed check
#include <cassert>
#include <cstdint>
#include <cstdlib>

#include <atomic>
#include <barrier>
#include <latch>
#include <map>
#include <semaphore>
#include <string>
#include <thread>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto seq_cst = std::memory_order_seq_cst;

std::atomic<std::uint32_t> word{0}, waiters{0};

void sleep_while_0() {
  waiters.fetch_add(1, seq_cst);
  while (word.load(acquire) == 0)
    ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
}

void wake_if_anybody_waits(std::memory_order look) {
  if (waiters.load(look) != 0)
    ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

enum class with { nothing, fence, exchange };

template <with extra = with::nothing>
void hand_over(std::memory_order change, std::memory_order look) {
  std::thread waiter(sleep_while_0);
  if (extra == with::exchange) word.exchange(1, change);
  else word.store(1, change);
  if (extra == with::fence) std::atomic_thread_fence(seq_cst);
  wake_if_anybody_waits(look);
  waiter.join();
}

template <class T>
void notify(std::memory_order change, bool notifies = true) {
  std::atomic<T> told{0};
  std::thread waiter([&] { told.wait(0, acquire); });
  told.store(1, change);
  if (notifies) told.notify_one();
  waiter.join();
}

void meet_at_a_latch() {
  std::latch both(2);
  std::thread other([&] { both.arrive_and_wait(); });
  both.arrive_and_wait();
  other.join();
}

void meet_at_a_barrier() {
  std::barrier<> both(2);
  std::thread other([&] { both.wait(both.arrive()); });
  both.wait(both.arrive());
  other.join();
}

void pass_a_semaphore() {
  std::binary_semaphore told(0);
  std::thread waiter([&] { told.acquire(); });
  told.release();
  waiter.join();
}

// As relaxed_flag.cpp, beside a futex.
void data_and_flag() {
  std::atomic<int> data{0}, flag{0};
  std::thread writer([&] {
    data.store(1);
    flag.store(1, relaxed);
  });
  std::thread reader([&] {
    if (flag.load(relaxed) != 0) assert(data.load() == 1);
    ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, nullptr, nullptr, 0);
  });
  writer.join();
  reader.join();
}

const std::map<std::string, void (*)()> scenarios{
    {"seq_cst_and_seq_cst", [] { hand_over(seq_cst, seq_cst); }},
    {"release_and_seq_cst", [] { hand_over(release, seq_cst); }},
    {"relaxed_and_seq_cst", [] { hand_over(relaxed, seq_cst); }},
    {"seq_cst_and_acquire", [] { hand_over(seq_cst, acquire); }},
    {"release_and_acquire", [] { hand_over(release, acquire); }},
    {"relaxed_fence_and_relaxed", [] { hand_over<with::fence>(relaxed, relaxed); }},
    {"relaxed_fence_and_seq_cst", [] { hand_over<with::fence>(relaxed, seq_cst); }},
    {"release_fence_and_acquire", [] { hand_over<with::fence>(release, acquire); }},
    {"exchange_and_seq_cst", [] { hand_over<with::exchange>(seq_cst, seq_cst); }},
    {"release_exchange_and_seq_cst", [] { hand_over<with::exchange>(release, seq_cst); }},
    {"notify_behind_relaxed", [] { notify<int>(relaxed); }},
    {"notify_behind_release", [] { notify<int>(release); }},
    {"notify_behind_seq_cst", [] { notify<int>(seq_cst); }},
    {"notify_behind_release_of_a_byte", [] { notify<char>(release); }},
    {"no_notify", [] { notify<int>(release, false); }},
    {"latch", meet_at_a_latch},
    {"barrier", meet_at_a_barrier},
    {"semaphore", pass_a_semaphore},
    {"data_by_seq_cst_and_a_flag", data_and_flag},
};

}  // namespace

int main(int, char** arguments) {
  const auto found = scenarios.find(arguments[1]);
  if (found == scenarios.end()) return EXIT_FAILURE;
  found->second();
}
