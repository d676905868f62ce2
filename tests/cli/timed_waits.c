// timed_waits.c -- one thread holds a lock for long, again and again; another tries for a short time
// to get it, until it does. Arguments: which lock; "shared": as one of several processes; for how
// many milliseconds it is held. Prints: how often it tried in vain, and how often of these it slept:
// late at a limit, it does not.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { rounds = 4, limit_ms = 3 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t begin, end;
static int is_rwlock, held_ms = 20;

static void* hold(void* unused) {
  for (int i = 0; i < rounds; ++i) {
    if (is_rwlock) pthread_rwlock_wrlock(&rwlock);
    else pthread_mutex_lock(&mutex);
    pthread_barrier_wait(&begin);
    nanosleep(&(struct timespec){0, held_ms * 1000000}, NULL);
    if (is_rwlock) pthread_rwlock_unlock(&rwlock);
    else pthread_mutex_unlock(&mutex);
    pthread_barrier_wait(&end);
  }
  return unused;
}

static int try_it(void) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += limit_ms * 1000000;
  if (until.tv_nsec >= 1000000000) ++until.tv_sec, until.tv_nsec -= 1000000000;
  return is_rwlock ? pthread_rwlock_timedrdlock(&rwlock, &until)
                   : pthread_mutex_timedlock(&mutex, &until);
}

static long sleeps(void) {
  struct rusage mine;
  getrusage(RUSAGE_THREAD, &mine);
  return mine.ru_nvcsw;
}

static void share(void) {
  pthread_rwlockattr_t of_rwlock;
  pthread_rwlockattr_init(&of_rwlock);
  pthread_rwlockattr_setpshared(&of_rwlock, PTHREAD_PROCESS_SHARED);
  pthread_rwlock_init(&rwlock, &of_rwlock);
  pthread_mutexattr_t of_mutex;
  pthread_mutexattr_init(&of_mutex);
  pthread_mutexattr_setpshared(&of_mutex, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&mutex, &of_mutex);
}

int main(int count, char** words) {
  is_rwlock = count > 1 && strcmp(words[1], "rwlock") == 0;
  if (count > 2 && strcmp(words[2], "shared") == 0) share();
  if (count > 3) held_ms = atoi(words[3]);
  pthread_barrier_init(&begin, NULL, 2);
  pthread_barrier_init(&end, NULL, 2);
  pthread_t holder;
  pthread_create(&holder, NULL, hold, NULL);
  int in_vain = 0, slept = 0;
  for (int i = 0; i < rounds; ++i) {
    pthread_barrier_wait(&begin);
    for (long before = sleeps(); try_it() != 0; before = sleeps()) {
      ++in_vain;
      slept += sleeps() != before;
    }
    if (is_rwlock) pthread_rwlock_unlock(&rwlock);
    else pthread_mutex_unlock(&mutex);
    pthread_barrier_wait(&end);
  }
  pthread_join(holder, NULL);
  printf("%d %d\n", in_vain, slept);
  return 0;
}
