// check.h -- checks, watchdog and small clocks for the POSIX programs; plain C and C++, no
// framework.
//
// The programs must look like users' programs, so this header uses nothing but libc. Counters
// live in shared memory: a forked child's checks count in its parent. Failures are printed at
// once with write(2), or kept in the shared page while check_state->quiet is set (closed
// descriptors, seccomp).
#ifndef SYNCOPATE_TESTS_POSIX_CHECK_H
#define SYNCOPATE_TESTS_POSIX_CHECK_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { check_text_size = 1 << 16, check_watchdog_seconds = 60 };

struct check_shared {
  int passed;
  int failed;
  int quiet;
  int last_line;
  const char* last_file;
  int used;
  char text[check_text_size];
};

static struct check_shared* check_state;

static inline void check_put(const char* text, size_t length) {
  if (write(1, text, length) < 0) check_state->quiet = 1;
}

static inline void check_fail(const char* file, int line, const char* what, const char* expected,
                              const char* got) {
  char text[512];
  int length = snprintf(text, sizeof text, "%s:%d: %s: expected %s, got %s\n", file, line, what,
                        expected, got);
  if (length >= (int)sizeof text) length = (int)sizeof text - 1;
  // A stress loop may fail a million times: the first hundred lines tell enough.
  if (__atomic_add_fetch(&check_state->failed, 1, __ATOMIC_RELAXED) > 100) return;
  if (!check_state->quiet) {
    check_put(text, (size_t)length);
    return;
  }
  int at = __atomic_fetch_add(&check_state->used, length, __ATOMIC_RELAXED);
  if (at + length < check_text_size) memcpy(check_state->text + at, text, (size_t)length);
}

static inline void check_at(const char* file, int line) {
  __atomic_store_n(&check_state->last_file, file, __ATOMIC_RELAXED);
  __atomic_store_n(&check_state->last_line, line, __ATOMIC_RELAXED);
}

static inline void check_pass(void) {
  __atomic_add_fetch(&check_state->passed, 1, __ATOMIC_RELAXED);
}

static inline void check_flush(void) {
  int used = __atomic_load_n(&check_state->used, __ATOMIC_RELAXED);
  if (used > check_text_size) used = check_text_size;
  if (used > 0) check_put(check_state->text, (size_t)used);
}

static inline const char* check_errno_name(int error, char buffer[32]) {
  if (error == 0) return "0";
  const char* name = error > 0 ? strerrorname_np(error) : NULL;
  if (name != NULL) return name;
  snprintf(buffer, 32, "%d", error);
  return buffer;
}

static inline int check_error_(const char* file, int line, const char* what, int got,
                               int expected) {
  char a[32], b[32];
  check_at(file, line);
  if (got == expected) {
    check_pass();
    return 1;
  }
  check_fail(file, line, what, check_errno_name(expected, a), check_errno_name(got, b));
  return 0;
}

static inline int check_equal_(const char* file, int line, const char* what, long long got,
                               long long expected) {
  char a[32], b[32];
  check_at(file, line);
  if (got == expected) {
    check_pass();
    return 1;
  }
  snprintf(a, sizeof a, "%lld", expected);
  snprintf(b, sizeof b, "%lld", got);
  check_fail(file, line, what, a, b);
  return 0;
}

static inline int check_true_(const char* file, int line, const char* what, int holds) {
  check_at(file, line);
  if (holds) {
    check_pass();
    return 1;
  }
  check_fail(file, line, what, "true", "false");
  return 0;
}

// CHECK_ERR(call, errno value): the call returned exactly this error (0 = success).
#define CHECK_ERR(call, expected) \
  (check_at(__FILE__, __LINE__), check_error_(__FILE__, __LINE__, #call, (call), (expected)))
#define CHECK_OK(call) CHECK_ERR(call, 0)
#define CHECK_EQ(got, expected)  \
  (check_at(__FILE__, __LINE__), \
   check_equal_(__FILE__, __LINE__, #got, (long long)(got), (long long)(expected)))
#define CHECK(condition) check_true_(__FILE__, __LINE__, #condition, (condition) ? 1 : 0)
// MUST(condition): for set-up without which the rest means nothing; ends the program when it fails.
#define MUST(condition)                        \
  do {                                         \
    if (!CHECK(condition)) _exit(check_end()); \
  } while (0)

static inline void check_on_alarm(int number) {
  char text[256];
  (void)number;
  check_flush();
  int length = snprintf(text, sizeof text,
                        "%s:%d: HANG: no progress after the last check started here\n"
                        "%d passed, %d failed\n",
                        check_state->last_file ? check_state->last_file : "start",
                        check_state->last_line, check_state->passed, check_state->failed + 1);
  if (write(1, text, (size_t)length) < 0) _exit(4);
  _exit(3);
}

static inline void check_watchdog(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = check_on_alarm;
  sigaction(SIGALRM, &action, NULL);
  const char* given = getenv("CHECK_SECONDS");  // a shorter watchdog, for work on the tests
  alarm(given != NULL ? (unsigned)atoi(given) : (unsigned)check_watchdog_seconds);
}

static inline void check_begin(void) {
  void* page = mmap(NULL, sizeof(struct check_shared), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) abort();
  check_state = (struct check_shared*)page;
  check_watchdog();
}

static inline int check_end(void) {
  char text[96];
  check_flush();
  int length = snprintf(text, sizeof text, "%d passed, %d failed\n", check_state->passed,
                        check_state->failed);
  check_put(text, (size_t)length);
  return check_state->failed == 0 && check_state->passed > 0 ? 0 : 1;
}

// Forks; the child returns 0 here, has its own watchdog, and dies with its parent.
static inline pid_t check_fork(void) {
  pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    check_watchdog();
  }
  return child;
}

static inline int check_reaped_(const char* file, int line, pid_t child, int expected) {
  int status = 0;
  check_at(file, line);
  if (waitpid(child, &status, 0) != child) status = -1;
  int code = WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
  return check_equal_(file, line, "child's exit status (1000 + signal if killed)", code, expected);
}
#define CHECK_CHILD(child) check_reaped_(__FILE__, __LINE__, (child), 0)

// --- time ---------------------------------------------------------------------------------------

static inline struct timespec time_add_ms(struct timespec from, long milliseconds) {
  long long nanoseconds = from.tv_nsec + (milliseconds % 1000) * 1000000LL;
  from.tv_sec += milliseconds / 1000;
  if (nanoseconds < 0) {
    nanoseconds += 1000000000;
    from.tv_sec -= 1;
  }
  from.tv_sec += nanoseconds / 1000000000;
  from.tv_nsec = nanoseconds % 1000000000;
  return from;
}

// The time on `clock` which is so many milliseconds from now (negative: in the past).
static inline struct timespec in_ms(clockid_t clock, long milliseconds) {
  struct timespec now;
  clock_gettime(clock, &now);
  return time_add_ms(now, milliseconds);
}

static inline int has_passed(clockid_t clock, const struct timespec* deadline) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec > deadline->tv_sec ||
         (now.tv_sec == deadline->tv_sec && now.tv_nsec >= deadline->tv_nsec);
}

static inline long long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static inline void sleep_ms(long milliseconds) {
  struct timespec left = {milliseconds / 1000, (milliseconds % 1000) * 1000000};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

// Waits until *word is `value`; with sleeps, since the machine may have a single core.
static inline void await_int(const int* word, int value) {
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) usleep(100);
}
static inline void set_int(int* word, int value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}
static inline int add_int(int* word, int value) {
  return __atomic_add_fetch(word, value, __ATOMIC_ACQ_REL);
}
static inline int get_int(const int* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

// --- memory and random choices
// --------------------------------------------------------------------

// Zeroed memory shared with children.
static inline void* shared_memory(size_t size) {
  void* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) abort();
  return memory;
}

// The seed of this run: SEED=, else the clock. Printed, so that a failure can be replayed.
static inline unsigned check_seed(void) {
  const char* given = getenv("SEED");
  unsigned seed = given != NULL ? (unsigned)strtoul(given, NULL, 0)
                                : (unsigned)in_ms(CLOCK_REALTIME, 0).tv_nsec;
  printf("replay with SEED=%u\n", seed);
  fflush(stdout);
  return seed;
}

static inline unsigned next_random(unsigned* state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

#endif
