// timed_waits.cpp -- waits that end by time, on both clocks: not early, and on a modeled machine
// not late either. SYNCOPATE_TEST_LATENESS_US is how late they may be (default: real machines may
// be busy).

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <utility>

#include <poll.h>
#include <pthread.h>
#include <sys/select.h>

#include "check.h"

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

nanoseconds allowed_lateness() {
  const char* const text = std::getenv("SYNCOPATE_TEST_LATENESS_US");
  return text != nullptr ? microseconds(std::atoi(text)) : std::chrono::seconds(30);
}

nanoseconds now(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return std::chrono::seconds(t.tv_sec) + nanoseconds(t.tv_nsec);
}

timespec to_timespec(nanoseconds t) {
  return {static_cast<time_t>(t.count() / 1'000'000'000),
          static_cast<long>(t.count() % 1'000'000'000)};
}

// wait(absolute time) must take as long as it is asked to.
template <class Wait>
void takes(nanoseconds asked, clockid_t clock, Wait wait) {
  const nanoseconds begin = now(clock);
  const timespec until = to_timespec(begin + asked);
  wait(until);
  const nanoseconds took = now(clock) - begin;
  CHECK(took >= asked);
  CHECK(took <= asked + allowed_lateness());
}

void mutexes(nanoseconds asked) {
  pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&held);
  std::thread([&] {
    takes(asked, CLOCK_REALTIME, [&](const timespec& until) {
      CHECK(pthread_mutex_timedlock(&held, &until) == ETIMEDOUT);
    });
    takes(asked, CLOCK_MONOTONIC, [&](const timespec& until) {
      CHECK(pthread_mutex_clocklock(&held, CLOCK_MONOTONIC, &until) == ETIMEDOUT);
    });
    const timespec invalid{0, -1};
    CHECK(pthread_mutex_timedlock(&held, &invalid) == EINVAL);
  }).join();
  pthread_mutex_unlock(&held);
  const timespec invalid{0, -1};
  CHECK(pthread_mutex_timedlock(&held, &invalid) == 0);
  pthread_mutex_unlock(&held);
}

void conditions(nanoseconds asked) {
  std::mutex mutex;
  std::condition_variable condition;
  std::unique_lock lock(mutex);
  takes(asked, CLOCK_MONOTONIC,
        [&](const timespec&) { CHECK(!condition.wait_for(lock, asked, [] { return false; })); });
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_t monotonic;
  CHECK(pthread_cond_init(&monotonic, &attributes) == 0);
  pthread_condattr_destroy(&attributes);
  takes(asked, CLOCK_MONOTONIC, [&](const timespec& until) {
    int result = 0;
    while (result == 0) result = pthread_cond_timedwait(&monotonic, mutex.native_handle(), &until);
    CHECK(result == ETIMEDOUT);
  });
  const timespec invalid{0, 1'000'000'000};
  CHECK(pthread_cond_timedwait(&monotonic, mutex.native_handle(), &invalid) == EINVAL);
  CHECK(pthread_cond_destroy(&monotonic) == 0);
}

void rwlocks(nanoseconds asked) {
  std::shared_timed_mutex lock;
  lock.lock_shared();
  std::thread([&] {
    takes(asked, CLOCK_MONOTONIC, [&](const timespec&) { CHECK(!lock.try_lock_for(asked)); });
    CHECK(lock.try_lock_shared_for(asked));
    lock.unlock_shared();
  }).join();
  lock.unlock_shared();
}

void joins(nanoseconds asked) {
  std::mutex mutex;
  mutex.lock();
  std::thread t([&] { const std::scoped_lock lock(mutex); });
  takes(asked, CLOCK_REALTIME, [&](const timespec& until) {
    CHECK(pthread_tryjoin_np(t.native_handle(), nullptr) == EBUSY);
    CHECK(pthread_timedjoin_np(t.native_handle(), nullptr, &until) == ETIMEDOUT);
  });
  mutex.unlock();
  t.join();
}

void sleeps(nanoseconds asked) {
  takes(asked, CLOCK_MONOTONIC, [&](const timespec&) { std::this_thread::sleep_for(asked); });
  takes(asked, CLOCK_REALTIME, [&](const timespec& until) {
    CHECK(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, nullptr) == 0);
  });
  const timespec how_long = to_timespec(asked);
  sigset_t none;
  sigemptyset(&none);
  takes(asked, CLOCK_MONOTONIC, [&](const timespec&) {
    timeval t{how_long.tv_sec, how_long.tv_nsec / 1000};
    CHECK(select(0, nullptr, nullptr, nullptr, &t) == 0);
  });
  for (const sigset_t* mask : {static_cast<const sigset_t*>(nullptr), &std::as_const(none)}) {
    takes(asked, CLOCK_MONOTONIC, [&](const timespec&) {
      CHECK(pselect(0, nullptr, nullptr, nullptr, &how_long, mask) == 0);
    });
    takes(asked, CLOCK_MONOTONIC,
          [&](const timespec&) { CHECK(ppoll(nullptr, 0, &how_long, mask) == 0); });
  }
}

}  // namespace

int main() {
  for (const nanoseconds asked : {nanoseconds(microseconds(200)), nanoseconds(milliseconds(3))}) {
    mutexes(asked);
    conditions(asked);
    rwlocks(asked);
    joins(asked);
    sleeps(asked);
  }
}
