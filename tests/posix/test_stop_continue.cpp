// test_stop_continue.cpp -- a contending process is stopped and continued: nothing is lost,
// deadlines hold.
#include "contention.h"

namespace {

void stop_for_a_moment(pid_t child) {
  int status = 0;
  if (kill(child, SIGSTOP) != 0) return;
  waitpid(child, &status, WUNTRACED);
  if (!WIFSTOPPED(status)) {
    check_fail(__FILE__, __LINE__, "child", "stopped", "ended");
    return;
  }
  sleep_ms(2);
  kill(child, SIGCONT);
}

void contenders() {
  auto* done = static_cast<int*>(shared_memory(sizeof(int)));
  const pid_t child = check_fork();
  if (child == 0) {
    contend_after(4, 1500, [] {});
    set_int(done, 1);
    await_int(done, 2);
    _exit(0);
  }
  int stops = 0;
  do {
    sleep_ms(2);
    stop_for_a_moment(child);
    ++stops;
  } while (get_int(done) == 0);
  set_int(done, 2);
  CHECK_CHILD(child);
  CHECK(stops > 0);
}

// Stopped in the middle of timed waits that pass their deadline meanwhile.
void timed_waits() {
  auto* waiting = static_cast<int*>(shared_memory(sizeof(int)));
  const pid_t child = check_fork();
  if (child == 0) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    CHECK_OK(pthread_mutex_lock(&mutex));
    Thread waiter([&] {
      const timespec deadline = in_ms(CLOCK_REALTIME, 8);
      set_int(waiting, 1);
      CHECK_ERR(pthread_mutex_timedlock(&mutex, &deadline), ETIMEDOUT);
    });
    const timespec deadline = in_ms(CLOCK_MONOTONIC, 8);
    pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
    CHECK_OK(pthread_mutex_lock(&other));
    int error = 0;
    while (error == 0) error = pthread_cond_clockwait(&cond, &other, CLOCK_MONOTONIC, &deadline);
    CHECK_ERR(error, ETIMEDOUT);
    CHECK_OK(pthread_mutex_unlock(&other));
    waiter.join();
    set_int(waiting, 2);
    await_int(waiting, 3);
    _exit(0);
  }
  // At least: the child goes on to 2 by itself, perhaps before this process has looked.
  while (get_int(waiting) < 1) sleep_ms(1);
  for (int i = 0; i < 4; ++i) {
    stop_for_a_moment(child);
    sleep_ms(3);
  }
  await_int(waiting, 2);
  set_int(waiting, 3);
  CHECK_CHILD(child);
}

}  // namespace

int main() {
  check_begin();
  contenders();
  for (int i = 0; i < 5; ++i) timed_waits();
  return check_end();
}
