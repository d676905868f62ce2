// every_call.c -- calls every function that the preload library stands in for, each in a valid way.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define OK(call)                                                         \
  do {                                                                   \
    const long result = (long)(call);                                    \
    if (result != 0) return fprintf(stderr, #call ": %ld\n", result), 1; \
  } while (0)

static struct timespec past;  // limits of locks that are free, or of waits for nothing
static struct timespec later;

static void* nothing(void* x) { return x; }
static int nothing_c11(void* x) { return x != NULL; }

static int mutexes(void) {
  pthread_mutex_t m;
  OK(pthread_mutex_init(&m, NULL));
  OK(pthread_mutex_lock(&m));
  OK(pthread_mutex_unlock(&m));
  OK(pthread_mutex_trylock(&m));
  OK(pthread_mutex_unlock(&m));
  OK(pthread_mutex_timedlock(&m, &later));
  OK(pthread_mutex_unlock(&m));
  OK(pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &later));
  OK(pthread_mutex_unlock(&m));
  OK(pthread_mutex_destroy(&m));
  return 0;
}

static int conditions(void) {
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t c;
  OK(pthread_cond_init(&c, NULL));
  OK(pthread_mutex_lock(&m));
  pthread_cond_timedwait(&c, &m, &past);
  pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &past);
  OK(pthread_mutex_unlock(&m));
  OK(pthread_cond_signal(&c));
  OK(pthread_cond_broadcast(&c));
  OK(pthread_cond_destroy(&c));
  return 0;
}

static pthread_mutex_t waiting = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t told = PTHREAD_COND_INITIALIZER;
static cnd_t told_c11;
static mtx_t waiting_c11;
static int ready;

static void* tell(void* x) {
  pthread_mutex_lock(&waiting);
  ready = 1;
  pthread_cond_signal(&told);
  pthread_mutex_unlock(&waiting);
  return x;
}

static int tell_c11(void* x) {
  mtx_lock(&waiting_c11);
  ready = 2;
  cnd_signal(&told_c11);
  mtx_unlock(&waiting_c11);
  return x != NULL;
}

// The mutex is held when the other thread starts, so that it cannot tell before this one waits.
static int threads(void) {
  pthread_t t;
  OK(pthread_mutex_lock(&waiting));
  OK(pthread_create(&t, NULL, tell, NULL));
  while (ready != 1) OK(pthread_cond_wait(&told, &waiting));
  OK(pthread_mutex_unlock(&waiting));
  OK(pthread_join(t, NULL));
  OK(pthread_create(&t, NULL, nothing, NULL));
  OK(pthread_timedjoin_np(t, NULL, &later));
  OK(pthread_create(&t, NULL, nothing, NULL));
  OK(pthread_clockjoin_np(t, NULL, CLOCK_MONOTONIC, &later));
  return 0;
}

static int c11(void) {
  thrd_t t;
  OK(mtx_init(&waiting_c11, mtx_timed));
  OK(cnd_init(&told_c11));
  OK(mtx_lock(&waiting_c11));
  OK(thrd_create(&t, tell_c11, NULL));
  while (ready != 2) OK(cnd_wait(&told_c11, &waiting_c11));
  cnd_timedwait(&told_c11, &waiting_c11, &past);
  OK(cnd_broadcast(&told_c11));
  OK(mtx_unlock(&waiting_c11));
  OK(thrd_join(t, NULL));
  OK(mtx_trylock(&waiting_c11));
  OK(mtx_unlock(&waiting_c11));
  OK(mtx_timedlock(&waiting_c11, &later));
  OK(mtx_unlock(&waiting_c11));
  cnd_destroy(&told_c11);
  mtx_destroy(&waiting_c11);
  OK(thrd_create(&t, nothing_c11, NULL));
  OK(thrd_join(t, NULL));
  return 0;
}

static int rwlocks(void) {
  pthread_rwlock_t l;
  OK(pthread_rwlock_init(&l, NULL));
  OK(pthread_rwlock_rdlock(&l));
  OK(pthread_rwlock_tryrdlock(&l));
  OK(pthread_rwlock_timedrdlock(&l, &later));
  OK(pthread_rwlock_clockrdlock(&l, CLOCK_MONOTONIC, &later));
  for (int i = 0; i < 4; i++) OK(pthread_rwlock_unlock(&l));
  OK(pthread_rwlock_wrlock(&l));
  OK(pthread_rwlock_unlock(&l));
  OK(pthread_rwlock_trywrlock(&l));
  OK(pthread_rwlock_unlock(&l));
  OK(pthread_rwlock_timedwrlock(&l, &later));
  OK(pthread_rwlock_unlock(&l));
  OK(pthread_rwlock_clockwrlock(&l, CLOCK_MONOTONIC, &later));
  OK(pthread_rwlock_unlock(&l));
  OK(pthread_rwlock_destroy(&l));
  return 0;
}

static int others(void) {
  pthread_spinlock_t l;
  OK(pthread_spin_init(&l, 0));
  OK(pthread_spin_lock(&l));
  OK(pthread_spin_unlock(&l));
  OK(pthread_spin_trylock(&l));
  OK(pthread_spin_unlock(&l));
  OK(pthread_spin_destroy(&l));
  pthread_barrier_t b;
  OK(pthread_barrier_init(&b, NULL, 1));
  OK(pthread_barrier_wait(&b) - PTHREAD_BARRIER_SERIAL_THREAD);
  OK(pthread_barrier_destroy(&b));
  sem_t s;
  OK(sem_init(&s, 0, 3));
  OK(sem_wait(&s));
  OK(sem_trywait(&s));
  OK(sem_timedwait(&s, &later));
  OK(sem_post(&s));
  OK(sem_clockwait(&s, CLOCK_MONOTONIC, &later));
  OK(sem_destroy(&s));
  OK(dlclose(dlopen(NULL, RTLD_NOW)));
  OK(sched_yield());
  OK(syscall(SYS_getpid) - getpid());
  return 0;
}

// All fail, after which the program goes on.
static int becomes_nothing(void) {
  char *words[] = {"a", "b", NULL}, *environment[] = {"C=d", NULL};
  OK(execl("/nowhere", "a", "b", (char*)NULL) + 1);
  OK(execlp("/nowhere", "a", "b", (char*)NULL) + 1);
  OK(execle("/nowhere", "a", "b", (char*)NULL, environment) + 1);
  OK(execv("/nowhere", words) + 1);
  OK(execvp("/nowhere", words) + 1);
  OK(execve("/nowhere", words, environment) + 1);
  OK(execvpe("/nowhere", words, environment) + 1);
  OK(fexecve(-1, words, environment) + 1);
  OK(execveat(-1, "nowhere", words, environment, 0) + 1);
  return 0;
}

static int ends(void) {
  int first, second;
  pid_t child = fork();
  if (child == 0) _exit(3);
  OK(waitpid(child, &first, 0) - child);
  child = fork();
  if (child == 0) _Exit(4);
  OK(waitpid(child, &second, 0) - child);
  OK(WEXITSTATUS(first) - 3);
  OK(WEXITSTATUS(second) - 4);
  return 0;
}

int main(void) {
  clock_gettime(CLOCK_REALTIME, &later);
  later.tv_sec += 3600;
  return mutexes() || conditions() || threads() || c11() || rwlocks() || others() ||
         becomes_nothing() || ends();
}
