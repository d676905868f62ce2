/* Locks that one function takes and another gives back, so that no section is a block. Some of them
   can be words; what keeps the others from it differs. */
#define _GNU_SOURCE
#include <time.h>

#include "threads.h"

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t recursive;
static pthread_mutex_t begun_recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checking[2] = {[1] = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP};
static pthread_mutex_t timed = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t or_timed = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t waited = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long count, counts[2];

static void take_plain(void) { pthread_mutex_lock(&plain); }
static void give_plain(void) { pthread_mutex_unlock(&plain); }
static void take_adaptive(void) { pthread_mutex_lock(&adaptive); }
static void give_adaptive(void) { pthread_mutex_unlock(&adaptive); }
static void take_recursive(void) { pthread_mutex_lock(&recursive); }
static void give_recursive(void) { pthread_mutex_unlock(&recursive); }
static void take_begun_recursive(void) { pthread_mutex_lock(&begun_recursive); }
static void give_begun_recursive(void) { pthread_mutex_unlock(&begun_recursive); }
static void take_checking(void) { pthread_mutex_lock(&checking[1]); }
static void give_checking(void) { pthread_mutex_unlock(&checking[1]); }
static void take_or_timed(void) { pthread_mutex_lock(&or_timed); }
static void give_or_timed(void) { pthread_mutex_unlock(&or_timed); }
static void take_one(void) { pthread_mutex_lock(&one); }
static void give_one(void) { pthread_mutex_unlock(&one); }
static void take_other(void) { pthread_mutex_lock(&other); }
static void give_other(void) { pthread_mutex_unlock(&other); }
static void take_waited(void) { pthread_mutex_lock(&waited); }
static void give_waited(void) { pthread_mutex_unlock(&waited); }

/* Which of two is meant, the caller says. */
static void take_which(pthread_mutex_t* which) { pthread_mutex_lock(which); }
static void give_which(pthread_mutex_t* which) { pthread_mutex_unlock(which); }

static void take_timed(void) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 100;
  if (pthread_mutex_timedlock(&timed, &until) != 0) abort();
}
static void give_timed(void) { pthread_mutex_unlock(&timed); }

static void wait_a_little(void) {
  struct timespec until = {0, 0};
  take_waited();
  pthread_cond_timedwait(&changed, &waited, &until);
  give_waited();
}

static void* body(void* unused) {
  for (long i = 0; i < ROUNDS; ++i) {
    take_plain();
    take_adaptive();
    take_recursive();
    take_recursive();
    take_begun_recursive();
    take_checking();
    take_which(i % 2 ? &timed : &or_timed);
    take_which(i % 3 ? &one : &other);
    ++count;
    give_which(i % 3 ? &one : &other);
    give_which(i % 2 ? &timed : &or_timed);
    give_checking();
    give_begun_recursive();
    give_recursive();
    give_recursive();
    give_adaptive();
    give_plain();
    take_timed();
    take_or_timed();
    ++counts[0];
    give_or_timed();
    give_timed();
    take_one();
    take_other();
    ++counts[1];
    give_other();
    give_one();
    wait_a_little();
  }
  return unused;
}

int main(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&recursive, &attributes);
  run_threads(body);
  printf("%ld %ld %ld\n", count, counts[0], counts[1]);
  return 0;
}
