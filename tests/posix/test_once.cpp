// test_once.cpp -- pthread_once beside our locks: exactly once, complete for all, again after
// cancellation.
#include "thread.h"

namespace {

pthread_once_t plain = PTHREAD_ONCE_INIT;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int calls = 0;

void initialize() {
  if (pthread_mutex_lock(&mutex) != 0) abort();
  sleep_ms(1);
  ++calls;
  if (pthread_mutex_unlock(&mutex) != 0) abort();
}

pthread_once_t canceled_once = PTHREAD_ONCE_INIT;
pthread_mutex_t canceled_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
int attempts = 0;
int waiting = 0;

void unlock(void* locked) { pthread_mutex_unlock(static_cast<pthread_mutex_t*>(locked)); }

// The first attempt waits on a condition until it is canceled; the second succeeds.
void initialize_or_be_canceled() {
  if (pthread_mutex_lock(&canceled_mutex) != 0) abort();
  pthread_cleanup_push(unlock, &canceled_mutex);
  const bool first = ++attempts == 1;
  set_int(&waiting, 1);
  while (first) pthread_cond_wait(&cond, &canceled_mutex);
  pthread_cleanup_pop(1);
}

}  // namespace

int main() {
  check_begin();
  run_threads(6, [](int) {
    CHECK_OK(pthread_once(&plain, initialize));
    CHECK_EQ(calls, 1);
  });
  Thread first([] { pthread_once(&canceled_once, initialize_or_be_canceled); });
  await_int(&waiting, 1);
  Thread second([] { CHECK_OK(pthread_once(&canceled_once, initialize_or_be_canceled)); });
  CHECK_OK(pthread_cancel(first.handle()));
  CHECK(first.join() == PTHREAD_CANCELED);
  second.join();
  CHECK_EQ(attempts, 2);
  return check_end();
}
