// test_cond_destroy.cpp -- destroy, and unmapping the memory, as soon as the waiters have been
// woken.
//
// POSIX: "it shall be safe to destroy an initialized condition variable upon which no threads are
// currently blocked"; after a broadcast nobody is blocked on it, though some may not have
// returned yet.
#include "thread.h"

namespace {

constexpr int waiters = 3;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t* cond;
int waiting = 0;
int generation = 0;
int left = 0;

void wait_for_each_round(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    int bad = pthread_mutex_lock(&mutex);
    while (generation != 2 * round + 1) {  // odd: a condition variable is in place
      bad |= pthread_mutex_unlock(&mutex);
      usleep(10);
      bad |= pthread_mutex_lock(&mutex);
    }
    ++waiting;
    while (generation == 2 * round + 1) bad |= pthread_cond_wait(cond, &mutex);
    ++left;
    bad |= pthread_mutex_unlock(&mutex);
    if (bad != 0) CHECK_EQ(bad, 0);
  }
}

enum class Ending { broadcast_inside, broadcast_outside, signal_each };

void end_round(pthread_cond_t* old, Ending ending) {
  CHECK_OK(pthread_mutex_lock(&mutex));
  ++generation;
  if (ending == Ending::broadcast_inside) CHECK_OK(pthread_cond_broadcast(old));
  if (ending == Ending::signal_each)
    for (int i = 0; i < waiters; ++i) CHECK_OK(pthread_cond_signal(old));
  CHECK_OK(pthread_mutex_unlock(&mutex));
  if (ending == Ending::broadcast_outside) CHECK_OK(pthread_cond_broadcast(old));
  CHECK_OK(pthread_cond_destroy(old));
  CHECK_EQ(munmap(old, 4096), 0);
}

void start_round() {
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) abort();
  CHECK_OK(pthread_mutex_lock(&mutex));
  cond = static_cast<pthread_cond_t*>(memory);
  CHECK_OK(pthread_cond_init(cond, nullptr));
  waiting = 0;
  left = 0;
  ++generation;
  CHECK_OK(pthread_mutex_unlock(&mutex));
}

bool reached(const int* counter) {
  if (pthread_mutex_lock(&mutex) != 0) abort();
  const bool all = *counter == waiters;
  if (pthread_mutex_unlock(&mutex) != 0) abort();
  return all;
}

void rounds_ending(Ending ending, int rounds) {
  generation = 0;
  Thread driver([=] {
    for (int round = 0; round < rounds; ++round) {
      start_round();
      while (!reached(&waiting)) usleep(20);
      end_round(cond, ending);
      while (!reached(&left)) usleep(20);
    }
  });
  run_threads(waiters, [=](int) { wait_for_each_round(rounds); });
  driver.join();
  CHECK_EQ(generation, 2 * rounds);
}

// Destroy and init at the same place: nothing of the earlier life may show.
void destroy_and_init() {
  pthread_cond_t local;
  for (int round = 0; round < 50; ++round) {
    CHECK_OK(pthread_cond_init(&local, nullptr));
    CHECK_OK(pthread_cond_signal(&local));
    const timespec past = {1, 0};
    CHECK_OK(pthread_mutex_lock(&mutex));
    CHECK_ERR(pthread_cond_timedwait(&local, &mutex, &past), ETIMEDOUT);
    CHECK_OK(pthread_mutex_unlock(&mutex));
    CHECK_OK(pthread_cond_destroy(&local));
  }
}

}  // namespace

int main() {
  check_begin();
  rounds_ending(Ending::broadcast_inside, 200);
  rounds_ending(Ending::broadcast_outside, 200);
  rounds_ending(Ending::signal_each, 200);
  destroy_and_init();
  return check_end();
}
