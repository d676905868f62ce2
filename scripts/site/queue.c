#include <pthread.h>

struct queue {
  pthread_mutex_t lock;
  int length;
};

void add(struct queue* queue) {
  pthread_mutex_lock(&queue->lock);
  queue->length++;
  pthread_mutex_unlock(&queue->lock);
}
