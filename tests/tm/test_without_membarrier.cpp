// Where the kernel refuses membarrier (a filter of system calls, as containers have them), both
// sides execute fences: transactions side by side, beside others that must run alone. The filter is
// set up while they run; and then the program begins again, under it from the start.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <thread>

#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

namespace {

constexpr int rounds = 20000;

long x, y;

[[gnu::noinline]] void cannot_roll_back() { asm volatile("" ::: "memory"); }

// Every hundredth one closes the regime, and waits until nobody else is active.
void add(int number) {
  for (int i = 0; i < rounds; ++i) {
    __transaction_relaxed {
      ++x;
      if ((i + number) % 100 == 0) cannot_roll_back();
      ++y;
    }
  }
}

// A thread that is left alone, until another one comes: it has begun to run without any fences.
std::atomic<bool> enough{false};
void add_all_the_time(long& times) {
  do {
    __transaction_atomic { ++x; }
    ++times;
  } while (!enough);
}
[[gnu::noinline]] void add_one() {
  __transaction_atomic { ++x; }
}

// For all threads, and the program that the process becomes. Returns whether the kernel took it.
bool refuse_membarrier() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof filter / sizeof *filter, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

void meet_a_thread_left_alone() {
  long times = 0;
  std::thread alone(add_all_the_time, std::ref(times));
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  refuse_membarrier();
  for (int i = 0; i < rounds; ++i) add_one();
  enough = true;
  alone.join();
  CHECK(x == times + rounds);
}

}  // namespace

int main(int, char** argv) {
  constexpr const char* mark = "TEST_WITHOUT_MEMBARRIER";
  const bool again = std::getenv(mark) != nullptr;
  if (again) CHECK(syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0) == -1 && errno == EPERM);
  if (!again) {
    const pid_t child = fork();
    if (child == 0) meet_a_thread_left_alone(), std::_Exit(0);
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
  std::thread first(add, 0), second(add, 50);
  const bool refused = again || refuse_membarrier();
  first.join();
  second.join();
  add(0);
  CHECK(x == 3 * rounds && y == 3 * rounds);
  if (again || !refused) return 0;
  CHECK(setenv(mark, "1", 1) == 0);
  execv("/proc/self/exe", argv);
  CHECK(!"execv");
}
