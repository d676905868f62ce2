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

/* The types behind names of one's own, and all that is done with them. */
#ifdef NEVER_DEFINED
#define own_mutex pthread_mutex_t*
#define own_cond pthread_cond_t*
#define OWN_WAIT(c, m) pthread_cond_wait(*(c), *(m))
#else
#define own_mutex pthread_mutex_t
#define own_cond pthread_cond_t
#define OWN_WAIT(c, m) pthread_cond_wait((c), (m))
#endif
typedef own_mutex renamed_mutex;
#define OWN_SIGNAL(c) pthread_cond_signal((c))
#define OWN_LOCK(m) (!(pthread_mutex_lock((m))))
#define OWN_LOCK_CHECKED(m)            \
  do {                                 \
    if (!OWN_LOCK(m)) die("no mutex"); \
  } while (0)

static inline void die(const char* why) {
  fputs(why, stderr);
  abort();
}

static inline int own_unlock(renamed_mutex* m) {
  int status = pthread_mutex_unlock(m);
  if (status != 0) die("no unlock");
  return 0;
}

struct box {
  own_mutex opened, watched;
  renamed_mutex flat;
  own_cond filled;
  own_cond drained;
  long full, taken;
};
