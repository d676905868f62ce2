// Two threads take two locks in opposite orders, and meet; a third one goes on.
#include "planted.h"
static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t audit = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static void* transfer(void* x) {
  pthread_mutex_lock(&accounts);
  pthread_barrier_wait(&both);
  pthread_mutex_lock(&audit);
  pthread_mutex_unlock(&audit);
  pthread_mutex_unlock(&accounts);
  return x;
}
static void* report(void* x) {
  pthread_mutex_lock(&audit);
  pthread_barrier_wait(&both);
  pthread_mutex_lock(&accounts);
  pthread_mutex_unlock(&accounts);
  pthread_mutex_unlock(&audit);
  return x;
}
int main(void) {
  pthread_t id[2];
  pthread_barrier_init(&both, 0, 2);
  pthread_create(&id[0], 0, transfer, 0);
  pthread_create(&id[1], 0, report, 0);
  sleep(1);
  kill(getpid(), SIGKILL);
}
