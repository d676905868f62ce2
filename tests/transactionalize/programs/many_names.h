/* Locks behind functions in a header, macros over them, and a constant table. */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

struct account {
  pthread_mutex_t guard;
  long value;
};

static inline int spin_lock(pthread_mutex_t* mutex) {
  while (pthread_mutex_trylock(mutex))
    ;
  return 0;
}

static inline int polite_lock(pthread_mutex_t* mutex) {
  do {
    sched_yield();
  } while (pthread_mutex_trylock(mutex) != 0);
  return 0;
}

static inline int status_lock(pthread_mutex_t* m) { return pthread_mutex_lock(m); }

static inline void checked_lock(pthread_mutex_t* m) {
  int status = pthread_mutex_lock(m);
  assert(status == 0);
  if (status != 0) {
    perror("lock");
    abort();
  }
}

static inline void member_lock(struct account* a) { spin_lock(&a->guard); }
static inline void member_unlock(struct account* a) { pthread_mutex_unlock(&a->guard); }

#define give_back(x) pthread_mutex_unlock(x)
#define GIVE_BACK(x) \
  do {               \
    give_back(x);    \
  } while (0)
#define TAKE (void)status_lock
#define ENTER(x)               \
  do {                         \
    checked_lock(&(x)->guard); \
  } while (0)
#ifdef NEVER_DEFINED
#define LEAVE(x) ((void)(x))
#else
#define LEAVE(x) GIVE_BACK(&(x)->guard)
#endif

struct operations {
  int (*take)(pthread_mutex_t*);
  int (*give)(pthread_mutex_t*);
};
