/* A library whose users give it functions, which may call it back. `stays` is a lock in any case:
   it is also taken with a time limit. */
#include <pthread.h>
#include <time.h>

static pthread_mutex_t events = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t stays = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t leaf = PTHREAD_MUTEX_INITIALIZER;
static long told, held, added;
static void (*callback)(void);

void set_callback(void (*given)(void)) { callback = given; }

void notify(void) {
  pthread_mutex_lock(&events);
  ++told;
  callback();
  pthread_mutex_unlock(&events);
}

static void add(void) {
  pthread_mutex_lock(&leaf);
  added += 2;
  pthread_mutex_unlock(&leaf);
}

void outer(void) {
  struct timespec far = {4000000000, 0};
  if (pthread_mutex_timedlock(&stays, &far)) return;
  ++held;
  add();
  pthread_mutex_unlock(&stays);
}

void inner(void) {
  pthread_mutex_lock(&stays);
  ++held;
  pthread_mutex_unlock(&stays);
}

long total(void) { return told + held + added; }
