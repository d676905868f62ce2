// Control: consumers wait at a condition variable since there is little to do; one is woken for
// each item, and works on it without the lock.
#include "planted.h"
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
static int items, done;
static void* consumer(void* x) {
  for (;;) {
    pthread_mutex_lock(&queue_lock);
    while (!items && !done) pthread_cond_wait(&not_empty, &queue_lock);
    if (!items) break;
    items--;
    pthread_mutex_unlock(&queue_lock);
    work(100000);
  }
  pthread_mutex_unlock(&queue_lock);
  return x;
}
static void* threads(void* x) {
  if (x) return consumer(x);
  for (int i = 0; i < 100; i++) {
    pthread_mutex_lock(&queue_lock);
    items++;
    pthread_mutex_unlock(&queue_lock);
    pthread_cond_signal(&not_empty);
    usleep(3000);
  }
  pthread_mutex_lock(&queue_lock);
  done = 1;
  pthread_mutex_unlock(&queue_lock);
  pthread_cond_broadcast(&not_empty);
  return x;
}
int main(void) { run_threads(4, threads); }
