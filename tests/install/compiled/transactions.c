/* Threads that count in transactions. */
#include <pthread.h>
#include <stdio.h>

static long count;

static void* counts(void* nothing) {
  for (int i = 0; i < 1000; ++i) {
    __transaction_atomic { ++count; }
  }
  return nothing;
}

int main(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, counts, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  printf("count %ld\n", count);
  return 0;
}
