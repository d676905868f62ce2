// closed_part.c -- compiled twice, as two libraries: a lock, and a function that waits for it.
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
pthread_mutex_t JOIN(lock_of_, NAME) = PTHREAD_MUTEX_INITIALIZER;
static volatile int held;
#ifdef LARGE
char JOIN(large_, NAME)[LARGE];
#endif
static void* hold(void* unused) {
  pthread_mutex_lock(&JOIN(lock_of_, NAME));
  held = 1;
  usleep(20000);
  pthread_mutex_unlock(&JOIN(lock_of_, NAME));
  return unused;
}
__attribute__((noinline)) void JOIN(wait_in_, NAME)(void) {
  pthread_mutex_lock(&JOIN(lock_of_, NAME));
  pthread_mutex_unlock(&JOIN(lock_of_, NAME));
  __asm__ volatile("" ::: "memory");
}
void run(void) {
  pthread_t thread;
  held = 0;
  pthread_create(&thread, NULL, hold, NULL);
  while (!held) usleep(100);
  JOIN(wait_in_, NAME)();
  pthread_join(thread, NULL);
}
