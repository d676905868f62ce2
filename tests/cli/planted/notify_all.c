// Each item wakes all of sixteen waiting threads, of which one can go on.
#include "planted.h"
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
static int items, done;
static void* consumer(void* x) {
  pthread_mutex_lock(&queue_lock);
  for (;;) {
    while (!items && !done) pthread_cond_wait(&not_empty, &queue_lock);
    if (!items) break;
    items--;
    work(3000);
  }
  pthread_mutex_unlock(&queue_lock);
  return x;
}
static void* producer(void* x) {
  if ((intptr_t)x) return consumer(x);
  for (int i = 0; i < 3000; i++) {
    pthread_mutex_lock(&queue_lock);
    items++;
    pthread_cond_broadcast(&not_empty);
    pthread_mutex_unlock(&queue_lock);
    usleep(50);
  }
  pthread_mutex_lock(&queue_lock);
  done = 1;
  pthread_cond_broadcast(&not_empty);
  pthread_mutex_unlock(&queue_lock);
  return x;
}
int main(void) { run_threads(17, producer); }
