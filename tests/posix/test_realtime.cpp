// test_realtime.cpp -- real-time priorities: who holds a lock runs on, though threads of higher
// priority wait for it on the same processor. Those never give it up by yielding.
#include <sched.h>
#include <semaphore.h>

#include "check.h"

namespace {

constexpr int waiters = 3;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_spinlock_t spinlock;
sem_t begin;
int guarded, entered;

void compute(long long milliseconds) {
  for (const long long until = now_ms() + milliseconds; now_ms() < until;) {
  }
}

struct lock {
  void (*take)();
  void (*give)();
};
const lock locks[] = {
    {[] { CHECK_OK(pthread_mutex_lock(&mutex)); }, [] { CHECK_OK(pthread_mutex_unlock(&mutex)); }},
    {[] { CHECK_OK(pthread_rwlock_wrlock(&rwlock)); },
     [] { CHECK_OK(pthread_rwlock_unlock(&rwlock)); }},
};
// Not glibc's: it spins for ever.
const lock spinning = {[] { CHECK_OK(pthread_spin_lock(&spinlock)); },
                       [] { CHECK_OK(pthread_spin_unlock(&spinlock)); }};
const lock* current;

// Higher than the holder's priority: runs at once when it is called, and waits for the lock.
void* wait_for_it(void*) {
  while (sem_wait(&begin) != 0) {
  }
  add_int(&entered, 1);
  current->take();
  ++guarded;
  current->give();
  return nullptr;
}

void* hold(void*) {
  current->take();
  for (int i = 0; i < waiters; ++i) sem_post(&begin);
  CHECK_EQ(get_int(&entered), waiters);  // they have this processor as soon as they can run
  compute(2);
  ++guarded;
  current->give();
  return nullptr;
}

void start(pthread_t& thread, void* (*body)(void*), int priority, const cpu_set_t& where) {
  pthread_attr_t attributes;
  const sched_param parameter{priority};
  CHECK_OK(pthread_attr_init(&attributes));
  CHECK_OK(pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED));
  CHECK_OK(pthread_attr_setschedpolicy(&attributes, SCHED_FIFO));
  CHECK_OK(pthread_attr_setschedparam(&attributes, &parameter));
  CHECK_OK(pthread_attr_setaffinity_np(&attributes, sizeof where, &where));
  MUST(pthread_create(&thread, &attributes, body, nullptr) == 0);
  CHECK_OK(pthread_attr_destroy(&attributes));
}

void holder_runs_on(const lock& which, const cpu_set_t& where) {
  current = &which;
  guarded = 0;
  set_int(&entered, 0);
  pthread_t threads[waiters + 1];
  for (int i = 0; i < waiters; ++i) start(threads[i], wait_for_it, 10 + i, where);
  sleep_ms(2);  // until they wait to begin
  start(threads[waiters], hold, 2, where);
  for (pthread_t each : threads) CHECK_OK(pthread_join(each, nullptr));
  CHECK_EQ(guarded, waiters + 1);
}

}  // namespace

int main() {
  check_begin();
  const sched_param lowest{1};
  const int refused = pthread_setschedparam(pthread_self(), SCHED_FIFO, &lowest);
  if (refused != 0) {
    printf("real-time priorities: %s; not tested (needs CAP_SYS_NICE)\n", strerror(refused));
    CHECK(refused == EPERM);
    return check_end();
  }
  cpu_set_t all, one;
  MUST(sched_getaffinity(0, sizeof all, &all) == 0);
  CPU_ZERO(&one);
  for (int i = 0; CPU_COUNT(&one) == 0; ++i)
    if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
  CHECK_OK(pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE));
  MUST(sem_init(&begin, 0, 0) == 0);
  for (int turn = 0; turn < 2; ++turn)
    for (const lock& each : locks) holder_runs_on(each, one);
  const char* preloaded = getenv("LD_PRELOAD");
  if (preloaded != nullptr && strstr(preloaded, "syncopate") != nullptr) {
    const char* chosen = getenv("SYNCOPATE_LOCK");
    if (chosen == nullptr || strcmp(chosen, "glibc") != 0) holder_runs_on(spinning, one);
  }
  return check_end();
}
