// What the programs with planted causes have in common: threads, and work that takes a while.
#ifndef PLANTED_H
#define PLANTED_H
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static inline double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static inline void work(unsigned rounds) {
  for (unsigned i = 0; i < rounds; i++) __asm__ volatile("" : "+r"(i));
}

static inline void run_threads(int threads, void* (*body)(void*)) {
  pthread_t id[256];
  for (intptr_t i = 0; i < threads; i++) pthread_create(&id[i], 0, body, (void*)i);
  for (int i = 0; i < threads; i++) pthread_join(id[i], 0);
}

// All threads of the program on one processor: the last one that it may use.
static inline void use_one_processor(void) {
  cpu_set_t may, one;
  sched_getaffinity(0, sizeof may, &may);
  CPU_ZERO(&one);
  for (int i = CPU_SETSIZE - 1; i >= 0; i--)
    if (CPU_ISSET(i, &may)) {
      CPU_SET(i, &one);
      break;
    }
  sched_setaffinity(0, sizeof one, &one);
}
#endif
