/* Runs a function in four threads at once. */
#pragma once
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, ROUNDS = 2000 };

static inline void run_threads(void* (*body)(void*)) {
  pthread_t threads[THREADS];
  for (long i = 0; i < THREADS; ++i)
    if (pthread_create(&threads[i], NULL, body, (void*)i)) abort();
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
}
