// The same in C: pthread's and C11's objects. What each program is, table.txt says.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>

typedef void* body(void*);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int value, ready;

static void run(body* first, body* second, void* of) {
  pthread_t one, two;
  pthread_create(&one, NULL, first, of);
  pthread_create(&two, NULL, second, of);
  pthread_join(one, NULL);
  pthread_join(two, NULL);
}

static void* add_locked(void* unused) {
  (void)unused;
  pthread_mutex_lock(&mutex);
  ++value;
  pthread_mutex_unlock(&mutex);
  return NULL;
}
static void* add(void* unused) {
  (void)unused;
  ++value;
  return NULL;
}
static void mutex_right(void) {
  run(add_locked, add_locked, NULL);
  assert(value == 2);
}
static void mutex_one_side(void) { run(add_locked, add, NULL); }

// A lock that is not given back on one of the ways out.
static void* leaves_early(void* unused) {
  (void)unused;
  pthread_mutex_lock(&mutex);
  if (value != 0) return NULL;
  ++value;
  pthread_mutex_unlock(&mutex);
  return NULL;
}
static void mutex_left_locked(void) {
  run(leaves_early, leaves_early, NULL);
  add_locked(NULL);
}

static void* only_tries(void* failures) {
  if (pthread_mutex_trylock(&mutex) == 0) {
    ++value;
    pthread_mutex_unlock(&mutex);
  } else {
    atomic_fetch_add((atomic_int*)failures, 1);
  }
  return NULL;
}
static void try_lock(void) {
  atomic_int failures = 0;
  run(only_tries, only_tries, &failures);
  assert(value + failures == 2 && value >= 1);
}
static void try_lock_never_fails(void) {
  atomic_int failures = 0;
  run(only_tries, only_tries, &failures);
  assert(value == 2);
}

static void* sets(void* locked) {
  if (locked != NULL) pthread_mutex_lock(&mutex);
  ready = 1;
  pthread_cond_signal(&condition);
  if (locked != NULL) pthread_mutex_unlock(&mutex);
  return NULL;
}
static void* waits(void* unused) {
  (void)unused;
  pthread_mutex_lock(&mutex);
  while (!ready) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
  return NULL;
}
static void condition_right(void) { run(sets, waits, &value); }
static void condition_without_mutex(void) { run(sets, waits, NULL); }

static void in_a_moment(struct timespec* limit) {
  clock_gettime(CLOCK_REALTIME, limit);
  limit->tv_sec += 1;
}
static void* waits_a_moment(void* believes) {
  struct timespec limit;
  in_a_moment(&limit);
  int error = 0;
  pthread_mutex_lock(&mutex);
  while (!ready && error == 0) error = pthread_cond_timedwait(&condition, &mutex, &limit);
  assert(ready || error == ETIMEDOUT);
  if (believes == NULL) assert(ready);
  pthread_mutex_unlock(&mutex);
  return NULL;
}
static void* sets_locked(void* unused) {
  (void)unused;
  return sets(&value);
}
static void timed_wait(void) { run(sets_locked, waits_a_moment, &value); }
static void timed_wait_believed(void) { run(sets_locked, waits_a_moment, NULL); }
// The flag may be set when the time is over, and the mutex not had again.
static void* waits_again(void* unused) {
  (void)unused;
  struct timespec limit;
  in_a_moment(&limit);
  pthread_mutex_lock(&mutex);
  const int error = ready ? 0 : pthread_cond_timedwait(&condition, &mutex, &limit);
  assert(error != ETIMEDOUT || !ready);
  pthread_mutex_unlock(&mutex);
  return NULL;
}
static void timed_wait_or_ready(void) { run(sets_locked, waits_again, NULL); }

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static void* reads(void* seen) {
  pthread_rwlock_rdlock(&rwlock);
  *(int*)seen = value;
  pthread_rwlock_unlock(&rwlock);
  return NULL;
}
static void* writes(void* unused) {
  (void)unused;
  pthread_rwlock_wrlock(&rwlock);
  ++value;
  pthread_rwlock_unlock(&rwlock);
  return NULL;
}
static void* writes_as_reader(void* unused) {
  (void)unused;
  pthread_rwlock_rdlock(&rwlock);
  ++value;
  pthread_rwlock_unlock(&rwlock);
  return NULL;
}
static void rwlock_right(void) {
  int seen = 0;
  run(reads, writes, &seen);
  assert(seen == 0 || seen == 1);
}
static void rwlock_writes_as_reader(void) { run(writes_as_reader, writes_as_reader, NULL); }

static pthread_spinlock_t spin;
static void* spins(void* leaves) {
  pthread_spin_lock(&spin);
  ++value;
  if (leaves == NULL || value == 2) pthread_spin_unlock(&spin);
  return NULL;
}
static void spin_lock(void) {
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  run(spins, spins, NULL);
  pthread_spin_destroy(&spin);
}
static void spin_lock_kept(void) {
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  run(spins, spins, &value);
}

static pthread_barrier_t barrier;
static int cells[2];
static void meet(int me, bool twice) {
  for (int round = 1; round <= 2; ++round) {
    cells[me] = round;
    pthread_barrier_wait(&barrier);
    assert(cells[1 - me] == round);
    if (twice) pthread_barrier_wait(&barrier);
  }
}
static void* meets_first(void* twice) { return meet(0, twice != NULL), NULL; }
static void* meets_second(void* twice) { return meet(1, twice != NULL), NULL; }
static void barrier_right(void) {
  pthread_barrier_init(&barrier, NULL, 2);
  run(meets_first, meets_second, &value);
  pthread_barrier_destroy(&barrier);
}
static void barrier_once(void) {
  pthread_barrier_init(&barrier, NULL, 2);
  run(meets_first, meets_second, NULL);
}
// Who has come through first gives the memory back: destruction waits for the others to leave, and
// only that does.
static void* waits_once(void* own) {
  pthread_barrier_wait(own);
  return NULL;
}
static void give_back(int destroys) {
  pthread_barrier_t* const own = malloc(sizeof *own);
  pthread_t other;
  pthread_barrier_init(own, NULL, 2);
  pthread_create(&other, NULL, waits_once, own);
  pthread_barrier_wait(own);
  if (destroys) pthread_barrier_destroy(own);
  free(own);
  pthread_join(other, NULL);
}
static void barrier_destroyed_at_once(void) { give_back(1); }
static void barrier_freed_at_once(void) { give_back(0); }
static void barrier_of_three(void) {
  pthread_barrier_init(&barrier, NULL, 3);
  run(meets_first, meets_second, &value);
}

static sem_t items;
static void* posts(void* unused) {
  (void)unused;
  value = 1;
  sem_post(&items);
  return NULL;
}
static void* takes(void* unused) {
  (void)unused;
  sem_wait(&items);
  assert(value == 1);
  return NULL;
}
static void* takes_if_there(void* unused) {
  (void)unused;
  sem_trywait(&items);
  assert(value == 1);
  return NULL;
}
static void semaphore(void) {
  sem_init(&items, 0, 0);
  run(posts, takes, NULL);
  sem_destroy(&items);
}
static void semaphore_tried(void) {
  sem_init(&items, 0, 0);
  run(posts, takes_if_there, NULL);
}
static void semaphore_taken_twice(void) {
  sem_init(&items, 0, 0);
  pthread_t one, two, three;
  pthread_create(&one, NULL, posts, NULL);
  pthread_create(&two, NULL, takes, NULL);
  pthread_create(&three, NULL, takes, NULL);
  pthread_join(one, NULL);
  pthread_join(two, NULL);
  pthread_join(three, NULL);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void begins(void) { ++value; }
static void* uses(void* unused) {
  (void)unused;
  pthread_once(&once, begins);
  assert(value == 1);
  return NULL;
}
static bool begun;
static void* uses_own(void* unused) {
  (void)unused;
  if (!begun) {
    begins();
    begun = true;
  }
  assert(value == 1);
  return NULL;
}
static void once_right(void) { run(uses, uses, NULL); }
static void once_own(void) { run(uses_own, uses_own, NULL); }

// Values of each thread, whose destructors run when it ends.
static pthread_key_t key;
static void ends_locked(void* of) {
  pthread_mutex_lock(&mutex);
  ++*(int*)of;
  pthread_mutex_unlock(&mutex);
}
static void ends(void* of) { ++*(int*)of; }
static void* has_own(void* of) {
  pthread_setspecific(key, of);
  return NULL;
}
static void keys(void) {
  pthread_key_create(&key, ends_locked);
  run(has_own, has_own, &value);
  assert(value == 2);
}
static void keys_race(void) {
  pthread_key_create(&key, ends);
  run(has_own, has_own, &value);
}

// A thread that is canceled while it waits has the mutex again, and has to give it back.
static void gives_back(void* unused) {
  (void)unused;
  pthread_mutex_unlock(&mutex);
}
static void* sleeps(void* unused) {
  (void)unused;
  pthread_mutex_lock(&mutex);
  pthread_cleanup_push(gives_back, NULL);
  while (!ready) pthread_cond_wait(&condition, &mutex);
  pthread_cleanup_pop(1);
  return NULL;
}
static void* sleeps_without_cleanup(void* unused) {
  (void)unused;
  pthread_mutex_lock(&mutex);
  while (!ready) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
  return NULL;
}
static void cancel_one(body* one) {
  pthread_t thread;
  void* how = NULL;
  pthread_create(&thread, NULL, one, NULL);
  pthread_cancel(thread);
  pthread_join(thread, &how);
  assert(how == PTHREAD_CANCELED);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}
static void cancel(void) { cancel_one(sleeps); }
static void cancel_keeps_mutex(void) { cancel_one(sleeps_without_cleanup); }

static void* gives_result(void* unused) {
  (void)unused;
  int* const result = malloc(sizeof *result);
  *result = 1;
  return result;
}
static void* gives_local(void* unused) {
  (void)unused;
  int local = 1;
  int* volatile place = &local;
  return place;
}
static void result_of(body* one) {
  pthread_t thread;
  void* result = NULL;
  pthread_create(&thread, NULL, one, NULL);
  pthread_join(thread, &result);
  assert(*(int*)result == 1);
}
static void result(void) { result_of(gives_result); }
static void result_is_local(void) { result_of(gives_local); }
static void* gives_thread_local(void* unused) {
  (void)unused;
  static _Thread_local int local;
  local = 1;
  return &local;
}
static void result_is_thread_local(void) { result_of(gives_thread_local); }

// A thread is given a local of a function that returns first, which compilers like to inline.
static volatile int taken;
static void* takes_argument(void* from) {
  taken = *(int*)from;
  return NULL;
}
static pthread_t start_with_local(int value) {
  int local[4] = {value, value, value, value};
  pthread_t thread;
  pthread_create(&thread, NULL, takes_argument, &local[1]);
  return thread;
}
static void argument_is_local(void) {
  pthread_t thread = start_with_local(1);
  pthread_join(thread, NULL);
}

// The loop's variable is every thread's argument.
static void* takes_number(void* of) {
  atomic_fetch_add((atomic_int*)&value, *(int*)of);
  return NULL;
}
static void arguments(bool own) {
  pthread_t threads[2];
  int numbers[2];
  int i;
  for (i = 0; i < 2; ++i) {
    numbers[i] = i;
    pthread_create(&threads[i], NULL, takes_number, own ? &numbers[i] : &i);
  }
  for (i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(value == 1);
}
static void arguments_of_their_own(void) { arguments(true); }
static void argument_of_all(void) { arguments(false); }

// C11's threads.
static mtx_t c11_mutex;
static cnd_t c11_condition;
static int c11_sets(void* notifies) {
  mtx_lock(&c11_mutex);
  ready = 1;
  mtx_unlock(&c11_mutex);
  if (notifies != NULL) cnd_signal(&c11_condition);
  return 0;
}
static int c11_waits(void* unused) {
  (void)unused;
  mtx_lock(&c11_mutex);
  while (!ready) cnd_wait(&c11_condition, &c11_mutex);
  mtx_unlock(&c11_mutex);
  return 7;
}
static void c11_run(void* notifies) {
  thrd_t one, two;
  int got = 0;
  mtx_init(&c11_mutex, mtx_plain);
  cnd_init(&c11_condition);
  thrd_create(&one, c11_sets, notifies);
  thrd_create(&two, c11_waits, NULL);
  thrd_join(one, NULL);
  thrd_join(two, &got);
  assert(got == 7);
  cnd_destroy(&c11_condition);
  mtx_destroy(&c11_mutex);
}
static void c11(void) { c11_run(&value); }
static void c11_not_notified(void) { c11_run(NULL); }

// A lock of atomic operations in C, whose waiters look and pause.
static atomic_flag flag = ATOMIC_FLAG_INIT;
static void* adds_by_flag(void* relaxed) {
  while (atomic_flag_test_and_set_explicit(&flag, memory_order_acquire)) sched_yield();
  ++value;
  if (relaxed != NULL) atomic_flag_clear_explicit(&flag, memory_order_relaxed);
  else atomic_flag_clear_explicit(&flag, memory_order_release);
  return NULL;
}
static void flag_lock(void) { run(adds_by_flag, adds_by_flag, NULL); }
static void flag_lock_relaxed(void) { run(adds_by_flag, adds_by_flag, &value); }

// A plain flag in a loop, which a compiler may read once.
static void* sets_plain(void* unused) {
  (void)unused;
  ready = 1;
  return NULL;
}
static void* spins_plain(void* unused) {
  (void)unused;
  while (!ready) {
  }
  return NULL;
}
static void plain_flag(void) { run(spins_plain, sets_plain, NULL); }

// Ends the program while a thread works.
static void* works(void* unused) {
  (void)unused;
  atomic_fetch_add((atomic_int*)&value, 1);
  return NULL;
}
static void exits_beside(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, works, NULL);
  exit(0);
}
static void* writes_to_given(void* given) {
  *(int*)given = 1;
  return NULL;
}
// Its variable lives as long as the program does.
static void* exits(void* given) {
  int here = 0;
  pthread_t other;
  pthread_create(&other, NULL, writes_to_given, &here);
  (void)given;
  exit(0);
}
// main waits for the end of who has ended the program.
static void exits_in_thread(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, exits, NULL);
  pthread_join(thread, NULL);
  abort();
}
static void exits_with_3(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, works, NULL);
  pthread_join(thread, NULL);
  exit(3);
}

// The second thread's handle is the first one's, which has been joined.
static void joins_the_stuck(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, works, NULL);
  pthread_join(thread, NULL);
  pthread_mutex_lock(&mutex);
  pthread_create(&thread, NULL, add_locked, NULL);
  pthread_join(thread, NULL);
  pthread_mutex_unlock(&mutex);
}

struct scenario {
  const char* name;
  void (*run)(void);
};
static const struct scenario all[] = {
    {"mutex", mutex_right},
    {"mutex_one_side", mutex_one_side},
    {"mutex_left_locked", mutex_left_locked},
    {"try_lock", try_lock},
    {"try_lock_never_fails", try_lock_never_fails},
    {"condition", condition_right},
    {"condition_without_mutex", condition_without_mutex},
    {"timed_wait", timed_wait},
    {"timed_wait_believed", timed_wait_believed},
    {"timed_wait_or_ready", timed_wait_or_ready},
    {"rwlock", rwlock_right},
    {"rwlock_writes_as_reader", rwlock_writes_as_reader},
    {"spin_lock", spin_lock},
    {"spin_lock_kept", spin_lock_kept},
    {"barrier", barrier_right},
    {"barrier_once", barrier_once},
    {"barrier_of_three", barrier_of_three},
    {"barrier_destroyed_at_once", barrier_destroyed_at_once},
    {"barrier_freed_at_once", barrier_freed_at_once},
    {"semaphore", semaphore},
    {"semaphore_tried", semaphore_tried},
    {"semaphore_taken_twice", semaphore_taken_twice},
    {"once", once_right},
    {"once_own", once_own},
    {"keys", keys},
    {"keys_race", keys_race},
    {"cancel", cancel},
    {"cancel_keeps_mutex", cancel_keeps_mutex},
    {"result", result},
    {"result_is_local", result_is_local},
    {"result_is_thread_local", result_is_thread_local},
    {"argument_is_local", argument_is_local},
    {"arguments", arguments_of_their_own},
    {"argument_of_all", argument_of_all},
    {"c11", c11},
    {"c11_not_notified", c11_not_notified},
    {"flag_lock", flag_lock},
    {"flag_lock_relaxed", flag_lock_relaxed},
    {"plain_flag", plain_flag},
    {"exits_beside", exits_beside},
    {"exits_in_thread", exits_in_thread},
    {"exits_with_3", exits_with_3},
    {"joins_the_stuck", joins_the_stuck},
};

int main(int argc, char** argv) {
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    if (argc < 2) puts(all[i].name);
    else if (strcmp(all[i].name, argv[1]) == 0) return all[i].run(), 0;
  }
  return argc < 2 ? 0 : 2;
}
