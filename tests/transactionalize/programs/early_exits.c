/* Sections that are left by return, goto, break and continue; values that outlive them. */
#include "threads.h"

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
static long total, odd, skipped, nested;
static _Thread_local long notes;

static void note(long value) { notes += value; }

static int add(long value) {
  pthread_mutex_lock(&guard);
  if (value % 7 == 0) {
    ++skipped;
    pthread_mutex_unlock(&guard);
    note(value);
    return 0;
  }
  if (value % 2) {
    ++odd;
    pthread_mutex_lock(&inner);
    if (value % 3 == 0) {
      ++nested;
      pthread_mutex_unlock(&inner);
      pthread_mutex_unlock(&guard);
      return 1;
    }
    pthread_mutex_unlock(&inner);
  }
  total += value;
  long seen = total;
  if (seen < 0) goto done;
  ++total;
done:
  pthread_mutex_unlock(&guard);
  return seen != 0;
}

static void* body(void* unused) {
  for (long i = 0; i < ROUNDS; ++i) {
    add(i);
    pthread_mutex_lock(&guard);
    if (i % 5 == 0) {
      pthread_mutex_unlock(&guard);
      continue;
    }
    ++total;
    if (i == ROUNDS - 2) {
      pthread_mutex_unlock(&guard);
      break;
    }
    pthread_mutex_unlock(&guard);
  }
  return unused;
}

int main(void) {
  run_threads(body);
  printf("%ld %ld %ld %ld\n", total, odd, skipped, nested);
  return 0;
}
