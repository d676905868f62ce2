// Priority inversion: who holds the lock runs only where nobody else wants the processor.
#define _GNU_SOURCE
#ifndef MIDDLE
#define MIDDLE 1  // threads that want the processor
#endif
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int has_ended;
static long used;

static double seconds(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

static void work(double lasts) {
  const double until = seconds(CLOCK_THREAD_CPUTIME_ID) + lasts;
  while (seconds(CLOCK_THREAD_CPUTIME_ID) < until) {
  }
}

static void* low(void* none) {
  const struct sched_param zero = {0};
  if (pthread_setschedparam(pthread_self(), SCHED_IDLE, &zero) != 0) exit(2);
  pthread_setname_np(pthread_self(), "low");
  while (!has_ended) {
    pthread_mutex_lock(&device_lock);
    work(0.002);
    ++used;
    pthread_mutex_unlock(&device_lock);
    usleep(500);
  }
  return none;
}

static void* middle(void* none) {
  while (!has_ended) work(0.02);
  return none;
}

static void* high(void* none) {
  pthread_setname_np(pthread_self(), "high");
  while (!has_ended) {
    pthread_mutex_lock(&device_lock);
    ++used;
    pthread_mutex_unlock(&device_lock);
    usleep(4000);
  }
  return none;
}

int main(void) {
  cpu_set_t allowed, one;
  sched_getaffinity(0, sizeof allowed, &allowed);
  CPU_ZERO(&one);
  for (int i = 0; i != CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i)
    if (CPU_ISSET(i, &allowed)) CPU_SET(i, &one);
  sched_setaffinity(0, sizeof one, &one);
  void* (*const all[])(void*) = {low, high, middle};
  pthread_t threads[2 + MIDDLE];
  for (int i = 0; i != 2 + MIDDLE; ++i)
    pthread_create(&threads[i], NULL, all[i < 2 ? i : 2], NULL);
  sleep(3);
  has_ended = 1;
  for (int i = 0; i != 2 + MIDDLE; ++i) pthread_join(threads[i], NULL);
  return used == 0;
}
