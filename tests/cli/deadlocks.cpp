// deadlocks.cpp -- threads that wait for each other for ever, in the way that the argument names.
// Prints "begun" when each holds what the next one waits for.
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include <cstdio>
#include <cstring>

static pthread_mutex_t m1 = PTHREAD_MUTEX_INITIALIZER, m2 = m1, m3 = m1;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static sem_t sem;
static pthread_barrier_t all_hold;
static pthread_t first;

static void lock1() { pthread_mutex_lock(&m1); }
static void lock2() { pthread_mutex_lock(&m2); }
static void lock3() { pthread_mutex_lock(&m3); }
static void read() { pthread_rwlock_rdlock(&rw); }
static void write() { pthread_rwlock_wrlock(&rw); }
static void take() { sem_wait(&sem); }
static void spin() {
  while (pthread_mutex_trylock(&m1) != 0) {
  }
}
static void join_first() { pthread_join(first, nullptr); }
static void nothing() {}

static void* rest() {
  const timespec second{1, 0};
  for (;;) nanosleep(&second, nullptr);
}

struct steps {
  void (*hold)();
  void (*wait)();
};
struct plan {
  const char* name;
  int threads;
  steps of[3];
};
static const plan plans[] = {
    {"mutexes", 2, {{lock1, lock2}, {lock2, lock1}}},
    {"three", 3, {{lock1, lock2}, {lock2, lock3}, {lock3, lock1}}},
    {"reader", 2, {{read, lock1}, {lock1, write}}},
    {"writer", 2, {{write, lock1}, {lock1, read}}},
    {"mixed", 3, {{read, lock1}, {lock1, take}, {take, write}}},
    {"semaphore", 2, {{take, lock1}, {lock1, take}}},
    {"join", 2, {{nothing, lock1}, {lock1, join_first}}},
    {"trylock", 2, {{lock1, lock2}, {lock2, spin}}},
    {"itself", 1, {{lock1, lock1}}},
    {"none", 2, {{lock1, lock2}, {lock2, nothing}}},
};

static void* run(void* argument) {
  const steps& mine = *static_cast<const steps*>(argument);
  mine.hold();
  pthread_barrier_wait(&all_hold);
  mine.wait();
  return rest();
}

int main(int, char** arguments) {
  for (const plan& p : plans) {
    if (std::strcmp(p.name, arguments[1]) != 0) continue;
    sem_init(&sem, 0, 1);
    pthread_barrier_init(&all_hold, nullptr, p.threads + 1);
    pthread_t threads[3];
    for (int i = 0; i < p.threads; ++i) {
      char name[] = "A";
      name[0] = static_cast<char>('A' + i);
      pthread_create(&threads[i], nullptr, run, const_cast<steps*>(&p.of[i]));
      if (i == 0) first = threads[0];
      pthread_setname_np(threads[i], name);
    }
    pthread_barrier_wait(&all_hold);
    std::puts("begun");
    std::fflush(stdout);
    rest();
  }
  return 2;
}
