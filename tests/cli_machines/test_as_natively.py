"""What the kernel keeps for each thread, and what its calls answer, is on the simulated machine
what it is natively: the same program, compiled as always and for the machine, says the same."""

import os
import subprocess
from pathlib import Path

import pytest
from modeled import build

HEAD = r"""
#include <atomic>
#include <cerrno>
#include <climits>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <initializer_list>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_barrier_t meet;
"""

SIGNAL_STACKS = r"""
static thread_local sigjmp_buf back;
static thread_local char* mine;
static thread_local bool was_on_mine;
constexpr size_t bytes = 65536;

static void overflowed(int, siginfo_t*, void*) {
  char here;
  was_on_mine = &here >= mine && &here < mine + bytes;
  siglongjmp(back, 1);
}
static int deeper(int n) {
  volatile char frame[1024];
  frame[0] = static_cast<char>(n);
  return (n < 100'000'000 ? deeper(n + 1) : 0) + frame[0];
}
static void overflow(const char* whose) {
  if (sigsetjmp(back, 1) == 0) deeper(0);
  printf("%s: on its own stack %d\n", whose, was_on_mine);
}
static void tell(const char* whose) {
  stack_t now;
  sigaltstack(nullptr, &now);
  printf("%s: has %d, its own %d\n", whose, now.ss_flags != SS_DISABLE, now.ss_sp == mine);
}
static void take_one(const char* whose) {
  tell(whose);
  mine = static_cast<char*>(malloc(bytes));
  const stack_t stack{mine, 0, bytes};
  sigaltstack(&stack, nullptr);
  tell(whose);
  overflow(whose);
}
static void* run(void*) {
  take_one("a thread");
  pthread_barrier_wait(&meet);
  pthread_barrier_wait(&meet);
  overflow("a thread, again");
  const stack_t none{nullptr, SS_DISABLE, 0};
  sigaltstack(&none, nullptr);
  free(mine);
  return nullptr;
}
int main() {
  struct sigaction how {};
  how.sa_sigaction = overflowed;
  how.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &how, nullptr);
  take_one("main");
  pthread_barrier_init(&meet, nullptr, 2);
  pthread_t thread;
  pthread_create(&thread, nullptr, run, nullptr);
  pthread_barrier_wait(&meet);
  overflow("main, beside it");
  pthread_barrier_wait(&meet);
  pthread_join(thread, nullptr);
  tell("main, behind it");
  overflow("main, behind it");
}
"""

NAMES = r"""
static void tell(const char* who) {
  char by_system[16], by_library[16];
  prctl(PR_GET_NAME, by_system);
  pthread_getname_np(pthread_self(), by_library, sizeof by_library);
  printf("%s: %s %s\n", who, by_system, by_library);
}
static void* run(void*) {
  tell("a thread at first");
  prctl(PR_SET_NAME, "a name of twenty bytes");
  tell("a thread");
  pthread_setname_np(pthread_self(), "another");
  tell("a thread");
  return nullptr;
}
int main() {
  prctl(PR_SET_NAME, "main's");
  pthread_t thread;
  pthread_create(&thread, nullptr, run, nullptr);
  pthread_join(thread, nullptr);
  tell("main");
}
"""

ANSWERS = r"""
static void say(const char* what, long result, bool has_errno = true) {
  printf("%s: %ld %d\n", what, result, has_errno && result == -1 ? errno : 0);
}
static void clocks() {
  timespec t{0, 1000};
  for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID,
                                CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE,
                                CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME, CLOCK_TAI, 10, 12, 99}) {
    timespec told;
    printf("clock %d: ", static_cast<int>(clock));
    say("tells", clock_gettime(clock, &told));
    say("tells how fine", clock_getres(clock, &told));
    say("sleeps", clock_nanosleep(clock, 0, &t, nullptr));
  }
}
static void selects() {
  int ends[2];
  if (pipe(ends) != 0) exit(1);
  fd_set files;
  const auto wait = [&](const char* what, timeval most) {
    FD_ZERO(&files);
    FD_SET(ends[0], &files);
    say(what, select(ends[0] + 1, &files, nullptr, nullptr, &most));
    printf("left: some %d, less than a minute %d\n", most.tv_sec * 1000000 + most.tv_usec > 0,
           most.tv_sec < 60);
  };
  wait("nothing comes", {0, 3000});
  wait("at once", {0, 0});
  wait("no time", {-1, 0});
  if (write(ends[1], "x", 1) != 1) exit(1);
  wait("there", {60, 0});
  const timespec never{0, -1};
  say("pselect", pselect(0, nullptr, nullptr, nullptr, &never, nullptr));
}
static int first, second;
static long futex(void* word, int what, long value, const void* time, void* other, long more) {
  return syscall(SYS_futex, word, what, value, time, other, more);
}
struct waits {
  int* word;
  std::atomic<int> thread{0};
};
static void* wait_for(void* of) {
  waits& mine = *static_cast<waits*>(of);
  mine.thread = static_cast<int>(syscall(SYS_gettid));
  while (futex(mine.word, FUTEX_WAIT, 0, nullptr, nullptr, 0) == -1 && errno == EINTR) {
  }
  return nullptr;
}
// Until it sleeps; a modeled thread, which /proc does not know, does after this while.
static void await(waits& other) {
  usleep(10000);
  while (other.thread == 0) usleep(1000);
  char name[64], state = 0;
  snprintf(name, sizeof name, "/proc/self/task/%d/stat", other.thread.load());
  for (; state != 'S'; usleep(1000)) {
    FILE* const file = fopen(name, "r");
    if (file == nullptr) return;
    if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1) exit(1);
    fclose(file);
  }
}
static int wake_both(int change, int before) {
  second = before;
  pthread_t threads[2];
  int mine = 0;
  waits at_first{&first}, at_mine{&mine};
  pthread_create(&threads[0], nullptr, wait_for, &at_first);
  pthread_create(&threads[1], nullptr, wait_for, &at_mine);
  await(at_first);
  await(at_mine);
  // Who waits at a word is woken by it as first, then as second word.
  long woken = futex(&first, FUTEX_WAKE_OP, 1, reinterpret_cast<void*>(1l), &second, change);
  woken = woken * 10 + futex(&first, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  const int as_before = FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 0);
  woken = woken * 10 +
          futex(&first, FUTEX_WAKE_OP, 1, reinterpret_cast<void*>(1l), &mine, as_before);
  for (const pthread_t each : threads) pthread_join(each, nullptr);
  return static_cast<int>(woken);
}
static void futexes() {
  const timespec bad{0, -1};
  say("askew", futex(reinterpret_cast<char*>(&first) + 1, FUTEX_WAIT, 0, nullptr, nullptr, 0));
  say("askew", futex(reinterpret_cast<char*>(&first) + 2, FUTEX_WAKE, 1, nullptr, nullptr, 0));
  say("no time", futex(&first, FUTEX_WAIT, 0, &bad, nullptr, 0));
  say("no time", futex(&first, FUTEX_WAIT_BITSET, 0, &bad, nullptr, 1));
  say("unknown", futex(&first, 99, 0, nullptr, nullptr, 0));
  const int changes[] = {
      FUTEX_OP(FUTEX_OP_SET, 7, FUTEX_OP_CMP_EQ, 5),
      FUTEX_OP(FUTEX_OP_ADD, -3, FUTEX_OP_CMP_NE, 5),
      FUTEX_OP(FUTEX_OP_OR, 10, FUTEX_OP_CMP_LT, 6),
      FUTEX_OP(FUTEX_OP_ANDN, 1, FUTEX_OP_CMP_LE, 4),
      FUTEX_OP(FUTEX_OP_XOR, 3, FUTEX_OP_CMP_GT, -1),
      FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_GE, 6),
      FUTEX_OP(FUTEX_OP_OPARG_SHIFT | FUTEX_OP_OR, 6, FUTEX_OP_CMP_EQ, 5)};
  for (const int change : changes) {
    const int woken = wake_both(change, 5);
    printf("changed to %d, woken %d\n", second, woken);
  }
  say("no such change", futex(&first, FUTEX_WAKE_OP, 1, nullptr, &second, 7 << 28));
}
int main() {
  clocks();
  selects();
  futexes();
  const sched_param some{5};
  say("a priority", pthread_setschedparam(pthread_self(), SCHED_OTHER, &some), false);
}
"""

PROGRAMS = {"signal_stacks": SIGNAL_STACKS, "names": NAMES, "answers": ANSWERS}


def run(program: Path) -> subprocess.CompletedProcess:
    environ = {**os.environ, "SYNCOPATE_MACHINE": "test-4c", "SYNCOPATE_QUIET": "1"}
    return subprocess.run([program], env=environ, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_says_what_it_says_natively(name, tmp_path):
    simulated = build(tmp_path, name, HEAD + PROGRAMS[name])
    native = tmp_path / "native"
    command = ["c++", "-O1", "-pthread", f"{name}.cpp", "-o", native]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    expected, done = run(native), run(simulated)
    assert expected.returncode == 0
    assert expected.stdout.count("\n") > 3
    assert (done.returncode, done.stdout) == (0, expected.stdout), done.stderr
