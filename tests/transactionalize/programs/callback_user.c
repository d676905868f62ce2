/* callback_library.c's user. The order of locks is events, stays, leaf: no two threads can come to
   wait for each other. */
#include <pthread.h>
#include <stdio.h>

enum { ROUNDS = 100000 };
void set_callback(void (*given)(void));
void notify(void);
void outer(void);
void inner(void);
long total(void);

static void* notifies(void* none) {
  for (int i = 0; i < ROUNDS; ++i) notify();
  return none;
}
static void* goes_outer(void* none) {
  for (int i = 0; i < ROUNDS; ++i) outer();
  return none;
}

int main(void) {
  pthread_t threads[2];
  set_callback(inner);
  pthread_create(&threads[0], 0, notifies, 0);
  pthread_create(&threads[1], 0, goes_outer, 0);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], 0);
  printf("%ld\n", total());
  return 0;
}
