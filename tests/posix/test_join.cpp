// Joining threads: results, errors, time limits, cancellation of who waits, C11's threads.
#include <cassert>
#include <cerrno>
#include <cstdint>
#include <ctime>

#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

namespace {

sem_t go;

void* wait_for_go(void* value) {
  while (sem_wait(&go) != 0) {
  }
  return value;
}

timespec soon(clockid_t clock) {
  timespec at;
  clock_gettime(clock, &at);
  at.tv_nsec += 20'000'000;
  at.tv_sec += at.tv_nsec / 1'000'000'000;
  at.tv_nsec %= 1'000'000'000;
  return at;
}

void test_results_and_limits() {
  pthread_t thread;
  int something;
  assert(pthread_create(&thread, nullptr, wait_for_go, &something) == 0);
  const timespec real = soon(CLOCK_REALTIME), steady = soon(CLOCK_MONOTONIC);
  void* result = nullptr;
  assert(pthread_timedjoin_np(thread, &result, &real) == ETIMEDOUT);
  assert(pthread_clockjoin_np(thread, &result, CLOCK_MONOTONIC, &steady) == ETIMEDOUT);
  assert(pthread_tryjoin_np(thread, &result) == EBUSY);
  sem_post(&go);
  assert(pthread_join(thread, &result) == 0 && result == &something);
  assert(pthread_join(pthread_self(), nullptr) == EDEADLK);
}

void* join_that(void* thread) {
  pthread_join(*static_cast<pthread_t*>(thread), nullptr);
  return nullptr;
}

void test_cancellation_leaves_the_thread_joinable() {
  pthread_t thread, waiter;
  assert(pthread_create(&thread, nullptr, wait_for_go, nullptr) == 0);
  assert(pthread_create(&waiter, nullptr, join_that, &thread) == 0);
  assert(pthread_cancel(waiter) == 0);
  void* result;
  assert(pthread_join(waiter, &result) == 0 && result == PTHREAD_CANCELED);
  sem_post(&go);
  assert(pthread_join(thread, nullptr) == 0);
}

void test_c11() {
  thrd_t thread;
  int result;
  assert(thrd_create(
             &thread, [](void*) { return 42; }, nullptr) == thrd_success);
  assert(thrd_join(thread, &result) == thrd_success && result == 42);
}

}  // namespace

int main() {
  sem_init(&go, 0, 0);
  test_results_and_limits();
  test_cancellation_leaves_the_thread_joinable();
  test_c11();
  return 0;
}
