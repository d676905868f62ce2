/* c11_threads.c -- C11's threads, mutexes, condition variables and call_once, in C; and cleanup
   handlers of a C program, which is compiled without exceptions. */

#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>

#define CHECK(condition) \
  ((condition) ? (void)0 \
               : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), exit(1)))

static mtx_t mutex;
static cnd_t changed;
static int turn;
static once_flag flag = ONCE_FLAG_INIT;
static int once_calls;

static void count_once(void) { ++once_calls; }

/* Two threads take turns. */
static int player(void* argument) {
  const int me = *(int*)argument;
  call_once(&flag, count_once);
  for (int i = 0; i < 5; ++i) {
    CHECK(mtx_lock(&mutex) == thrd_success);
    while (turn % 2 != me) CHECK(cnd_wait(&changed, &mutex) == thrd_success);
    ++turn;
    CHECK(cnd_broadcast(&changed) == thrd_success);
    CHECK(mtx_unlock(&mutex) == thrd_success);
  }
  if (me == 0) thrd_exit(10);
  return 11;
}

static int handlers_run[3], handler_count;
static void handler(void* argument) { handlers_run[handler_count++] = *(int*)argument; }

static void* leave_with_handlers(void* unused) {
  static int first = 1, second = 2, never = 3;
  (void)unused;
  pthread_cleanup_push(handler, &first);
  pthread_cleanup_push(handler, &never);
  pthread_cleanup_pop(0);
  pthread_cleanup_push(handler, &second);
  pthread_exit(&handler_count);
  pthread_cleanup_pop(0);
  pthread_cleanup_pop(0);
  return NULL;
}

int main(void) {
  CHECK(mtx_init(&mutex, mtx_timed) == thrd_success);
  CHECK(cnd_init(&changed) == thrd_success);
  thrd_t players[2];
  int names[2] = {0, 1};
  for (int i = 0; i < 2; ++i) CHECK(thrd_create(&players[i], player, &names[i]) == thrd_success);
  CHECK(!thrd_equal(players[0], players[1]));
  for (int i = 0; i < 2; ++i) {
    int result = 0;
    CHECK(thrd_join(players[i], &result) == thrd_success);
    CHECK(result == 10 + i);
  }
  CHECK(turn == 10);
  CHECK(once_calls == 1);

  CHECK(mtx_trylock(&mutex) == thrd_success);
  CHECK(mtx_trylock(&mutex) == thrd_busy);
  struct timespec now;
  CHECK(timespec_get(&now, TIME_UTC) == TIME_UTC);
  CHECK(cnd_timedwait(&changed, &mutex, &now) == thrd_timedout);
  CHECK(mtx_unlock(&mutex) == thrd_success);
  const struct timespec nap = {0, 1000000};
  CHECK(thrd_sleep(&nap, NULL) == 0);
  mtx_destroy(&mutex);
  cnd_destroy(&changed);

  pthread_t thread;
  void* result = NULL;
  CHECK(pthread_create(&thread, NULL, leave_with_handlers, NULL) == 0);
  CHECK(pthread_join(thread, &result) == 0);
  CHECK(result == &handler_count);
  CHECK(handler_count == 2 && handlers_run[0] == 2 && handlers_run[1] == 1);
  return 0;
}
