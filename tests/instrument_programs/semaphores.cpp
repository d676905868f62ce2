// semaphores.cpp -- sem_t and std::counting_semaphore: never more inside than tokens.

#include <atomic>
#include <cerrno>
#include <ctime>
#include <semaphore>
#include <thread>
#include <vector>

#include <semaphore.h>

#include "check.h"

namespace {

template <class Acquire, class Release>
void at_most_two_inside(Acquire acquire, Release release) {
  std::atomic<int> inside{0}, total{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 5; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        acquire();
        CHECK(inside.fetch_add(1) < 2);
        std::this_thread::yield();
        inside.fetch_sub(1);
        total.fetch_add(1);
        release();
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(total.load() == 50);
}

void results() {
  sem_t s;
  CHECK(sem_init(&s, 0, 1) == 0);
  CHECK(sem_trywait(&s) == 0);
  errno = 0;
  CHECK(sem_trywait(&s) == -1 && errno == EAGAIN);
  int value = -1;
  CHECK(sem_getvalue(&s, &value) == 0 && value == 0);
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  CHECK(sem_timedwait(&s, &now) == -1 && errno == ETIMEDOUT);
  clock_gettime(CLOCK_MONOTONIC, &now);
  CHECK(sem_clockwait(&s, CLOCK_MONOTONIC, &now) == -1 && errno == ETIMEDOUT);
  now.tv_nsec = 1'000'000'000;
  CHECK(sem_timedwait(&s, &now) == -1 && errno == EINVAL);
  CHECK(sem_post(&s) == 0);
  CHECK(sem_timedwait(&s, &now) == -1 && errno == EINVAL);  // glibc checks before it looks
  CHECK(sem_wait(&s) == 0);
  CHECK(sem_destroy(&s) == 0);
  CHECK(sem_init(&s, 0, SEM_VALUE_MAX) == 0);
  CHECK(sem_post(&s) == -1 && errno == EOVERFLOW);
  CHECK(sem_destroy(&s) == 0);
}

}  // namespace

int main() {
  sem_t posix;
  CHECK(sem_init(&posix, 0, 2) == 0);
  at_most_two_inside([&] { CHECK(sem_wait(&posix) == 0); }, [&] { CHECK(sem_post(&posix) == 0); });
  CHECK(sem_destroy(&posix) == 0);
  std::counting_semaphore<2> standard(2);
  at_most_two_inside([&] { standard.acquire(); }, [&] { standard.release(); });
  results();
}
