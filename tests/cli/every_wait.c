// every_wait.c -- one wait of each kind, of which it is known that it happens: who is to be waited
// for goes on only when the other thread waits. The argument says which.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static sem_t sem, *named;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static volatile int tries, stop, word, thread_id;

static void nap(long ms) { nanosleep(&(struct timespec){0, ms * 1000000}, NULL); }
// glibc counts the threads that wait for a semaphore behind its value.
static void until_somebody_waits(sem_t* s) {
  while (((volatile unsigned*)s)[1] == 0) nap(1);
}
// Asleep in a system call, as the kernel says.
static void until_asleep(void) {
  char path[64], line[256], state = 0;
  while (thread_id == 0) nap(1);
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread_id);
  while (state != 'S') {
    FILE* file = fopen(path, "r");
    if (fgets(line, sizeof line, file)) state = strrchr(line, ')')[2];
    fclose(file);
    nap(1);
  }
}

static void* take(void* s) {
  while (sem_wait(s) != 0) {
  }
  sem_post(s);
  return NULL;
}
static void* wait_only(void* s) {
  while (sem_wait(s) != 0) {
  }
  return NULL;
}
static void* take_until_told(void* s) {
  sem_wait(s);
  for (tries = 1; !stop;) nap(1);
  sem_post(s);
  return NULL;
}
// Waits for what it has itself, until somebody else posts.
static void* take_twice(void* s) {
  sem_wait(s);
  return take(s);
}
static void* timed(void* s) {
  struct timespec soon;
  clock_gettime(CLOCK_REALTIME, &soon);
  soon.tv_sec += 3600;
  while (sem_timedwait(s, &soon) != 0) {
  }
  sem_post(s);
  return NULL;
}
static void* try_mutex(void* x) {
  while (pthread_mutex_trylock(&mutex) != 0) tries++;
  pthread_mutex_unlock(&mutex);
  return x;
}
static void* try_to_read(void* x) {
  while (pthread_rwlock_tryrdlock(&rwlock) != 0) tries++;
  pthread_rwlock_unlock(&rwlock);
  return x;
}
static void* try_now_and_then(void* x) {
  for (int i = 0; i < 20; i++, nap(1)) tries += pthread_mutex_trylock(&mutex) != 0;
  return x;
}
static void* spin_often(void* x) {
  for (int i = 0; i < 100; i++) {
    pthread_spin_lock(&spin);
    tries++;
    pthread_spin_unlock(&spin);
  }
  return x;
}
static void* spin_by_itself(void* x) {
  while (!stop) {
  }
  return x;
}
static void* yield_lock(void* x) {
  for (int i = 0; i < 1000; i++) {
    while (__atomic_exchange_n(&word, 1, __ATOMIC_ACQUIRE)) sched_yield();
    tries++;
    sched_yield();
    __atomic_store_n(&word, 0, __ATOMIC_RELEASE);
  }
  return x;
}
static void* sleep_on_a_futex(void* x) {
  thread_id = gettid();
  while (word == 0) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
  return x;
}
// A mutex of three states: free, held, held while others may wait.
__attribute__((noinline)) static void own_lock(void) {
  int seen = 0;
  if (__atomic_compare_exchange_n(&word, &seen, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) return;
  while (__atomic_exchange_n(&word, 2, __ATOMIC_ACQUIRE) != 0)
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}
__attribute__((noinline)) static void own_unlock(void) {
  if (__atomic_exchange_n(&word, 0, __ATOMIC_RELEASE) == 2)
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
// The same, but all who wait are woken, as by C++20's semaphores.
static void* use_lock_that_wakes_all(void* x) {
  for (int i = 0; i < 20; i++) {
    own_lock();
    nap(1);
    if (__atomic_exchange_n(&word, 0, __ATOMIC_RELEASE) == 2)
      syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
  }
  return x;
}
static void* use_own_lock(void* x) {
  for (int i = 0; i < 20; i++) {
    own_lock();
    nap(1);
    own_unlock();
  }
  return x;
}
// Wakes whoever waits, as one does who releases the lock and has it again before the woken runs.
static void wake(int times) {
  for (int i = 0; i < times; i++)
    while (syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 0) nap(1);
}
static void* wake_by_waiter(void* times) {
  own_lock();
  if (__atomic_fetch_add(&tries, 1, __ATOMIC_ACQ_REL) == 0) wake((int)(long)times);
  own_unlock();
  return NULL;
}
enum { at_barrier = 3 };
static void* use_own_barrier(void* x) {
  for (int i = 0; i < 20; i++) {
    const int round = __atomic_load_n(&word, __ATOMIC_ACQUIRE);
    nap(1);
    if (__atomic_add_fetch(&tries, 1, __ATOMIC_ACQ_REL) % at_barrier == 0) {
      __atomic_add_fetch(&word, 1, __ATOMIC_RELEASE);
      syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    }
    while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == round)
      syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, round, NULL, NULL, 0);
  }
  return x;
}
static void* sleep_outside(void* x) {
  nap(100);
  return x;
}

// Objects that processes might share: the C library's own, in each of these ways.
static pthread_cond_t condition;
static int told;
static void* read_it(void* x) {
  thread_id = (int)syscall(SYS_gettid);
  pthread_rwlock_rdlock(&rwlock);
  pthread_rwlock_unlock(&rwlock);
  return x;
}
static void* write_it(void* x) {
  thread_id = (int)syscall(SYS_gettid);
  pthread_rwlock_wrlock(&rwlock);
  pthread_rwlock_unlock(&rwlock);
  return x;
}
static void* lock_it(void* x) {
  thread_id = (int)syscall(SYS_gettid);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  return x;
}
static void* wait_for_it(void* x) {
  pthread_mutex_lock(&mutex);
  thread_id = (int)syscall(SYS_gettid);
  while (!told) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
  return x;
}
static void share_rwlock(void) {
  pthread_rwlockattr_t attributes;
  pthread_rwlockattr_init(&attributes);
  pthread_rwlockattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_rwlock_init(&rwlock, &attributes);
}
static void share_mutex(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&mutex, &attributes);
}
static void share_condition(void) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_cond_init(&condition, &attributes);
}

static pthread_t begin(void* (*function)(void*), void* argument) {
  pthread_t thread;
  pthread_create(&thread, NULL, function, argument);
  return thread;
}
static void until_tried(void) {
  while (tries < 1000) nap(1);
}

// Two processes take it in turn.
static void shared_semaphore_lock(void) {
  sem_t* const s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  sem_init(s, 1, 1);
  const pid_t child = fork();
  for (int i = 0; i < 20; i++) {
    sem_wait(s);
    nap(2);
    sem_post(s);
    nap(1);
  }
  if (child == 0) exit(0);
  waitpid(child, NULL, 0);
}
static void semaphore(void* (*function)(void*), sem_t* s) {
  sem_wait(s);
  const pthread_t thread = begin(function, s);
  until_somebody_waits(s);
  sem_post(s);
  pthread_join(thread, NULL);
}
static void until_it_sleeps(pthread_t thread, void (*let_go)(void)) {
  until_asleep();
  nap(20);
  let_go();
  pthread_join(thread, NULL);
}
static void unlock_rwlock(void) { pthread_rwlock_unlock(&rwlock); }
static void unlock_mutex(void) { pthread_mutex_unlock(&mutex); }
static void tell(void) {
  pthread_mutex_lock(&mutex);
  told = 1;
  pthread_cond_broadcast(&condition);
  pthread_mutex_unlock(&mutex);
}
static int shared(const char* what) {
  if (strcmp(what, "read") == 0 || strcmp(what, "write") == 0 || strcmp(what, "read_held") == 0) {
    share_rwlock();
    if (strcmp(what, "read_held") == 0) pthread_rwlock_rdlock(&rwlock);
    else pthread_rwlock_wrlock(&rwlock);
    until_it_sleeps(begin(strcmp(what, "read") == 0 ? read_it : write_it, NULL), unlock_rwlock);
  } else if (strcmp(what, "mutex") == 0) {
    share_mutex();
    pthread_mutex_lock(&mutex);
    until_it_sleeps(begin(lock_it, NULL), unlock_mutex);
  } else if (strcmp(what, "condition") == 0 || strcmp(what, "condition_alone") == 0) {
    share_condition();
    if (strcmp(what, "condition") == 0) share_mutex();
    until_it_sleeps(begin(wait_for_it, NULL), tell);
  } else {
    return 2;
  }
  return 0;
}
// Of two, one is posted by who took it before another thread took the second.
static void pool(void) {
  sem_init(&sem, 0, 2);
  sem_wait(&sem);
  const pthread_t keeper = begin(take_until_told, &sem);
  while (!tries) nap(1);
  const pthread_t thread = begin(take, &sem);
  until_somebody_waits(&sem);
  sem_post(&sem);
  pthread_join(thread, NULL);
  stop = 1;
  pthread_join(keeper, NULL);
}
static void signal_of(sem_t* s) {
  const pthread_t thread = begin(wait_only, s);
  until_somebody_waits(s);
  sem_post(s);
  pthread_join(thread, NULL);
}

// As Python's SimpleQueue: who finds it empty has the semaphore, and waits for it; who was woken
// posts it for the next.
static void passed_on(void) {
  sem_init(&sem, 0, 1);
  const pthread_t first = begin(take_twice, &sem);
  until_somebody_waits(&sem);
  const pthread_t second = begin(take, &sem);
  while (((volatile unsigned*)&sem)[1] < 2) nap(1);
  nap(20);
  sem_post(&sem);
  pthread_join(first, NULL);
  pthread_join(second, NULL);
}

// Calls that are refused, or that have at once what they ask for; and objects that nobody uses. How
// many said otherwise than they should.
static int refused(void) {
  pthread_mutexattr_t kind;
  pthread_condattr_t shared;
  pthread_rwlockattr_t of_rwlock;
  pthread_barrierattr_t of_barrier;
  pthread_mutexattr_init(&kind);
  pthread_condattr_init(&shared);
  pthread_rwlockattr_init(&of_rwlock);
  pthread_barrierattr_init(&of_barrier);
  pthread_condattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  pthread_rwlockattr_setpshared(&of_rwlock, PTHREAD_PROCESS_SHARED);
  pthread_barrierattr_setpshared(&of_barrier, PTHREAD_PROCESS_SHARED);
  static pthread_cond_t own = PTHREAD_COND_INITIALIZER, both, unused_condition;
  static pthread_rwlock_t unused_rwlock;
  static pthread_barrier_t unused_barrier;
  static sem_t unused_semaphore;
  static pthread_mutex_t checks, shared_checks, recursive, unused_mutex;
  pthread_cond_init(&both, &shared);
  pthread_cond_init(&unused_condition, &shared);
  pthread_rwlock_init(&unused_rwlock, &of_rwlock);
  pthread_barrier_init(&unused_barrier, &of_barrier, 2);
  sem_init(&unused_semaphore, 1, 0);
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&checks, &kind);
  pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&shared_checks, &kind);
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&recursive, &kind);
  pthread_mutex_init(&unused_mutex, &kind);
  const struct timespec wrong = {0, -1}, later = {0, 0};
  const clockid_t no_clock = CLOCK_PROCESS_CPUTIME_ID;
  int others = pthread_cond_wait(&own, &checks) != EPERM;
  others += pthread_cond_wait(&both, &checks) != EPERM;
  others += pthread_cond_wait(&both, &shared_checks) != EPERM;
  pthread_mutex_lock(&shared_checks);
  pthread_mutex_lock(&mutex);
  pthread_cond_t* const conditions[] = {&own, &both};
  for (int i = 0; i < 2; i++) {
    others += pthread_cond_timedwait(conditions[i], &mutex, &wrong) != EINVAL;
    others += pthread_cond_clockwait(conditions[i], &mutex, no_clock, &later) != EINVAL;
  }
  others += pthread_cond_timedwait(&both, &shared_checks, &wrong) != EINVAL;
  others += pthread_cond_clockwait(&both, &shared_checks, no_clock, &later) != EINVAL;
  others += pthread_mutex_lock(&shared_checks) != EDEADLK;
  pthread_mutex_lock(&recursive);
  others += pthread_mutex_lock(&recursive) != 0;
  others += pthread_join(pthread_self(), NULL) != EDEADLK;
  others += syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, word + 1, NULL, NULL, 0) != -1;
  return others;
}

int main(int count, char** arguments) {
  const char* what = count > 1 ? arguments[1] : "";
  if (strcmp(what, "semaphore_lock") == 0) {
    sem_init(&sem, 0, 1);
    semaphore(take, &sem);
  } else if (strcmp(what, "timed_semaphore_lock") == 0) {
    sem_init(&sem, 0, 1);
    semaphore(timed, &sem);
  } else if (strcmp(what, "passed_on") == 0) {
    passed_on();
  } else if (strcmp(what, "pool") == 0) {
    pool();
  } else if (strcmp(what, "semaphore") == 0) {
    sem_init(&sem, 0, 0);
    signal_of(&sem);
  } else if (strcmp(what, "named_semaphore") == 0) {
    char name[64];
    snprintf(name, sizeof name, "/syncopate-wait-%d", getpid());
    named = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
    sem_unlink(name);
    signal_of(named);
  } else if (strcmp(what, "trylock") == 0) {
    pthread_mutex_lock(&mutex);
    const pthread_t thread = begin(try_mutex, NULL);
    until_tried();
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
  } else if (strcmp(what, "tryrdlock") == 0) {
    pthread_rwlock_wrlock(&rwlock);
    const pthread_t thread = begin(try_to_read, NULL);
    until_tried();
    pthread_rwlock_unlock(&rwlock);
    pthread_join(thread, NULL);
  } else if (strcmp(what, "refused") == 0) {
    return refused();
  } else if (strcmp(what, "polling") == 0) {
    pthread_mutex_lock(&mutex);
    pthread_join(begin(try_now_and_then, NULL), NULL);
    pthread_mutex_unlock(&mutex);
    return tries != 20;
  } else if (strcmp(what, "spinlock") == 0) {
    pthread_spin_init(&spin, 0);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) threads[i] = begin(spin_often, NULL);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    return tries != 400;
  } else if (strcmp(what, "futex") == 0) {
    const pthread_t thread = begin(sleep_on_a_futex, NULL);
    until_asleep();
    nap(100);
    word = 1;
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    pthread_join(thread, NULL);
  } else if (strcmp(what, "futex_lock") == 0 || strcmp(what, "futex_lock_all") == 0 ||
             strcmp(what, "futex_barrier") == 0) {
    void* (*const use)(void*) = strcmp(what, "futex_lock") == 0       ? use_own_lock
                                : strcmp(what, "futex_lock_all") == 0 ? use_lock_that_wakes_all
                                                                      : use_own_barrier;
    pthread_t threads[at_barrier];
    for (int i = 0; i < at_barrier; i++) threads[i] = begin(use, NULL);
    for (int i = 0; i < at_barrier; i++) pthread_join(threads[i], NULL);
  } else if (strcmp(what, "futex_barging") == 0 || strcmp(what, "futex_signal") == 0) {
    void* const by_waiter = (void*)(strcmp(what, "futex_barging") == 0 ? 10L : 3L);
    own_lock();
    const pthread_t threads[2] = {begin(wake_by_waiter, by_waiter),
                                  begin(wake_by_waiter, by_waiter)};
    wake(20);
    own_unlock();
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  } else if (strcmp(what, "shared_semaphore_lock") == 0) {
    shared_semaphore_lock();
  } else if (strncmp(what, "shared_", 7) == 0) {
    return shared(what + 7);
  } else if (strcmp(what, "own_spin") == 0) {
    const pthread_t threads[2] = {begin(spin_by_itself, NULL), begin(spin_by_itself, NULL)};
    nap(100);
    stop = 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  } else if (strcmp(what, "yield") == 0) {
    const pthread_t threads[2] = {begin(yield_lock, NULL), begin(yield_lock, NULL)};
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  } else if (strcmp(what, "join") == 0) {
    pthread_join(begin(sleep_outside, NULL), NULL);
  } else {
    return 2;
  }
  return 0;
}
