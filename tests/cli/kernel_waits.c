// kernel_waits.c -- one thread waits, again and again, until another lets it go on, which does so
// only when it has seen it asleep there. Arguments: at what it waits, how often, and for how many
// milliseconds each time.
// Prints: LEAST MOST WAITER HOLDER: nanoseconds that all waits took, as the holder and as the
// waiter has measured them, whatever else ran; and the kernel's ids of the two threads.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char* kind;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t sem;
static int word, told;
static volatile int held, round_of_holder, waiter_id, holder_id;
static long waited, slept, times = 5, held_ms = 60;

static long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}
static void nap(long ms) { nanosleep(&(struct timespec){0, ms * 1000000}, NULL); }

// Whether the waiter is in a futex call and has left its processor: until then the kernel says
// "running".
static int is_asleep(void) {
  if (waiter_id == 0) return 0;
  char path[64], line[16] = "";
  snprintf(path, sizeof path, "/proc/self/task/%d/syscall", waiter_id);
  FILE* file = fopen(path, "r");
  if (file == NULL || fgets(line, sizeof line, file) == NULL) {
    perror(path);
    exit(1);
  }
  fclose(file);
  return atoi(line) == SYS_futex;
}

static long call_futex(int* address, int operation, int value) {
#if defined(__x86_64__)
  if (strcmp(kind, "instruction") == 0) {
    long result;
    register long timeout __asm__("r10") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"((long)SYS_futex), "D"(address), "S"((long)operation), "d"((long)value),
                       "r"(timeout)
                     : "rcx", "r11", "memory");
    return result;
  }
#endif
  return syscall(SYS_futex, address, operation, value, NULL, NULL, 0);
}

static int is(const char* name) { return strcmp(kind, name) == 0; }

// As if a thread waited at it and another one was about to signal, which keeps the lock within: the
// C library's layout, as src/record/kernel/kinds.cpp knows it.
static void lock_within(int locked) {
  condition.__data.__wrefs = locked ? 8 : 0;
  __atomic_store_n(&condition.__data.__g1_orig_size, locked ? 2 : 0, __ATOMIC_SEQ_CST);
  if (!locked) call_futex((int*)&condition.__data.__g1_orig_size, FUTEX_WAKE_PRIVATE, 1);
}

__attribute__((noinline)) static void hold_here(void) {
  if (is("signal")) lock_within(1);
  if (is("mutex")) pthread_mutex_lock(&mutex);
  if (is("read") || is("write")) pthread_rwlock_wrlock(&rwlock);
  if (is("futex") || is("instruction")) __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
  told = 0;
  ++round_of_holder;
  while (!is_asleep()) nap(1);
  const long begin = now();
  nap(held_ms);
  slept += now() - begin;
  if (is("mutex")) pthread_mutex_unlock(&mutex);
  if (is("read") || is("write")) pthread_rwlock_unlock(&rwlock);
  if (is("signal")) lock_within(0);
  if (is("barrier")) pthread_barrier_wait(&barrier);
  if (is("semaphore")) sem_post(&sem);
  if (is("condition")) {
    pthread_mutex_lock(&mutex);
    told = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
  }
  if (is("futex") || is("instruction")) {
    __atomic_store_n(&word, 0, __ATOMIC_SEQ_CST);
    call_futex(&word, FUTEX_WAKE_PRIVATE, 1);
  }
  __asm__ volatile("" ::: "memory");  // no tail call: this function is the one that lets go
}

__attribute__((noinline)) static void wait_here(void) {
  if (is("mutex")) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
  if (is("read")) pthread_rwlock_rdlock(&rwlock);
  if (is("write")) pthread_rwlock_wrlock(&rwlock);
  if (is("read") || is("write")) pthread_rwlock_unlock(&rwlock);
  if (is("signal")) pthread_cond_signal(&condition);
  if (is("barrier")) pthread_barrier_wait(&barrier);
  if (is("semaphore")) sem_wait(&sem);
  if (is("condition")) {
    pthread_mutex_lock(&mutex);
    while (!told) pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
  }
  while ((is("futex") || is("instruction")) && __atomic_load_n(&word, __ATOMIC_SEQ_CST) == 1)
    call_futex(&word, FUTEX_WAIT_PRIVATE, 1);
  __asm__ volatile("" ::: "memory");
}

static void* holder(void* unused) {
  holder_id = (int)syscall(SYS_gettid);
  for (int i = 0; i < times; ++i) {
    while (held != i) nap(1);
    hold_here();
  }
  return unused;
}

static void* waiter(void* unused) {
  waiter_id = (int)syscall(SYS_gettid);
  for (int i = 0; i < times; ++i) {
    while (round_of_holder != i + 1) nap(1);
    const long begin = now();
    wait_here();
    waited += now() - begin;
    held = i + 1;
  }
  return unused;
}

int main(int count, char** words) {
  kind = count > 1 ? words[1] : "mutex";
  if (count > 2) times = atoi(words[2]);
  if (count > 3) held_ms = atoi(words[3]);
  pthread_barrier_init(&barrier, NULL, 2);
  sem_init(&sem, 0, 0);
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, holder, NULL);
  pthread_create(&threads[1], NULL, waiter, NULL);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  printf("%ld %ld %d %d\n", slept, waited, waiter_id, holder_id);
  return 0;
}
