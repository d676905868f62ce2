// What the program is told about the machine: its processors, its time; and waiting, by machine.h,
// by std::atomic and by the futex call.
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <ctime>
#include <thread>
#include <vector>

#include <syncopate/machine.h>

#include "check.h"

namespace {

using namespace std::chrono_literals;
namespace machine = syncopate::machine;

const unsigned processors_at_start = std::thread::hardware_concurrency();

void processors() {
  CHECK(processors_at_start == 3 && std::thread::hardware_concurrency() == 3);
  CHECK(sysconf(_SC_NPROCESSORS_ONLN) == 3 && get_nprocs() == 3);
  CHECK(sched_getcpu() == 0);
  cpu_set_t set;
  CHECK(sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) == 3);
  CPU_ZERO(&set);
  CPU_SET(2, &set);
  CHECK(sched_setaffinity(0, sizeof set, &set) == 0);
  CPU_SET(1, &set);
  CHECK(sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) == 1 && CPU_ISSET(2, &set));
  CPU_ZERO(&set);
  CPU_SET(700, &set);
  CHECK(sched_setaffinity(0, sizeof set, &set) == -1 && errno == EINVAL);
  unsigned processor = 9, node = 9;
  CHECK(syscall(SYS_getcpu, &processor, &node, nullptr) == 0 && processor == 0 && node == 0);
  CHECK(gettid() == 1000 && syscall(SYS_gettid) == 1000);
  std::thread([] { CHECK(gettid() > 1000); }).join();
  CHECK(syscall(SYS_getppid) == getppid());  // others pass
}

void time_passes() {
  const auto start = std::chrono::steady_clock::now();
  CHECK(start.time_since_epoch() < 1s);  // the machine's time, not this computer's
  std::this_thread::sleep_for(100s);     // which takes no time here
  const auto slept = std::chrono::steady_clock::now() - start;
  CHECK(slept >= 100s && slept < 101s);
  usleep(1'000'000);
  CHECK(sleep(1) == 0);
  const timespec invalid{0, 2'000'000'000};
  CHECK(nanosleep(&invalid, nullptr) == -1 && errno == EINVAL);
  timespec when;
  CHECK(clock_gettime(CLOCK_REALTIME, &when) == 0);
  when.tv_sec += 5;
  CHECK(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &when, nullptr) == 0);
  CHECK(time(nullptr) == when.tv_sec);
  CHECK(std::chrono::steady_clock::now() - start >= 107s);
}

void futexes() {
  static std::atomic<int> word{1};
  CHECK(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, nullptr) == -1 && errno == EAGAIN);
  const timespec little{0, 1000};
  CHECK(syscall(SYS_futex, &word, FUTEX_WAIT, 1, &little) == -1 && errno == ETIMEDOUT);
  std::thread waiter([] {
    while (word == 1) syscall(SYS_futex, &word, FUTEX_WAIT, 1, nullptr);
  });
  std::this_thread::yield();
  word = 2;
  CHECK(syscall(SYS_futex, &word, FUTEX_WAKE, 1) == 1);
  waiter.join();
  CHECK(syscall(SYS_futex, &word, FUTEX_WAKE, 1) == 0);

  std::atomic<int> value{0};
  std::thread other([&] {
    value.wait(0);
    value = 2;
    value.notify_one();
  });
  std::this_thread::yield();
  value = 1;
  value.notify_all();
  value.wait(1);
  CHECK(value == 2);
  other.join();
}

void waiting() {
  std::atomic<unsigned> word{0};
  std::thread other([&] {
    for (int i = 0; i < 10; ++i) machine::relax();
    word = 5;
  });
  CHECK(machine::wait_until(word, std::memory_order_acquire, [](unsigned v) { return v > 3; }) ==
        5);
  other.join();
  unsigned seen = 0;
  CHECK(!machine::detail::await(
      word, std::memory_order_acquire, -1,
      *[] {
        static auto never = [](unsigned) { return false; };
        return &never;
      }(),
      machine::ticks() + 50, seen));
  CHECK(seen == 5);
  CHECK(machine::park(word, 4u) == syncopate::machine::park_result::value_changed);
  CHECK(machine::thread_index() == 0 && machine::self() == 1000 && machine::node_count() == 1);
}

int initialize_slowly(int& count) {
  ++count;
  for (int i = 0; i < 5; ++i) std::this_thread::yield();
  return 42;
}
void statics() {
  static int count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      static const int value = initialize_slowly(count);
      CHECK(value == 42);
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(count == 1);
}

}  // namespace

int main() {
  processors();
  time_passes();
  futexes();
  waiting();
  statics();
}
