// Condition variables: two of POSIX with one mutex, and one of C++.
#include <pthread.h>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "objects.h"

using namespace std::chrono_literals;

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t conditions[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
int ready[2];
std::mutex std_mutex;
std::condition_variable std_condition;
int flag;

}  // namespace

namespace operations {

int timed_wait(const step& s) {
  pthread_mutex_lock(&mutex);
  const timespec until = soon(CLOCK_REALTIME);
  const int error = pthread_cond_timedwait(&conditions[s.variable], &mutex, &until);
  const int found = ready[s.variable];
  pthread_mutex_unlock(&mutex);
  return error * 10 + found;
}

int timed_wait_until_ready(const step& s) {
  pthread_mutex_lock(&mutex);
  const timespec until = soon(CLOCK_MONOTONIC);
  int error = 0;
  while (ready[s.variable] == 0 && error == 0)
    error = pthread_cond_clockwait(&conditions[s.variable], &mutex, CLOCK_MONOTONIC, &until);
  const int found = ready[s.variable];
  ready[s.variable] = 0;
  pthread_mutex_unlock(&mutex);
  return error * 10 + found;
}

int signal_one(const step& s) {
  pthread_cond_signal(&conditions[s.variable]);
  return 0;
}

int signal_all(const step& s) {
  const bool with_mutex = s.choice != 0;
  if (with_mutex) pthread_mutex_lock(&mutex);
  pthread_cond_broadcast(&conditions[s.variable]);
  if (with_mutex) pthread_mutex_unlock(&mutex);
  return 0;
}

int set_ready(const step& s) {
  const bool with_mutex = s.choice == 0;
  pthread_mutex_lock(&mutex);
  ready[s.variable] = s.value;
  if (with_mutex) pthread_cond_signal(&conditions[s.variable]);
  pthread_mutex_unlock(&mutex);
  if (!with_mutex) pthread_cond_signal(&conditions[s.variable]);
  return 0;
}

int std_timed_wait(const step& s) {
  std::unique_lock held(std_mutex);
  const bool told = std_condition.wait_for(held, 1us, [] { return flag != 0; });
  const int found = flag;
  if (s.choice == 0) flag = 0;
  return (told ? 10 : 0) + found;
}

int std_set_flag(const step& s) {
  {
    const std::lock_guard held(std_mutex);
    flag = s.value;
  }
  if (s.choice != 0) std_condition.notify_one();
  else std_condition.notify_all();
  return 0;
}

}  // namespace operations

void tell_ends_of_conditions() {
  for (const int each : ready) tell_end(each);
  tell_end(flag);
}
