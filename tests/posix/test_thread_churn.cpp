// test_thread_churn.cpp -- 20,000 threads in groups, each locking: no limit on threads ever
// created.
#include "thread.h"

namespace {

constexpr int groups = 500;
constexpr int group = 40;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
long counter = 0;
int errors = 0;

void* visit(void*) {
  int bad = pthread_mutex_lock(&mutex);
  ++counter;
  bad |= pthread_cond_signal(&cond);
  bad |= pthread_mutex_unlock(&mutex);
  bad |= pthread_rwlock_rdlock(&rwlock);
  bad |= pthread_rwlock_unlock(&rwlock);
  if (bad != 0) add_int(&errors, 1);
  return nullptr;
}

}  // namespace

int main() {
  check_begin();
  pthread_attr_t small;
  CHECK_OK(pthread_attr_init(&small));
  // Small stacks, as in programs with thousands of threads: a lock path must be frugal.
  CHECK_OK(pthread_attr_setstacksize(&small, 32 * 1024));
  for (int round = 0; round < groups; ++round) {
    pthread_t threads[group];
    for (pthread_t& thread : threads)
      if (pthread_create(&thread, &small, visit, nullptr) != 0) abort();
    for (const pthread_t thread : threads)
      if (pthread_join(thread, nullptr) != 0) abort();
    CHECK_EQ(counter, (round + 1L) * group);
  }
  CHECK_EQ(errors, 0);
  return check_end();
}
