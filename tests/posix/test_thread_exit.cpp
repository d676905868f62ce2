// test_thread_exit.cpp -- locking late in a thread's life: key destructors, thread_local objects,
// atexit.
//
// A library whose per-thread state is gone by then, or handed to another thread, breaks exclusion
// here.
#include <limits.h>

#include "thread.h"

namespace {

constexpr int threads = 4;
constexpr int generations = 60;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
volatile long counter = 0;
pthread_key_t key;
int errors = 0;

void visit() {
  int bad = pthread_mutex_lock(&mutex);
  counter = counter + 1;
  bad |= pthread_mutex_lock(&recursive) | pthread_mutex_lock(&recursive);
  bad |= pthread_mutex_unlock(&recursive) | pthread_mutex_unlock(&recursive);
  bad |= pthread_mutex_unlock(&mutex);
  bad |= pthread_rwlock_wrlock(&rwlock) | pthread_rwlock_unlock(&rwlock);
  if (bad != 0) add_int(&errors, 1);
}

// Sets itself again as long as it may: the last round runs after every other destructor.
void on_thread_end(void* value) {
  for (int i = 0; i < 20; ++i) visit();
  const auto round = reinterpret_cast<size_t>(value);
  if (round < PTHREAD_DESTRUCTOR_ITERATIONS)
    pthread_setspecific(key, reinterpret_cast<void*>(round + 1));
}

struct LocksAtEnd {
  ~LocksAtEnd() {
    for (int i = 0; i < 20; ++i) visit();
  }
  int used = 0;
};
thread_local LocksAtEnd locks_at_end;

void at_program_end() {
  visit();
  if (errors != 0) _exit(9);
}

}  // namespace

int main() {
  check_begin();
  CHECK_OK(pthread_key_create(&key, on_thread_end));
  CHECK_EQ(atexit(at_program_end), 0);
  for (int generation = 0; generation < generations; ++generation) {
    run_threads(threads, [](int self) {
      locks_at_end.used = self;
      pthread_setspecific(key, reinterpret_cast<void*>(size_t{1}));
      visit();
    });
  }
  CHECK_EQ(errors, 0);
  const long per_thread = 1 + 20 + 20L * PTHREAD_DESTRUCTOR_ITERATIONS;
  CHECK_EQ(counter, per_thread * threads * generations);
  return check_end();
}
