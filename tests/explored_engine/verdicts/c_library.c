// More of C and POSIX. What each program is, table.txt says.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

typedef void* (*entry)(void*);
static void run2(entry a, entry b, void* x) {
  pthread_t t;
  if (pthread_create(&t, NULL, b, x) != 0) abort();
  a(x);
  pthread_join(t, NULL);
}
static int data, data2, flag_plain;
static atomic_int flag, count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;

// Pipes, events and sockets hand on what their writer has done.
static int ends[2];
static void* piped_w(void* u) {
  (void)u;
  data = 1;
  char c = 1;
  if (write(ends[1], &c, 1) != 1) abort();
  return NULL;
}
static void* piped_r(void* u) {
  (void)u;
  char c = 0;
  if (read(ends[0], &c, 1) != 1) abort();
  assert(data == 1);
  return NULL;
}
static void* piped_r_not(void* u) {
  (void)u;
  assert(data == 1);
  char c;
  if (read(ends[0], &c, 1) != 1) abort();
  return NULL;
}
static void open_pipe(void) {
  if (pipe(ends) != 0) abort();
}
static void close_pipe(void) {
  close(ends[0]);
  close(ends[1]);
}
static void piped(void) {
  open_pipe();
  run2(piped_w, piped_r, NULL);
  close_pipe();
}
static void piped_not_read(void) {
  open_pipe();
  run2(piped_w, piped_r_not, NULL);
  close_pipe();
}
static void socketed(void) {
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) abort();
  run2(piped_w, piped_r, NULL);
  close_pipe();
}
static void* event_w(void* u) {
  (void)u;
  data = 1;
  uint64_t one = 1;
  if (write(ends[1], &one, 8) != 8) abort();
  return NULL;
}
static void* event_r(void* u) {
  (void)u;
  uint64_t n;
  if (read(ends[0], &n, 8) != 8) abort();
  assert(data == 1);
  return NULL;
}
static void evented(void) {
  ends[0] = ends[1] = eventfd(0, 0);
  run2(event_w, event_r, NULL);
  close(ends[0]);
}
// Who writes first is not said.
static char said[2];
static void* says(void* which) {
  if (write(ends[1], which, 1) != 1) abort();
  return NULL;
}
static void hear_two(void) {
  pthread_t one, two;
  open_pipe();
  pthread_create(&one, NULL, says, "a");
  pthread_create(&two, NULL, says, "b");
  for (int i = 0; i < 2; ++i)
    if (read(ends[0], &said[i], 1) != 1) abort();
  pthread_join(one, NULL);
  pthread_join(two, NULL);
  close_pipe();
}
static void piped_by_two(void) {
  hear_two();
  assert(said[0] != said[1]);
}
static void piped_in_order(void) {
  hear_two();
  assert(said[0] == 'a');
}
static void* nothing(void* u) {
  (void)u;
  return NULL;
}
static void piped_nobody(void) {
  open_pipe();
  run2(nothing, piped_r, NULL);
  close_pipe();
}

// Signals.
static volatile sig_atomic_t got;
static atomic_int got_atomic;
static void on_signal(int s) {
  (void)s;
  got = 1;
  atomic_store(&got_atomic, 1);
}
static void raised(void) {
  signal(SIGUSR1, on_signal);
  raise(SIGUSR1);
  assert(got == 1);
}
static void on_signal_plain(int s) {
  (void)s;
  ++data;
}
static void* raises(void* u) {
  (void)u;
  raise(SIGUSR1);
  return NULL;
}
static void handlers_race(void) {
  signal(SIGUSR1, on_signal_plain);
  run2(raises, raises, NULL);
}
static void on_signal_atomic(int s) {
  (void)s;
  atomic_fetch_add(&count, 1);
}
static void handlers_count(void) {
  signal(SIGUSR1, on_signal_atomic);
  run2(raises, raises, NULL);
  assert(count == 2);
}
static void handlers_count_wrong(void) {
  signal(SIGUSR1, on_signal_atomic);
  run2(raises, nothing, NULL);
  assert(count == 2);
}

static void forks(void) {
  pid_t p = fork();
  assert(p == -1 && errno == ENOSYS);
}

static void errorcheck(void) {
  pthread_mutexattr_t a;
  pthread_mutex_t m;
  pthread_mutexattr_init(&a);
  pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&m, &a);
  assert(pthread_mutex_lock(&m) == 0);
  assert(pthread_mutex_lock(&m) == EDEADLK);
  assert(pthread_mutex_unlock(&m) == 0);
  assert(pthread_mutex_unlock(&m) == EPERM);
  pthread_mutex_destroy(&m);
}

static void* cw_waits(void* u) {
  (void)u;
  pthread_mutex_lock(&mutex);
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  t.tv_sec += 1;
  int r = 0;
  while (!flag_plain && r == 0) r = pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &t);
  assert(flag_plain || r == ETIMEDOUT);
  pthread_mutex_unlock(&mutex);
  return NULL;
}
static void* cw_waits_no_check(void* u) {
  (void)u;
  pthread_mutex_lock(&mutex);
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  t.tv_sec += 1;
  int r = 0;
  while (!flag_plain && r == 0) r = pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &t);
  assert(flag_plain);
  pthread_mutex_unlock(&mutex);
  return NULL;
}
static void* cw_sets(void* u) {
  (void)u;
  pthread_mutex_lock(&mutex);
  flag_plain = 1;
  pthread_mutex_unlock(&mutex);
  pthread_cond_signal(&cond);
  return NULL;
}
static void clockwait(void) { run2(cw_sets, cw_waits, NULL); }
static void clockwait_believed(void) { run2(cw_sets, cw_waits_no_check, NULL); }

static void* rw_reads(void* u) {
  (void)u;
  pthread_rwlock_rdlock(&rw);
  assert(data == data2);
  pthread_rwlock_unlock(&rw);
  return NULL;
}
static void* rw_writes_try(void* u) {
  (void)u;
  if (pthread_rwlock_trywrlock(&rw) == 0) {
    ++data;
    ++data2;
    pthread_rwlock_unlock(&rw);
  }
  return NULL;
}
static void* rw_writes_try_ignored(void* u) {
  (void)u;
  int r = pthread_rwlock_trywrlock(&rw);
  ++data;
  ++data2;
  if (r == 0) pthread_rwlock_unlock(&rw);
  return NULL;
}
static void rwlock_try(void) { run2(rw_reads, rw_writes_try, NULL); }
static void rwlock_try_ignored(void) { run2(rw_reads, rw_writes_try_ignored, NULL); }
static void* rw_timed(void* u) {
  (void)u;
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_sec++;
  int r = pthread_rwlock_timedwrlock(&rw, &t);
  if (r == 0) {
    ++data;
    ++data2;
    pthread_rwlock_unlock(&rw);
  } else assert(r == ETIMEDOUT);
  return NULL;
}
static void rwlock_timed(void) { run2(rw_reads, rw_timed, NULL); }

// A lock that prefers writers lets no more readers in while one waits, not even those that have it.
static pthread_rwlock_t writers_first = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static pthread_rwlock_t* chosen_lock = &rw;

static void* reads_twice(void* unused) {
  (void)unused;
  pthread_rwlock_rdlock(chosen_lock);
  const int before = data;
  pthread_rwlock_rdlock(chosen_lock);
  assert(data == before);
  pthread_rwlock_unlock(chosen_lock);
  pthread_rwlock_unlock(chosen_lock);
  return NULL;
}
static void* tries_to_read_twice(void* unused) {
  (void)unused;
  pthread_rwlock_rdlock(chosen_lock);
  const int before = data;
  const int result = pthread_rwlock_tryrdlock(chosen_lock);
  assert(data == before && (result == 0 || result == EBUSY));
  if (result == 0) pthread_rwlock_unlock(chosen_lock);
  pthread_rwlock_unlock(chosen_lock);
  return NULL;
}
static void* writes_once(void* unused) {
  (void)unused;
  pthread_rwlock_wrlock(chosen_lock);
  ++data;
  pthread_rwlock_unlock(chosen_lock);
  return NULL;
}
static void* gives_up_writing(void* unused) {
  const struct timespec past = {0, 0};
  if (pthread_rwlock_timedwrlock(chosen_lock, &past) == 0) pthread_rwlock_unlock(chosen_lock);
  return unused;
}
static void rwlock_read_twice(void) { run2(reads_twice, writes_once, NULL); }
static void writers_first_read_twice(void) {
  chosen_lock = &writers_first;
  run2(reads_twice, writes_once, NULL);
}
static void writers_first_tried_twice(void) {
  chosen_lock = &writers_first;
  run2(tries_to_read_twice, writes_once, NULL);
}
static void writers_first_two_write(void) {
  chosen_lock = &writers_first;
  run2(writes_once, writes_once, NULL);
  assert(data == 2);
}
static void writers_first_given_up(void) {
  chosen_lock = &writers_first;
  run2(reads_twice, gives_up_writing, NULL);
}

static sem_t sem;
static void* sem_posts(void* u) {
  (void)u;
  data = 1;
  sem_post(&sem);
  return NULL;
}
static void sem_destroyed_early(void) {
  sem_init(&sem, 0, 0);
  pthread_t t;
  pthread_create(&t, NULL, sem_posts, NULL);
  sem_destroy(&sem);
  pthread_join(t, NULL);
}

// The one that the barrier names adds up.
static pthread_barrier_t bar;
static int part[2];
static void* bar_sums(void* i) {
  part[(intptr_t)i] = 1;
  if (pthread_barrier_wait(&bar) == PTHREAD_BARRIER_SERIAL_THREAD) data = part[0] + part[1];
  return NULL;
}
static void* bar_sums_both(void* i) {
  part[(intptr_t)i] = 1;
  pthread_barrier_wait(&bar);
  data = part[0] + part[1];
  return NULL;
}
static void barrier_serial_of(entry e) {
  pthread_barrier_init(&bar, NULL, 2);
  pthread_t t;
  pthread_create(&t, NULL, e, (void*)1);
  e((void*)0);
  pthread_join(t, NULL);
  pthread_barrier_destroy(&bar);
  assert(data == 2);
}
static void barrier_serial(void) { barrier_serial_of(bar_sums); }
static void barrier_serial_both(void) { barrier_serial_of(bar_sums_both); }

static void join_twice(void) {
  pthread_t t;
  pthread_create(&t, NULL, nothing, NULL);
  pthread_join(t, NULL);
  pthread_join(t, NULL);
}

// C11.
static mtx_t mtx;
static once_flag once = ONCE_FLAG_INIT;
static tss_t tss;
static void once_init(void) { ++data; }
static int c11_once_t(void* u) {
  (void)u;
  call_once(&once, once_init);
  assert(data == 1);
  return 7;
}
static void c11_once(void) {
  thrd_t a, b;
  thrd_create(&a, c11_once_t, NULL);
  thrd_create(&b, c11_once_t, NULL);
  int r;
  thrd_join(a, &r);
  assert(r == 7);
  thrd_join(b, NULL);
}
static int c11_once_bad_t(void* u) {
  (void)u;
  if (!flag_plain) {
    flag_plain = 1;
    once_init();
  }
  return 0;
}
static void c11_once_bad(void) {
  thrd_t a, b;
  thrd_create(&a, c11_once_bad_t, NULL);
  thrd_create(&b, c11_once_bad_t, NULL);
  thrd_join(a, NULL);
  thrd_join(b, NULL);
}
static int c11_timed_t(void* u) {
  (void)u;
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  t.tv_sec++;
  int r = mtx_timedlock(&mtx, &t);
  if (r == thrd_success) {
    ++data;
    mtx_unlock(&mtx);
  } else assert(r == thrd_timedout);
  return 0;
}
static int c11_timed_bad_t(void* u) {
  (void)u;
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  t.tv_sec++;
  int r = mtx_timedlock(&mtx, &t);
  ++data;
  if (r == thrd_success) mtx_unlock(&mtx);
  return 0;
}
static void c11_timed_of(thrd_start_t f) {
  mtx_init(&mtx, mtx_timed);
  thrd_t a, b;
  thrd_create(&a, f, NULL);
  thrd_create(&b, f, NULL);
  thrd_join(a, NULL);
  thrd_join(b, NULL);
  mtx_destroy(&mtx);
}
static void c11_timed(void) { c11_timed_of(c11_timed_t); }
static void c11_timed_bad(void) { c11_timed_of(c11_timed_bad_t); }
static atomic_int destroyed;
static FILE* a_file;
static int puts_to_file(void* u) {
  (void)u;
  fputs("a", a_file);
  return 0;
}
static int closes_file(void* u) {
  (void)u;
  return fclose(a_file);
}
static void file_of_two(int (*other)(void*)) {
  a_file = fopen("/dev/null", "w");
  if (a_file == NULL) abort();
  thrd_t t;
  thrd_create(&t, other, NULL);
  puts_to_file(NULL);
  thrd_join(t, NULL);
  if (other == puts_to_file) closes_file(NULL);
}
static void file_shared(void) { file_of_two(puts_to_file); }
static void file_closed_by_other(void) { file_of_two(closes_file); }
// A block of no bytes is one all the same, also where one was before.
static void* volatile no_block;
static void get_and_free(size_t bytes) {
  no_block = malloc(bytes);
  free(no_block);
}
static void no_bytes(void) {
  for (size_t i = 0; i < 3; ++i) {
    get_and_free(8);
    get_and_free(0);
  }
}
static void no_bytes_bad(void) {
  get_and_free(8);
  get_and_free(0);
  free(no_block);
}
static void tss_gone(void* v) {
  atomic_fetch_add(&destroyed, 1);
  free(v);
}
static int c11_tss_t(void* u) {
  (void)u;
  tss_set(tss, malloc(4));
  thrd_exit(3);
}
static void c11_tss(void) {
  tss_create(&tss, tss_gone);
  thrd_t a;
  thrd_create(&a, c11_tss_t, NULL);
  int r;
  thrd_join(a, &r);
  assert(r == 3 && destroyed == 1);
  tss_delete(tss);
}

static void* atomic_adds_plain(void* u) {
  (void)u;
  __atomic_fetch_add(&data, 1, __ATOMIC_RELAXED);
  return NULL;
}
static void* plain_adds(void* u) {
  (void)u;
  ++data;
  return NULL;
}
static void atomic_and_plain(void) { run2(plain_adds, atomic_adds_plain, NULL); }
static void* sync_lock(void* u) {
  (void)u;
  while (__sync_lock_test_and_set(&flag_plain, 1))
    while (__atomic_load_n(&flag_plain, __ATOMIC_RELAXED)) {
    }
  ++data;
  __sync_lock_release(&flag_plain);
  return NULL;
}
static void sync_spin(void) {
  run2(sync_lock, sync_lock, NULL);
  assert(data == 2);
}
static void* sync_lock_atomic(void* u) {
  (void)u;
  while (__atomic_test_and_set(&flag_plain, __ATOMIC_ACQUIRE)) __builtin_ia32_pause();
  ++data;
  __atomic_clear(&flag_plain, __ATOMIC_RELEASE);
  return NULL;
}
static void tas_spin(void) {
  run2(sync_lock_atomic, sync_lock_atomic, NULL);
  assert(data == 2);
}
static void* sync_lock_relaxed(void* u) {
  (void)u;
  while (__atomic_test_and_set(&flag_plain, __ATOMIC_ACQUIRE)) __builtin_ia32_pause();
  ++data;
  __atomic_clear(&flag_plain, __ATOMIC_RELAXED);
  return NULL;
}
static void tas_spin_relaxed(void) { run2(sync_lock_relaxed, sync_lock_relaxed, NULL); }
static void* backoff(void* u) {
  (void)u;
  int d = 1;
  while (atomic_exchange(&flag, 1)) {
    for (volatile int i = 0; i < d; ++i) {
    }
    if (d < 64) d *= 2;
  }
  ++data;
  atomic_store(&flag, 0);
  return NULL;
}
static void backoff_spin(void) {
  run2(backoff, backoff, NULL);
  assert(data == 2);
}
struct triple {
  long a, b, c;
};
static _Atomic struct triple triple_of;
static void* triple_adds(void* u) {
  (void)u;
  struct triple p = atomic_load(&triple_of), n;
  do {
    n = p;
    ++n.a;
  } while (!atomic_compare_exchange_weak(&triple_of, &p, n));
  return NULL;
}
static void* triple_stores(void* u) {
  (void)u;
  struct triple p = atomic_load(&triple_of);
  ++p.a;
  atomic_store(&triple_of, p);
  return NULL;
}
static void atomic_triple(void) {
  run2(triple_adds, triple_adds, NULL);
  struct triple p = atomic_load(&triple_of);
  assert(p.a == 2);
}
static void atomic_triple_lost(void) {
  run2(triple_stores, triple_stores, NULL);
  struct triple p = atomic_load(&triple_of);
  assert(p.a == 2);
}
// Three bytes, which fit no word.
struct three {
  unsigned char of[3];
};
static _Atomic struct three three_of;
static int behind_three;
static void* three_adds(void* u) {
  (void)u;
  struct three p = atomic_load(&three_of);
  ++p.of[1];
  atomic_store(&three_of, p);
  return NULL;
}
static void three_published(memory_order how) {
  const struct three all = {{1, 1, 1}};
  behind_three = 1;
  atomic_store_explicit(&three_of, all, how);
}
static void* three_release(void* u) { return three_published(memory_order_release), u; }
static void* three_relaxed(void* u) { return three_published(memory_order_relaxed), u; }
static void* three_read(void* u) {
  const struct three p = atomic_load_explicit(&three_of, memory_order_acquire);
  assert(p.of[0] == p.of[1] && p.of[1] == p.of[2]);
  assert(p.of[0] == 0 || behind_three == 1);
  return u;
}
static void atomic_three(void) { run2(three_release, three_read, NULL); }
static void atomic_three_relaxed(void) { run2(three_relaxed, three_read, NULL); }
static void atomic_three_lost(void) {
  run2(three_adds, three_adds, NULL);
  const struct three p = atomic_load(&three_of);
  assert(p.of[1] == 2);
}
static int compare(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }
static int sorted[3];
static void* sorts(void* u) {
  (void)u;
  qsort(sorted, 3, sizeof *sorted, compare);
  return NULL;
}
static void sorts_both(void) {
  sorted[0] = 3;
  sorted[1] = 2;
  sorted[2] = 1;
  run2(sorts, sorts, NULL);
}
static void sorts_one(void) {
  sorted[0] = 3;
  sorted[1] = 2;
  sorted[2] = 1;
  run2(sorts, nothing, NULL);
  assert(sorted[0] == 1);
}
static void* timed_join_t(void* u) {
  (void)u;
  data = 1;
  return NULL;
}
static void timed_joins(bool check) {
  pthread_t t;
  pthread_create(&t, NULL, timed_join_t, NULL);
  struct timespec s;
  clock_gettime(CLOCK_REALTIME, &s);
  ++s.tv_sec;
  int r = pthread_timedjoin_np(t, NULL, &s);
  if (r == 0 || !check) assert(data == 1);
  if (r != 0) pthread_join(t, NULL);
}
static void timed_join(void) { timed_joins(true); }
static void timed_join_ignored(void) { timed_joins(false); }
static void* inline_pause(void* u) {
  (void)u;
  while (!atomic_load_explicit(&flag, memory_order_acquire)) __asm__ volatile("pause");
  assert(data == 1);
  return NULL;
}
static void* sets_flag(void* u) {
  (void)u;
  data = 1;
  atomic_store_explicit(&flag, 1, memory_order_release);
  return NULL;
}
static void asm_pause(void) { run2(sets_flag, inline_pause, NULL); }
static void* count_spins(void* u) {
  (void)u;
  int tries = 0;
  while (!atomic_load_explicit(&flag, memory_order_acquire) && tries < 1000) ++tries;
  if (tries < 1000) assert(data == 1);
  return NULL;
}
static void gives_up(void) { run2(sets_flag, count_spins, NULL); }
static void* count_spins_bad(void* u) {
  (void)u;
  int tries = 0;
  while (!atomic_load_explicit(&flag, memory_order_acquire) && tries < 1000) ++tries;
  assert(data == 1);
  return NULL;
}
static void gives_up_bad(void) { run2(sets_flag, count_spins_bad, NULL); }

// Polls a mutex.
static void* tries(void* u) {
  (void)u;
  while (pthread_mutex_trylock(&mutex) != 0) {
  }
  ++data;
  pthread_mutex_unlock(&mutex);
  return NULL;
}
static void trylock_spin(void) {
  run2(tries, tries, NULL);
  assert(data == 2);
}

struct scenario {
  const char* name;
  void (*run)(void);
};
static const struct scenario all[] = {
    {"piped", piped},
    {"piped_not_read", piped_not_read},
    {"socketed", socketed},
    {"evented", evented},
    {"piped_nobody", piped_nobody},
    {"piped_by_two", piped_by_two},
    {"piped_in_order", piped_in_order},
    {"raised", raised},
    {"handlers_race", handlers_race},
    {"handlers_count", handlers_count},
    {"handlers_count_wrong", handlers_count_wrong},
    {"forks", forks},
    {"errorcheck", errorcheck},
    {"clockwait", clockwait},
    {"clockwait_believed", clockwait_believed},
    {"rwlock_try", rwlock_try},
    {"rwlock_try_ignored", rwlock_try_ignored},
    {"rwlock_timed", rwlock_timed},
    {"rwlock_read_twice", rwlock_read_twice},
    {"writers_first_read_twice", writers_first_read_twice},
    {"writers_first_tried_twice", writers_first_tried_twice},
    {"writers_first_two_write", writers_first_two_write},
    {"writers_first_given_up", writers_first_given_up},
    {"sem_destroyed_early", sem_destroyed_early},
    {"barrier_serial", barrier_serial},
    {"barrier_serial_both", barrier_serial_both},
    {"join_twice", join_twice},
    {"c11_once", c11_once},
    {"c11_once_bad", c11_once_bad},
    {"c11_timed", c11_timed},
    {"c11_timed_bad", c11_timed_bad},
    {"c11_tss", c11_tss},
    {"atomic_and_plain", atomic_and_plain},
    {"sync_spin", sync_spin},
    {"tas_spin", tas_spin},
    {"tas_spin_relaxed", tas_spin_relaxed},
    {"backoff_spin", backoff_spin},
    {"atomic_triple", atomic_triple},
    {"atomic_triple_lost", atomic_triple_lost},
    {"atomic_three", atomic_three},
    {"atomic_three_relaxed", atomic_three_relaxed},
    {"atomic_three_lost", atomic_three_lost},
    {"sorts_both", sorts_both},
    {"sorts_one", sorts_one},
    {"timed_join", timed_join},
    {"timed_join_ignored", timed_join_ignored},
    {"asm_pause", asm_pause},
    {"file_shared", file_shared},
    {"file_closed_by_other", file_closed_by_other},
    {"no_bytes", no_bytes},
    {"no_bytes_bad", no_bytes_bad},
    {"gives_up", gives_up},
    {"gives_up_bad", gives_up_bad},
    {"trylock_spin", trylock_spin},
};
int main(int argc, char** argv) {
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    if (argc < 2) puts(all[i].name);
    else if (strcmp(all[i].name, argv[1]) == 0) return all[i].run(), 0;
  }
  return argc < 2 ? 0 : 2;
}
