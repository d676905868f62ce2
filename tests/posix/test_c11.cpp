// test_c11.cpp -- C11 threads: mtx_*, cnd_*, call_once with their thrd_ codes.
#include <threads.h>

#include <initializer_list>

#include "check.h"

namespace {

timespec utc_in_ms(long milliseconds) { return in_ms(CLOCK_REALTIME, milliseconds); }

int in_thread(thrd_start_t body, void* argument) {
  thrd_t thread;
  int result = -1;
  if (thrd_create(&thread, body, argument) != thrd_success) abort();
  if (thrd_join(thread, &result) != thrd_success) abort();
  return result;
}

int try_it(void* mutex) { return mtx_trylock(static_cast<mtx_t*>(mutex)); }

int lock_with_past_deadline(void* mutex) {
  const timespec past = {1, 0};
  return mtx_timedlock(static_cast<mtx_t*>(mutex), &past);
}

int lock_for_a_moment(void* mutex) {
  const timespec deadline = utc_in_ms(3);
  const int result = mtx_timedlock(static_cast<mtx_t*>(mutex), &deadline);
  CHECK(has_passed(CLOCK_REALTIME, &deadline));
  return result;
}

void mutex_of_type(int type) {
  mtx_t mutex;
  CHECK_EQ(mtx_init(&mutex, type), thrd_success);
  CHECK_EQ(mtx_lock(&mutex), thrd_success);
  CHECK_EQ(in_thread(try_it, &mutex), thrd_busy);
  if ((type & mtx_timed) != 0) {
    CHECK_EQ(in_thread(lock_with_past_deadline, &mutex), thrd_timedout);
    CHECK_EQ(in_thread(lock_for_a_moment, &mutex), thrd_timedout);
  }
  if ((type & mtx_recursive) != 0) {
    CHECK_EQ(mtx_lock(&mutex), thrd_success);
    CHECK_EQ(mtx_trylock(&mutex), thrd_success);
    CHECK_EQ(mtx_unlock(&mutex), thrd_success);
    CHECK_EQ(mtx_unlock(&mutex), thrd_success);
    CHECK_EQ(in_thread(try_it, &mutex), thrd_busy);
  } else {
    CHECK_EQ(mtx_trylock(&mutex), thrd_busy);
  }
  CHECK_EQ(mtx_unlock(&mutex), thrd_success);
  CHECK_EQ(mtx_trylock(&mutex), thrd_success);
  CHECK_EQ(mtx_unlock(&mutex), thrd_success);
  if ((type & mtx_timed) != 0) {
    const timespec past = {1, 0};
    CHECK_EQ(mtx_timedlock(&mutex, &past), thrd_success);
    CHECK_EQ(mtx_unlock(&mutex), thrd_success);
  }
  mtx_destroy(&mutex);
}

struct Turns {
  mtx_t mutex;
  cnd_t cond;
  int turn;
  int next_id;
  long counter;
};

int take_turns(void* argument) {
  auto* turns = static_cast<Turns*>(argument);
  int bad = mtx_lock(&turns->mutex) != thrd_success;
  const int self = turns->next_id++;
  for (int i = 0; i < 300; ++i) {
    while (turns->turn != self) {
      const timespec deadline = utc_in_ms(50000);
      bad += (i % 2 != 0 ? cnd_wait(&turns->cond, &turns->mutex)
                         : cnd_timedwait(&turns->cond, &turns->mutex, &deadline)) != thrd_success;
    }
    turns->turn = (self + 1) % 3;
    ++turns->counter;
    bad += cnd_broadcast(&turns->cond) != thrd_success;
  }
  bad += mtx_unlock(&turns->mutex) != thrd_success;
  return bad;
}

void conditions() {
  Turns turns{};
  CHECK_EQ(mtx_init(&turns.mutex, mtx_plain), thrd_success);
  CHECK_EQ(cnd_init(&turns.cond), thrd_success);
  CHECK_EQ(cnd_signal(&turns.cond), thrd_success);
  CHECK_EQ(mtx_lock(&turns.mutex), thrd_success);
  const timespec past = {1, 0};
  CHECK_EQ(cnd_timedwait(&turns.cond, &turns.mutex, &past), thrd_timedout);
  const timespec soon = utc_in_ms(3);
  CHECK_EQ(cnd_timedwait(&turns.cond, &turns.mutex, &soon), thrd_timedout);
  CHECK(has_passed(CLOCK_REALTIME, &soon));
  CHECK_EQ(in_thread(try_it, &turns.mutex), thrd_busy);
  CHECK_EQ(mtx_unlock(&turns.mutex), thrd_success);
  thrd_t threads[3];
  for (thrd_t& thread : threads) CHECK_EQ(thrd_create(&thread, take_turns, &turns), thrd_success);
  for (const thrd_t thread : threads) {
    int bad = -1;
    CHECK_EQ(thrd_join(thread, &bad), thrd_success);
    CHECK_EQ(bad, 0);
  }
  CHECK_EQ(turns.counter, 900);
  cnd_destroy(&turns.cond);
  mtx_destroy(&turns.mutex);
}

once_flag once = ONCE_FLAG_INIT;
int calls = 0;
void count_call() {
  sleep_ms(1);
  ++calls;
}
int call_it(void*) {
  call_once(&once, count_call);
  return calls;  // call_once returns only after the one call is complete
}

void once_only() {
  thrd_t threads[4];
  for (thrd_t& thread : threads) CHECK_EQ(thrd_create(&thread, call_it, nullptr), thrd_success);
  for (const thrd_t thread : threads) {
    int seen = -1;
    CHECK_EQ(thrd_join(thread, &seen), thrd_success);
    CHECK_EQ(seen, 1);
  }
  CHECK_EQ(calls, 1);
}

// In glibc a mtx_t is a pthread mutex: C11 and POSIX calls meet on the same object.
void same_object_as_pthread() {
  mtx_t mutex;
  CHECK_EQ(mtx_init(&mutex, mtx_plain), thrd_success);
  auto* as_pthread = reinterpret_cast<pthread_mutex_t*>(&mutex);
  CHECK_EQ(mtx_lock(&mutex), thrd_success);
  CHECK_ERR(pthread_mutex_trylock(as_pthread), EBUSY);
  CHECK_OK(pthread_mutex_unlock(as_pthread));
  CHECK_OK(pthread_mutex_lock(as_pthread));
  CHECK_EQ(mtx_trylock(&mutex), thrd_busy);
  CHECK_EQ(mtx_unlock(&mutex), thrd_success);
  mtx_destroy(&mutex);
}

}  // namespace

int main() {
  check_begin();
  for (const int type :
       {mtx_plain + 0, mtx_timed + 0, mtx_plain | mtx_recursive, mtx_timed | mtx_recursive})
    mutex_of_type(type);
  conditions();
  once_only();
  same_object_as_pthread();
  return check_end();
}
