// test_spurious_wakeups.cpp -- sleepers are woken falsely, on the very words that they sleep
// on: they sleep on, nobody is let in, no time-out comes early, and nothing is lost afterwards.
//
// The kernel tells where a thread sleeps (/proc/self/task/TID/syscall), so the test needs no
// knowledge of any lock's inside. A lock whose waiters do not sleep gets no wake-up here; its test
// is then exclusion alone.
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <atomic>

#include "thread.h"

namespace {

constexpr int waiter_count = 3;
constexpr int rounds = 60;

// Wakes the thread if it sleeps on a futex. Returns: how many threads that woke.
long wake_falsely(int tid) {
  char path[64];
  char text[256] = "";
  snprintf(path, sizeof path, "/proc/self/task/%d/syscall", tid);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  long number = -1;
  unsigned long address = 0;
  unsigned long operation = 0;
  if (length <= 0 || sscanf(text, "%ld %lx %lx", &number, &address, &operation) != 3) return 0;
  const unsigned long command = operation & FUTEX_CMD_MASK;
  if (number != SYS_futex || (command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET)) return 0;
  const long woken =
      syscall(SYS_futex, address, FUTEX_WAKE | (operation & FUTEX_PRIVATE_FLAG), 100, 0, 0, 0);
  return woken > 0 ? woken : 0;
}

// Threads that call `enter` and are to be kept waiting in it.
class Waiters {
 public:
  explicit Waiters(const std::function<void(int)>& enter) {
    for (int i = 0; i < waiter_count; ++i)
      threads_.emplace_back([this, enter, i] {
        tids_[i] = static_cast<int>(syscall(SYS_gettid));
        enter(i);
        ++through_;
      });
  }
  // Returns: how many sleepers were woken in vain. Where others keep the processors busy it may
  // take seconds until one sleeps.
  long disturb() {
    constexpr int at_most = 50'000;
    long woken = 0;
    for (int round = 0; round < (woken == 0 ? at_most : rounds); ++round) {
      for (const std::atomic<int>& tid : tids_)
        if (tid != 0) woken += wake_falsely(tid);
      usleep(300);
    }
    return woken;
  }
  [[nodiscard]] int through() const { return through_; }
  void join() { threads_.clear(); }

 private:
  std::atomic<int> tids_[waiter_count] = {};
  std::atomic<int> through_{0};
  std::deque<Thread> threads_;
};

void a_mutex_lets_nobody_in(int kind) {
  pthread_mutexattr_t attributes;
  pthread_mutex_t mutex;
  CHECK_OK(pthread_mutexattr_init(&attributes));
  CHECK_OK(pthread_mutexattr_settype(&attributes, kind));
  CHECK_OK(pthread_mutex_init(&mutex, &attributes));
  std::atomic<int> inside{0};
  CHECK_OK(pthread_mutex_lock(&mutex));
  Waiters waiters([&](int i) {
    const timespec far = in_ms(CLOCK_REALTIME, 1000000);
    CHECK_OK(i == 0 ? pthread_mutex_timedlock(&mutex, &far) : pthread_mutex_lock(&mutex));
    CHECK_EQ(++inside, 1);
    --inside;
    CHECK_OK(pthread_mutex_unlock(&mutex));
  });
  printf("mutex of kind %d: %ld sleepers woken in vain\n", kind, waiters.disturb());
  CHECK_EQ(waiters.through(), 0);
  CHECK_EQ(inside, 0);
  CHECK_OK(pthread_mutex_unlock(&mutex));
  waiters.join();
  CHECK_EQ(waiters.through(), waiter_count);
  CHECK_OK(pthread_mutex_destroy(&mutex));
}

void no_timeout_comes_early() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  const timespec deadline = in_ms(CLOCK_REALTIME, 60);
  CHECK_OK(pthread_mutex_lock(&mutex));
  Waiters waiters([&](int) {
    CHECK_ERR(pthread_mutex_timedlock(&mutex, &deadline), ETIMEDOUT);
    CHECK(has_passed(CLOCK_REALTIME, &deadline));
  });
  waiters.disturb();
  waiters.join();
  CHECK_OK(pthread_mutex_unlock(&mutex));
}

// The first waiter wants to write, the others to read.
int take(pthread_rwlock_t* rwlock, int i) {
  return i == 0 ? pthread_rwlock_wrlock(rwlock) : pthread_rwlock_rdlock(rwlock);
}

// Disturbs waiters while this thread holds the rwlock; none gets through before it lets go.
template <class Wait>
void none_gets_past(pthread_rwlock_t* rwlock, Wait wait) {
  Waiters waiters(wait);
  CHECK(waiters.disturb() > 0);
  CHECK_EQ(waiters.through(), 0);
  CHECK_OK(pthread_rwlock_unlock(rwlock));
  waiters.join();
  CHECK_EQ(waiters.through(), waiter_count);
}

void a_writer_keeps_all_out() {
  pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
  CHECK_OK(pthread_rwlock_wrlock(&rwlock));
  none_gets_past(&rwlock, [&](int i) {
    CHECK_OK(take(&rwlock, i));
    CHECK_OK(pthread_rwlock_unlock(&rwlock));
  });
}

void a_reader_keeps_writers_out() {
  pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
  std::atomic<int> writing{0};
  CHECK_OK(pthread_rwlock_rdlock(&rwlock));
  none_gets_past(&rwlock, [&](int) {
    CHECK_OK(pthread_rwlock_wrlock(&rwlock));
    CHECK_EQ(++writing, 1);
    --writing;
    CHECK_OK(pthread_rwlock_unlock(&rwlock));
  });
}

void a_barrier_waits_for_the_last() {
  pthread_barrier_t barrier;
  std::atomic<int> serial{0};
  CHECK_OK(pthread_barrier_init(&barrier, nullptr, waiter_count + 1));
  const auto arrive = [&] {
    const int result = pthread_barrier_wait(&barrier);
    CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
    if (result == PTHREAD_BARRIER_SERIAL_THREAD) ++serial;
  };
  for (int episode = 1; episode <= 2; ++episode) {
    Waiters waiters([&](int) { arrive(); });
    CHECK(waiters.disturb() > 0);
    CHECK_EQ(waiters.through(), 0);
    arrive();
    waiters.join();
    CHECK_EQ(waiters.through(), waiter_count);
    CHECK_EQ(serial, episode);
  }
  CHECK_OK(pthread_barrier_destroy(&barrier));
}

// Waiters that each take a token; `timed` ones wait with a deadline that is far.
void a_condition_wakes_for_signals(bool timed) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  int tokens = 0;
  Waiters waiters([&](int) {
    const timespec far = in_ms(CLOCK_REALTIME, 1000000);
    CHECK_OK(pthread_mutex_lock(&mutex));
    while (tokens == 0)
      CHECK_OK(timed ? pthread_cond_timedwait(&cond, &mutex, &far)
                     : pthread_cond_wait(&cond, &mutex));
    --tokens;
    CHECK_OK(pthread_mutex_unlock(&mutex));
  });
  for (int given = 0; given < waiter_count; ++given) {
    CHECK(waiters.disturb() > 0);
    CHECK_EQ(waiters.through(), given);
    CHECK_OK(pthread_mutex_lock(&mutex));
    ++tokens;
    CHECK_OK(pthread_cond_signal(&cond));
    CHECK_OK(pthread_mutex_unlock(&mutex));
    while (waiters.through() <= given) usleep(100);
  }
  waiters.join();
  CHECK_EQ(tokens, 0);
}

}  // namespace

int main() {
  check_begin();
  for (const int kind : {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                         PTHREAD_MUTEX_ADAPTIVE_NP})
    a_mutex_lets_nobody_in(kind);
  no_timeout_comes_early();
  a_writer_keeps_all_out();
  a_reader_keeps_writers_out();
  a_barrier_waits_for_the_last();
  a_condition_wakes_for_signals(false);
  a_condition_wakes_for_signals(true);
  return check_end();
}
