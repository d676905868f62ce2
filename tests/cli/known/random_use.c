// random_use.c -- SEED ENDING: random use of pthread's objects by threads, over several lives of the
// program's threads and, for every other seed, in a forked child. Each process prints of each
// object: PROCESS ADDRESS KIND, how often it was taken, and how many nanoseconds calls that take it
// took. ENDING: 0 exit, 1 _exit, 2 a signal, 3 pthread_exit.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MUTEX, RECURSIVE, ERRORCHECK, ADAPTIVE, RWLOCK, SPIN, SEMAPHORE, KINDS };
static const char* const names[] = {"mutex",  "recursive", "errorcheck", "adaptive",
                                    "rwlock", "spin",      "semaphore"};
enum { OBJECTS = 10, MOST_THREADS = 8 };

typedef struct {
  union {
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    pthread_spinlock_t spin;
    sem_t semaphore;
  };
  int kind;
  unsigned long taken, ns;
} object;

static object* objects[OBJECTS];
static pthread_mutex_t turn_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static unsigned long turn, turn_taken;
static unsigned seed;
static int threads, rounds;

static unsigned chance(unsigned* of, unsigned below) {
  *of = *of * 1664525u + 1013904223u;  // Numerical Recipes' generator
  return (*of >> 8) % below;
}

static unsigned long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (unsigned long)t.tv_sec * 1000000000ul + (unsigned long)t.tv_nsec;
}

static struct timespec soon(unsigned ns) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_nsec += ns;
  t.tv_sec += t.tv_nsec / 1000000000;
  t.tv_nsec %= 1000000000;
  return t;
}

static object* make(int kind, unsigned tokens) {
  static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
                              PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP};
  object* const o = calloc(1, sizeof *o);
  o->kind = kind;
  if (kind <= ADAPTIVE) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, types[kind]);
    pthread_mutex_init(&o->mutex, &attributes);
  }
  if (kind == RWLOCK) pthread_rwlock_init(&o->rwlock, NULL);
  if (kind == SPIN) pthread_spin_init(&o->spin, 0);
  if (kind == SEMAPHORE) sem_init(&o->semaphore, 0, tokens);
  return o;
}

static int take(object* o, unsigned how, const struct timespec* until) {
  switch (o->kind) {
    case RWLOCK:
      switch (how) {
        case 0: return pthread_rwlock_tryrdlock(&o->rwlock);
        case 1: return pthread_rwlock_timedrdlock(&o->rwlock, until);
        case 8: return pthread_rwlock_trywrlock(&o->rwlock);
        case 9: return pthread_rwlock_timedwrlock(&o->rwlock, until);
        default:
          return how < 8 ? pthread_rwlock_rdlock(&o->rwlock) : pthread_rwlock_wrlock(&o->rwlock);
      }
    case SPIN: return how == 0 ? pthread_spin_trylock(&o->spin) : pthread_spin_lock(&o->spin);
    case SEMAPHORE:
      if (how == 0) return sem_trywait(&o->semaphore);
      return how == 1 ? sem_timedwait(&o->semaphore, until) : sem_wait(&o->semaphore);
    default:
      if (how == 0) return pthread_mutex_trylock(&o->mutex);
      return how == 1 ? pthread_mutex_timedlock(&o->mutex, until) : pthread_mutex_lock(&o->mutex);
  }
}

static void release(object* o) {
  if (o->kind == RWLOCK) pthread_rwlock_unlock(&o->rwlock);
  else if (o->kind == SPIN) pthread_spin_unlock(&o->spin);
  else if (o->kind == SEMAPHORE) sem_post(&o->semaphore);
  else pthread_mutex_unlock(&o->mutex);
}

static void hold(unsigned* luck, int spins) {
  const unsigned how = chance(luck, 64);
  if (how < 8)
    for (volatile unsigned left = chance(luck, 2000); left != 0; --left) {
    }
  if (how == 0 && !spins) usleep(chance(luck, 300));
  if (how == 9 && !spins) sched_yield();
}

static void use(object* o, unsigned* luck) {
  const unsigned how = chance(luck, 16);
  const struct timespec until = soon(chance(luck, 200000));
  const unsigned long began = now();
  const int error = take(o, how, &until);
  __atomic_fetch_add(&o->ns, now() - began, __ATOMIC_RELAXED);
  if (error != 0) return;
  __atomic_fetch_add(&o->taken, 1, __ATOMIC_RELAXED);
  if (o->kind == RECURSIVE && how > 12) {  // once more: it is held already
    pthread_mutex_lock(&o->mutex);
    pthread_mutex_unlock(&o->mutex);
  }
  if (o->kind == ERRORCHECK && how > 12 && pthread_mutex_lock(&o->mutex) != EDEADLK) abort();
  hold(luck, o->kind == SPIN);
  release(o);
}

static void take_turn(unsigned* luck) {
  pthread_mutex_lock(&turn_mutex);
  ++turn_taken;
  if (chance(luck, 2)) {
    ++turn;
    pthread_cond_broadcast(&turn_changed);
  } else {
    const struct timespec until = soon(300000);
    pthread_cond_timedwait(&turn_changed, &turn_mutex, &until);
    ++turn_taken;
  }
  pthread_mutex_unlock(&turn_mutex);
}

static void* work(void* number) {
  unsigned luck = seed * 2654435761u + (unsigned)(uintptr_t)number * 40503u;
  for (int i = 0; i < rounds; ++i) {
    use(objects[chance(&luck, OBJECTS)], &luck);
    if (chance(&luck, 128) == 0) take_turn(&luck);
  }
  return NULL;
}

static void run(void) {
  pthread_t all[MOST_THREADS];
  for (int i = 0; i < threads; ++i) pthread_create(&all[i], NULL, work, (void*)(uintptr_t)i);
  for (int i = 0; i < threads; ++i) pthread_join(all[i], NULL);
}

static void tell(void) {
  const int process = getpid();
  for (int i = 0; i < OBJECTS; ++i)
    printf("%d %p %s %lu %lu\n", process, (void*)objects[i], names[objects[i]->kind],
           objects[i]->taken, objects[i]->ns);
  printf("%d %p turn %lu -\n", process, (void*)&turn_mutex, turn_taken);
  fflush(stdout);
}

static void end(int ending) {
  if (ending == 1) _exit(0);
  if (ending == 2) raise(SIGTERM);
  if (ending == 3) pthread_exit(NULL);
}

int main(int argc, char** words) {
  if (argc != 3) return 2;
  seed = (unsigned)atoi(words[1]);
  const int ending = atoi(words[2]);
  unsigned luck = seed;
  threads = 1 + (int)chance(&luck, MOST_THREADS);
  rounds = 200 + (int)chance(&luck, 6000);
  for (int i = 0; i < OBJECTS; ++i) {
    const int kind = (int)chance(&luck, KINDS);
    objects[i] = make(kind, chance(&luck, 3) == 0 ? 3 : 1);
  }
  for (unsigned lives = 1 + chance(&luck, 3); lives != 0; --lives, ++seed) run();
  if (seed % 2 == 0) {
    const int child = fork();
    if (child == 0) {
      for (int i = 0; i < OBJECTS; ++i) objects[i]->taken = objects[i]->ns = 0;
      turn_taken = 0;
      run();
      tell();
      end(ending == 2 ? 0 : ending);
      return 0;
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
  }
  tell();
  end(ending);
  return 0;
}
