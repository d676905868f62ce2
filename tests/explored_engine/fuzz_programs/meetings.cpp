// Where threads meet or hand something over: latch, barriers, semaphores, a promise.
#include <pthread.h>
#include <semaphore.h>
#include <barrier>
#include <chrono>
#include <future>
#include <latch>
#include <optional>
#include <semaphore>

#include "objects.h"

using namespace std::chrono_literals;

namespace {

std::optional<std::latch> latch;
std::optional<std::barrier<>> barrier;
pthread_barrier_t posix_barrier;
std::counting_semaphore<16> semaphore(0);
sem_t posix_semaphore;
std::optional<std::promise<int>> promise;
std::optional<std::shared_future<int>> value;

int value_within(std::chrono::microseconds most) {
  return value->wait_for(most) == std::future_status::ready ? 10 + value->get() : -1;
}

}  // namespace

namespace operations {

int latch_down(const step&) {
  latch->count_down();
  return 0;
}

int latch_try(const step& s) { return latch->try_wait() ? 10 + load_relaxed(s) : 0; }

int latch_meet(const step& s) {
  latch->arrive_and_wait();
  return load_relaxed(s);
}

int barrier_meet(const step& s) {
  barrier->arrive_and_wait();
  return load_relaxed(s);
}

int posix_barrier_meet(const step& s) {
  pthread_barrier_wait(&posix_barrier);
  return load_relaxed(s);
}

int semaphore_release(const step& s) {
  semaphore.release(s.choice == 0 ? 2 : 1);
  return 0;
}

int semaphore_try(const step&) { return semaphore.try_acquire(); }

int semaphore_timed(const step&) { return semaphore.try_acquire_for(1us); }

int posix_semaphore_post(const step&) { return sem_post(&posix_semaphore); }

int posix_semaphore_try(const step& s) {
  const int error = sem_trywait(&posix_semaphore);
  int left = -1;
  if (s.choice == 0) sem_getvalue(&posix_semaphore, &left);
  return error * 10 + left;
}

int posix_semaphore_timed(const step&) {
  const timespec until = soon(CLOCK_REALTIME);
  return sem_timedwait(&posix_semaphore, &until);
}

int promise_set(const step& s) {
  promise->set_value(s.value);
  return 0;
}

int future_timed(const step&) { return value_within(1us); }

int future_poll(const step&) { return value_within(0us); }

}  // namespace operations

void start_meetings(const plan& p) {
  latch.emplace(count_of(p, kind::latch_down) + count_of(p, kind::latch_meet));
  barrier.emplace(count_of(p, kind::barrier_meet));
  const int at_barrier = count_of(p, kind::posix_barrier_meet);
  if (at_barrier != 0) pthread_barrier_init(&posix_barrier, nullptr, unsigned(at_barrier));
  sem_init(&posix_semaphore, 0, 0);
  promise.emplace();
  value.emplace(promise->get_future().share());
}

void tell_ends_of_meetings() {
  int releases = 0;
  while (semaphore.try_acquire()) ++releases;
  tell_end(releases);
  int posts = 0;
  sem_getvalue(&posix_semaphore, &posts);
  tell_end(posts);
}
