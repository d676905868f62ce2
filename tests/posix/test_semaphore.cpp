// Semaphores: each function's results, errno left alone, exclusion, signals between threads,
// cancellation in a wait, and a named one.
#include <cassert>
#include <cerrno>
#include <ctime>
#include <string>

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

namespace {

timespec in_ms(clockid_t clock, long ms) {
  timespec at;
  clock_gettime(clock, &at);
  at.tv_nsec += ms * 1'000'000;
  at.tv_sec += at.tv_nsec / 1'000'000'000;
  at.tv_nsec %= 1'000'000'000;
  return at;
}

int value_of(sem_t* s) {
  int value;
  assert(sem_getvalue(s, &value) == 0);
  return value;
}

void test_results() {
  sem_t s;
  assert(sem_init(&s, 0, 2) == 0);
  errno = 77;
  assert(sem_wait(&s) == 0 && sem_trywait(&s) == 0 && errno == 77);
  assert(sem_trywait(&s) == -1 && errno == EAGAIN);
  const timespec soon = in_ms(CLOCK_REALTIME, 20), steady = in_ms(CLOCK_MONOTONIC, 20);
  assert(sem_timedwait(&s, &soon) == -1 && errno == ETIMEDOUT);
  assert(sem_clockwait(&s, CLOCK_MONOTONIC, &steady) == -1 && errno == ETIMEDOUT);
  const timespec invalid{0, -1};
  assert(sem_timedwait(&s, &invalid) == -1 && errno == EINVAL);
  errno = 78;
  assert(sem_post(&s) == 0 && value_of(&s) == 1);
  assert(sem_timedwait(&s, &soon) == 0 && value_of(&s) == 0 && errno == 78);
  assert(sem_destroy(&s) == 0);
  assert(sem_init(&s, 0, 1u << 31) == -1 && errno == EINVAL);
}

sem_t lock, done;
long counter;

void* count(void*) {
  for (int i = 0; i < 20'000; ++i) {
    while (sem_wait(&lock) != 0) assert(errno == EINTR);
    ++counter;
    assert(sem_post(&lock) == 0);
  }
  sem_post(&done);
  return nullptr;
}

void test_exclusion(int shared) {
  assert(sem_init(&lock, shared, 1) == 0 && sem_init(&done, shared, 0) == 0);
  counter = 0;
  pthread_t threads[4];
  for (pthread_t& t : threads) assert(pthread_create(&t, nullptr, count, nullptr) == 0);
  for (int i = 0; i < 4; ++i) assert(sem_wait(&done) == 0);
  assert(counter == 80'000 && value_of(&lock) == 1);
  for (const pthread_t t : threads) assert(pthread_join(t, nullptr) == 0);
  sem_destroy(&lock);
  sem_destroy(&done);
}

bool cleaned;

void* wait_for_ever(void* s) {
  pthread_cleanup_push([](void*) { cleaned = true; }, nullptr);
  sem_wait(static_cast<sem_t*>(s));
  pthread_cleanup_pop(0);
  return nullptr;
}

void test_cancellation() {
  sem_t s;
  sem_init(&s, 0, 0);
  pthread_t thread;
  assert(pthread_create(&thread, nullptr, wait_for_ever, &s) == 0);
  assert(pthread_cancel(thread) == 0);
  void* result;
  assert(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED && cleaned);
  assert(sem_post(&s) == 0 && value_of(&s) == 1);
}

void test_named() {
  const std::string name = "/syncopate-test-" + std::to_string(getpid());
  sem_t* const s = sem_open(name.c_str(), O_CREAT | O_EXCL, 0600, 1);
  if (s == SEM_FAILED) return;  // no /dev/shm here
  assert(sem_open(name.c_str(), 0) == s);
  assert(sem_wait(s) == 0 && sem_trywait(s) == -1 && errno == EAGAIN);
  assert(sem_post(s) == 0 && value_of(s) == 1);
  assert(sem_unlink(name.c_str()) == 0 && sem_close(s) == 0);
}

}  // namespace

int main() {
  test_results();
  test_exclusion(0);
  test_exclusion(1);
  test_cancellation();
  test_named();
  return 0;
}
