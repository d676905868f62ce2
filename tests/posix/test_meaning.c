/* test_meaning.c -- what pthread's objects mean: kind x state x call -> result, as tables.

   A plain C program. By itself it holds the tables against the C library; under the preload library
   and on the simulated, emulated and explored machines it wants the same of them
   (tests/instrument_programs). Arguments: which tables; none: all. `defined` leaves out what POSIX
   calls undefined though the C library gives an answer: the explored machine reports that.

   In no row do two threads act at a time: what another thread holds, it has taken before. */

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>

enum {
  HANGS = -1,       /* waits for ever: not asked */
  UNDEFINED = 1024, /* added to the result: POSIX does not say so */
};

static int wrong, asked, only_defined;

static void compare(const char* what, const char* kind, const char* state, const char* call,
                    int expected, int got) {
  ++asked;
  if (expected == got) return;
  ++wrong;
  printf("%s, %s, %s: %s gives %d, not %d\n", what, kind, state, call, got, expected);
}

/* Whether a row is asked; its expected result. */
static int is_asked(int* expected) {
  if (*expected == HANGS) return 0;
  if (*expected < UNDEFINED) return 1;
  *expected -= UNDEFINED;
  return !only_defined;
}

/* ---- another thread -------------------------------------------------------------------------- */

/* Two, which live as long as the program (the explored machine has room for few): one that holds,
   and one that looks. */
static struct helper {
  pthread_t thread;
  sem_t go, done;
  int (*run)(void* object);
  void* object;
  int result;
} helpers[2];

static void* help(void* argument) {
  struct helper* me = argument;
  for (;;) {
    sem_wait(&me->go);
    if (me->run == NULL) return NULL;
    me->result = me->run(me->object);
    sem_post(&me->done);
  }
}
static int ask(struct helper* h, int (*run)(void*), void* object) {
  h->run = run;
  h->object = object;
  sem_post(&h->go);
  if (run == NULL) return pthread_join(h->thread, NULL);
  sem_wait(&h->done);
  return h->result;
}
static int by_holder(int (*run)(void*), void* object) { return ask(&helpers[0], run, object); }
static int by_another(int (*run)(void*), void* object) { return ask(&helpers[1], run, object); }

/* ---- times ----------------------------------------------------------------------------------- */

static const struct timespec past = {0, 1}, before_1970 = {-1, 5};
static const struct timespec too_many_ns = {1L << 40, 1000000000}, negative_ns = {0, -1};
static const struct timespec all_negative = {-1, -1};
#define NO_CLOCK ((clockid_t)12345)

/* ---- mutexes --------------------------------------------------------------------------------- */

enum { free_now, mine, others, full, destroyed };
static const char* const mutex_states[] = {"free", "held by the caller", "held by another",
                                           "as deep as can be", "destroyed"};

static int lock(void* m) { return pthread_mutex_lock(m); }
static int trylock(void* m) { return pthread_mutex_trylock(m); }
static int unlock(void* m) { return pthread_mutex_unlock(m); }
static int destroy(void* m) { return pthread_mutex_destroy(m); }
static int timed_past(void* m) { return pthread_mutex_timedlock(m, &past); }
static int timed_1970(void* m) { return pthread_mutex_timedlock(m, &before_1970); }
static int timed_bad(void* m) { return pthread_mutex_timedlock(m, &too_many_ns); }
static int timed_negative(void* m) { return pthread_mutex_timedlock(m, &all_negative); }
static int clock_past(void* m) { return pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &past); }
static int clock_bad(void* m) { return pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &negative_ns); }
static int no_clock(void* m) { return pthread_mutex_clocklock(m, NO_CLOCK, &past); }

static const struct {
  const char* name;
  int (*run)(void*);
  int takes; /* 1: the mutex, 0: nothing, -1: gives it back */
} mutex_calls[] = {
    {"lock", lock, 1},
    {"trylock", trylock, 1},
    {"timedlock, past", timed_past, 1},
    {"timedlock, before 1970", timed_1970, 1},
    {"timedlock, too many ns", timed_bad, 1},
    {"timedlock, all negative", timed_negative, 1},
    {"clocklock, past", clock_past, 1},
    {"clocklock, negative ns", clock_bad, 1},
    {"clocklock, no clock", no_clock, 1},
    {"unlock", unlock, -1},
    {"destroy", destroy, 0},
};
enum { mutex_call_count = sizeof mutex_calls / sizeof *mutex_calls };

static const struct {
  const char* name;
  int type;
} kinds[] = {
    {"normal", PTHREAD_MUTEX_NORMAL},
    {"adaptive", PTHREAD_MUTEX_ADAPTIVE_NP},
    {"errorcheck", PTHREAD_MUTEX_ERRORCHECK},
    {"recursive", PTHREAD_MUTEX_RECURSIVE},
};
enum { kind_count = sizeof kinds / sizeof *kinds };

#define U(result) (UNDEFINED + (result))
/* Seconds before 1970 lie in the past, whatever the nanoseconds say. */
#define TIMED_OUT ETIMEDOUT, ETIMEDOUT, EINVAL, ETIMEDOUT, ETIMEDOUT, EINVAL
static const struct {
  int kind, state, results[mutex_call_count];
} mutex_rules[] = {
    /* lock, trylock, past, before 1970, too many, negative; clock past, negative, none; unlock,
       destroy */
    {0, free_now, {0, 0, 0, 0, 0, 0, 0, 0, EINVAL, U(0), 0}},
    {0, mine, {HANGS, EBUSY, TIMED_OUT, EINVAL, 0, U(EBUSY)}},
    {0, others, {HANGS, EBUSY, TIMED_OUT, EINVAL, U(0), U(EBUSY)}},
    {1, free_now, {0, 0, 0, 0, 0, 0, 0, 0, EINVAL, U(0), 0}},
    {1, mine, {HANGS, EBUSY, TIMED_OUT, EINVAL, 0, U(EBUSY)}},
    {1, others, {HANGS, EBUSY, TIMED_OUT, EINVAL, U(0), U(EBUSY)}},
    {2, free_now, {0, 0, 0, 0, 0, 0, 0, 0, EINVAL, EPERM, 0}},
    {2,
     mine,
     {EDEADLK, EBUSY, EDEADLK, EDEADLK, EDEADLK, EDEADLK, EDEADLK, EDEADLK, EINVAL, 0, U(EBUSY)}},
    {2, others, {HANGS, EBUSY, TIMED_OUT, EINVAL, EPERM, U(EBUSY)}},
    {3, free_now, {0, 0, 0, 0, 0, 0, 0, 0, EINVAL, EPERM, 0}},
    {3, mine, {0, 0, 0, 0, 0, 0, 0, 0, EINVAL, 0, U(EBUSY)}},
    {3, others, {HANGS, EBUSY, TIMED_OUT, EINVAL, EPERM, U(EBUSY)}},
    {3,
     full,
     {EAGAIN, EAGAIN, EAGAIN, EAGAIN, EAGAIN, EAGAIN, EAGAIN, EAGAIN, EINVAL, 0, U(EBUSY)}},
    {0,
     destroyed,
     {U(EINVAL), U(EINVAL), U(EINVAL), U(EINVAL), U(EINVAL), U(EINVAL), U(EINVAL), U(EINVAL),
      U(EINVAL), U(EINVAL), U(0)}},
};
#undef TIMED_OUT

static void make_mutex(pthread_mutex_t* m, int type) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, type);
  if (pthread_mutex_init(m, &attributes) != 0) abort();
  pthread_mutexattr_destroy(&attributes);
}

static int is_held(void* m) {
  const int error = pthread_mutex_trylock(m);
  if (error == 0) pthread_mutex_unlock(m);
  return error == EBUSY;
}

static void bring_to(pthread_mutex_t* m, int type, int state) {
  make_mutex(m, type);
  if (state == mine || state == full) pthread_mutex_lock(m);
  if (state == others) by_holder(lock, m);
  if (state == full) {
    /* Another's look ends an elided section: then the mutex itself is held. */
    by_another(is_held, m);
    m->__data.__count = ~0u;
  }
  if (state == destroyed) pthread_mutex_destroy(m);
}

static void mutexes(void) {
  for (unsigned r = 0; r < sizeof mutex_rules / sizeof *mutex_rules; ++r) {
    for (int c = 0; c < mutex_call_count; ++c) {
      const int kind = mutex_rules[r].kind, state = mutex_rules[r].state;
      int expected = mutex_rules[r].results[c];
      if (!is_asked(&expected) || (only_defined && state == destroyed)) continue;
      pthread_mutex_t m;
      bring_to(&m, kinds[kind].type, state);
      const int got = mutex_calls[c].run(&m);
      compare("mutex", kinds[kind].name, mutex_states[state], mutex_calls[c].name, expected, got);
      if (state == destroyed || (mutex_calls[c].run == destroy && got == 0)) continue;
      int held = state != free_now;
      if (expected == 0) {
        if (mutex_calls[c].takes > 0) held = 1;
        if (mutex_calls[c].takes < 0 && state != full) held = 0;
      }
      compare("mutex", kinds[kind].name, mutex_states[state], "then, whether it is held", held,
              by_another(is_held, &m));
    }
  }
}

/* A recursive mutex is held until the last of its unlocks; others may have it then. */
static void depths(void) {
  pthread_mutex_t m;
  make_mutex(&m, PTHREAD_MUTEX_RECURSIVE);
  for (int i = 0; i < 3; ++i) compare("mutex", "recursive", "to and fro", "lock", 0, lock(&m));
  for (int i = 0; i < 3; ++i) {
    compare("mutex", "recursive", "to and fro", "held by", 1, by_another(is_held, &m));
    compare("mutex", "recursive", "to and fro", "unlock", 0, unlock(&m));
  }
  compare("mutex", "recursive", "to and fro", "held by", 0, by_another(is_held, &m));
  compare("mutex", "recursive", "to and fro", "unlock", EPERM, unlock(&m));
  compare("mutex", "recursive", "to and fro", "destroy", 0, destroy(&m));
}

/* ---- condition variables --------------------------------------------------------------------- */

struct waiting {
  pthread_cond_t condition;
  pthread_mutex_t mutex;
};
static int wait_past(struct waiting* w) {
  int error;
  do error = pthread_cond_timedwait(&w->condition, &w->mutex, &past);
  while (error == 0); /* nobody signals: a spurious wake-up */
  return error;
}
static int wait_1970(struct waiting* w) {
  int error;
  do error = pthread_cond_timedwait(&w->condition, &w->mutex, &before_1970);
  while (error == 0); /* nobody signals: a spurious wake-up */
  return error;
}
static int wait_bad(struct waiting* w) {
  return pthread_cond_timedwait(&w->condition, &w->mutex, &too_many_ns);
}
static int wait_negative(struct waiting* w) {
  return pthread_cond_timedwait(&w->condition, &w->mutex, &all_negative);
}
static int wait_clock(struct waiting* w) {
  int error;
  do error = pthread_cond_clockwait(&w->condition, &w->mutex, CLOCK_MONOTONIC, &past);
  while (error == 0); /* nobody signals: a spurious wake-up */
  return error;
}
static int wait_no_clock(struct waiting* w) {
  return pthread_cond_clockwait(&w->condition, &w->mutex, NO_CLOCK, &past);
}
static int wait_signaled(struct waiting* w) { return pthread_cond_wait(&w->condition, &w->mutex); }

static const struct {
  const char* name;
  int (*run)(struct waiting*);
} wait_calls[] = {
    {"timedwait, past", wait_past},          {"timedwait, before 1970", wait_1970},
    {"timedwait, too many ns", wait_bad},    {"timedwait, all negative", wait_negative},
    {"clockwait, past", wait_clock},         {"clockwait, no clock", wait_no_clock},
    {"wait, when not to be", wait_signaled},
};
enum { wait_call_count = sizeof wait_calls / sizeof *wait_calls };

#define TIMED_OUT ETIMEDOUT, ETIMEDOUT, EINVAL, EINVAL, ETIMEDOUT, EINVAL, HANGS
#define NOT_HELD EPERM, EPERM, EINVAL, EINVAL, EPERM, EINVAL, EPERM
static const struct {
  int kind, state, results[wait_call_count];
} wait_rules[] = {
    {0, mine, {TIMED_OUT}},    {1, mine, {TIMED_OUT}},    {2, mine, {TIMED_OUT}},
    {3, mine, {TIMED_OUT}},    {2, free_now, {NOT_HELD}}, {2, others, {NOT_HELD}},
    {3, free_now, {NOT_HELD}}, {3, others, {NOT_HELD}},
};
#undef TIMED_OUT
#undef NOT_HELD

static void conditions(void) {
  for (unsigned r = 0; r < sizeof wait_rules / sizeof *wait_rules; ++r) {
    for (int c = 0; c < wait_call_count; ++c) {
      const int kind = wait_rules[r].kind, state = wait_rules[r].state;
      int expected = wait_rules[r].results[c];
      if (!is_asked(&expected)) continue;
      struct waiting w;
      pthread_cond_init(&w.condition, NULL);
      bring_to(&w.mutex, kinds[kind].type, state);
      compare("condition", kinds[kind].name, mutex_states[state], wait_calls[c].name, expected,
              wait_calls[c].run(&w));
      compare("condition", kinds[kind].name, mutex_states[state], "then, whether the mutex is held",
              state != free_now, by_another(is_held, &w.mutex));
      compare("condition", kinds[kind].name, "", "signal", 0, pthread_cond_signal(&w.condition));
      compare("condition", kinds[kind].name, "", "broadcast", 0,
              pthread_cond_broadcast(&w.condition));
      compare("condition", kinds[kind].name, "", "destroy", 0, pthread_cond_destroy(&w.condition));
    }
  }
}

/* ---- reader-writer locks --------------------------------------------------------------------- */

enum { open, i_read, another_reads, i_write, another_writes };
static const char* const rwlock_states[] = {"free", "the caller reads", "another reads",
                                            "the caller writes", "another writes"};

static int rdlock(void* l) { return pthread_rwlock_rdlock(l); }
static int wrlock(void* l) { return pthread_rwlock_wrlock(l); }
static int tryrdlock(void* l) { return pthread_rwlock_tryrdlock(l); }
static int trywrlock(void* l) { return pthread_rwlock_trywrlock(l); }
static int rd_past(void* l) { return pthread_rwlock_timedrdlock(l, &past); }
static int wr_past(void* l) { return pthread_rwlock_timedwrlock(l, &past); }
static int rd_bad(void* l) { return pthread_rwlock_timedrdlock(l, &too_many_ns); }
static int wr_bad(void* l) { return pthread_rwlock_timedwrlock(l, &too_many_ns); }
static int rd_negative(void* l) { return pthread_rwlock_timedrdlock(l, &all_negative); }
static int wr_negative(void* l) { return pthread_rwlock_timedwrlock(l, &all_negative); }
static int rd_clock(void* l) {
  return pthread_rwlock_clockrdlock(l, CLOCK_MONOTONIC, &before_1970);
}
static int wr_clock(void* l) {
  return pthread_rwlock_clockwrlock(l, CLOCK_MONOTONIC, &before_1970);
}
static int rd_no_clock(void* l) { return pthread_rwlock_clockrdlock(l, NO_CLOCK, &past); }
static int wr_no_clock(void* l) { return pthread_rwlock_clockwrlock(l, NO_CLOCK, &past); }
static int rw_unlock(void* l) { return pthread_rwlock_unlock(l); }

static const struct {
  const char* name;
  int (*run)(void*);
} rwlock_calls[] = {
    {"rdlock", rdlock},
    {"wrlock", wrlock},
    {"tryrdlock", tryrdlock},
    {"trywrlock", trywrlock},
    {"timedrdlock, past", rd_past},
    {"timedwrlock, past", wr_past},
    {"timedrdlock, too many ns", rd_bad},
    {"timedwrlock, too many ns", wr_bad},
    {"timedrdlock, all negative", rd_negative},
    {"timedwrlock, all negative", wr_negative},
    {"clockrdlock, before 1970", rd_clock},
    {"clockwrlock, before 1970", wr_clock},
    {"clockrdlock, no clock", rd_no_clock},
    {"clockwrlock, no clock", wr_no_clock},
};
enum { rwlock_call_count = sizeof rwlock_calls / sizeof *rwlock_calls };

#define BAD_TIMES EINVAL, EINVAL, EINVAL, EINVAL
static const struct {
  int state, results[rwlock_call_count];
} rwlock_rules[] = {
    /* read, write: untimed; try; past; bad times; clock; no clock */
    {open, {0, 0, 0, 0, 0, 0, BAD_TIMES, 0, 0, EINVAL, EINVAL}},
    {i_read, {0, HANGS, 0, EBUSY, 0, ETIMEDOUT, BAD_TIMES, 0, ETIMEDOUT, EINVAL, EINVAL}},
    {another_reads, {0, HANGS, 0, EBUSY, 0, ETIMEDOUT, BAD_TIMES, 0, ETIMEDOUT, EINVAL, EINVAL}},
    {i_write,
     {EDEADLK, EDEADLK, EBUSY, EBUSY, EDEADLK, EDEADLK, BAD_TIMES, EDEADLK, EDEADLK, EINVAL,
      EINVAL}},
    {another_writes,
     {HANGS, HANGS, EBUSY, EBUSY, ETIMEDOUT, ETIMEDOUT, BAD_TIMES, ETIMEDOUT, ETIMEDOUT, EINVAL,
      EINVAL}},
};

static int rw_read_left(void* l) {
  const int error = pthread_rwlock_tryrdlock(l);
  if (error == 0) pthread_rwlock_unlock(l);
  return error;
}
static int rw_write_left(void* l) {
  const int error = pthread_rwlock_trywrlock(l);
  if (error == 0) pthread_rwlock_unlock(l);
  return error;
}

static void rwlocks(void) {
  static const struct {
    const char* name;
    int kind;
  } preferences[] = {{"prefers readers", PTHREAD_RWLOCK_PREFER_READER_NP},
                     {"prefers writers", PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP}};
  for (int p = 0; p < 2; ++p) {
    for (unsigned r = 0; r < sizeof rwlock_rules / sizeof *rwlock_rules; ++r) {
      for (int c = 0; c < rwlock_call_count; ++c) {
        const int state = rwlock_rules[r].state;
        int expected = rwlock_rules[r].results[c];
        if (!is_asked(&expected)) continue;
        pthread_rwlockattr_t attributes;
        pthread_rwlockattr_init(&attributes);
        pthread_rwlockattr_setkind_np(&attributes, preferences[p].kind);
        pthread_rwlock_t l;
        pthread_rwlock_init(&l, &attributes);
        if (state == i_read) rdlock(&l);
        if (state == i_write) wrlock(&l);
        if (state == another_reads) by_holder(rdlock, &l);
        if (state == another_writes) by_holder(wrlock, &l);
        const int got = rwlock_calls[c].run(&l);
        compare("rwlock", preferences[p].name, rwlock_states[state], rwlock_calls[c].name, expected,
                got);
        /* What is left: nothing, readers, or a writer. */
        const int writes = state == i_write || state == another_writes || (got == 0 && c % 2 == 1);
        const int reads = state == i_read || state == another_reads || (got == 0 && c % 2 == 0);
        compare("rwlock", preferences[p].name, rwlock_states[state], "then another's tryrdlock",
                writes ? EBUSY : 0, by_another(rw_read_left, &l));
        compare("rwlock", preferences[p].name, rwlock_states[state], "then another's trywrlock",
                writes || reads ? EBUSY : 0, by_another(rw_write_left, &l));
        if (got != 0) continue;
        compare("rwlock", preferences[p].name, rwlock_states[state], "then unlock", 0,
                rw_unlock(&l));
        compare("rwlock", preferences[p].name, rwlock_states[state],
                "then, once more, another's trywrlock", state != open ? EBUSY : 0,
                by_another(rw_write_left, &l));
      }
    }
  }
}

/* ---- semaphores ------------------------------------------------------------------------------ */

static int error_of(int result) { return result == 0 ? 0 : errno; }
static int s_wait(void* s) { return error_of(sem_wait(s)); }
static int s_try(void* s) { return error_of(sem_trywait(s)); }
static int s_past(void* s) { return error_of(sem_timedwait(s, &past)); }
static int s_1970(void* s) { return error_of(sem_timedwait(s, &before_1970)); }
static int s_bad(void* s) { return error_of(sem_timedwait(s, &too_many_ns)); }
static int s_negative(void* s) { return error_of(sem_timedwait(s, &all_negative)); }
static int s_clock(void* s) { return error_of(sem_clockwait(s, CLOCK_MONOTONIC, &past)); }
static int s_no_clock(void* s) { return error_of(sem_clockwait(s, NO_CLOCK, &past)); }
static int s_post(void* s) { return error_of(sem_post(s)); }

static const struct {
  const char* name;
  int (*run)(void*);
  int change;
} semaphore_calls[] = {
    {"wait", s_wait, -1},
    {"trywait", s_try, -1},
    {"timedwait, past", s_past, -1},
    {"timedwait, before 1970", s_1970, -1},
    {"timedwait, too many ns", s_bad, -1},
    {"timedwait, all negative", s_negative, -1},
    {"clockwait, past", s_clock, -1},
    {"clockwait, no clock", s_no_clock, -1},
    {"post", s_post, 1},
};
enum { semaphore_call_count = sizeof semaphore_calls / sizeof *semaphore_calls };

static const struct {
  unsigned value;
  int results[semaphore_call_count];
} semaphore_rules[] = {
    {0, {HANGS, EAGAIN, ETIMEDOUT, ETIMEDOUT, EINVAL, EINVAL, ETIMEDOUT, EINVAL, 0}},
    {1, {0, 0, 0, 0, EINVAL, EINVAL, 0, EINVAL, 0}},
    {0x7fffffff, {0, 0, 0, 0, EINVAL, EINVAL, 0, EINVAL, EOVERFLOW}},
};

static void semaphores(void) {
  sem_t s;
  compare("semaphore", "", "", "init, too large", EINVAL, error_of(sem_init(&s, 0, 0x80000000u)));
  for (unsigned r = 0; r < sizeof semaphore_rules / sizeof *semaphore_rules; ++r) {
    for (int c = 0; c < semaphore_call_count; ++c) {
      int expected = semaphore_rules[r].results[c];
      if (!is_asked(&expected)) continue;
      char state[32];
      snprintf(state, sizeof state, "value %u", semaphore_rules[r].value);
      compare("semaphore", "", state, "init", 0,
              error_of(sem_init(&s, 0, semaphore_rules[r].value)));
      const int got = semaphore_calls[c].run(&s);
      compare("semaphore", "", state, semaphore_calls[c].name, expected, got);
      int value = -1;
      compare("semaphore", "", state, "getvalue", 0, error_of(sem_getvalue(&s, &value)));
      compare("semaphore", "", state, "then the value",
              (int)semaphore_rules[r].value + (got == 0 ? semaphore_calls[c].change : 0), value);
      compare("semaphore", "", state, "destroy", 0, error_of(sem_destroy(&s)));
    }
  }
}

/* ---- cancellation ---------------------------------------------------------------------------- */

/* A thread with a request pending calls: does it leave, and what has changed then? */
enum { LEAVES = -2 };

static struct {
  pthread_mutex_t mutex; /* errorcheck, free */
  pthread_cond_t condition;
  pthread_rwlock_t rwlock;
  pthread_spinlock_t spin;
  pthread_barrier_t barrier; /* of one */
  sem_t tokens;
} things;

static int c_lock(void) { return lock(&things.mutex); }
static int c_trylock(void) { return trylock(&things.mutex); }
static int c_timedlock(void) { return timed_past(&things.mutex); }
static int c_rdlock(void) {
  const int result = rdlock(&things.rwlock);
  return result != 0 ? result : rw_unlock(&things.rwlock);
}
static int c_wrlock(void) {
  const int result = wrlock(&things.rwlock);
  return result != 0 ? result : rw_unlock(&things.rwlock);
}
static int c_spin(void) {
  const int result = pthread_spin_lock(&things.spin);
  return result != 0 ? result : pthread_spin_unlock(&things.spin);
}
static int once_runs;
static void count_once(void) { ++once_runs; }
static int c_once(void) {
  pthread_once_t control = PTHREAD_ONCE_INIT;
  return pthread_once(&control, count_once);
}
static void* do_nothing(void* ignored) { return ignored; }
static int c_detach(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, do_nothing, NULL) != 0) return -1;
  sched_yield(); /* perhaps it ends here */
  return pthread_detach(thread);
}
static int c_barrier(void) { return pthread_barrier_wait(&things.barrier); }
static int c_signal(void) { return pthread_cond_signal(&things.condition); }
static int c_post(void) { return s_post(&things.tokens); }
static int c_try(void) { return s_try(&things.tokens); }
static int c_take(void) { return s_wait(&things.tokens); }
static int c_take_past(void) { return s_past(&things.tokens); }
static int c_take_clock(void) { return s_clock(&things.tokens); }
static int c_take_bad(void) { return s_bad(&things.tokens); }
static int c_wait_free(void) { return pthread_cond_wait(&things.condition, &things.mutex); }
static int c_wait(void) {
  lock(&things.mutex);
  return pthread_cond_wait(&things.condition, &things.mutex);
}
static int c_wait_past(void) {
  lock(&things.mutex);
  return pthread_cond_timedwait(&things.condition, &things.mutex, &past);
}
static int c_wait_bad(void) {
  lock(&things.mutex);
  return pthread_cond_timedwait(&things.condition, &things.mutex, &too_many_ns);
}

static const struct {
  const char* call;
  int (*run)(void);
  unsigned tokens; /* before */
  int result;
  unsigned left; /* tokens behind it */
  int holds;     /* the mutex, at the end or in the cleanup handler */
} cancel_rules[] = {
    {"mutex lock", c_lock, 0, 0, 0, 1},
    {"mutex trylock", c_trylock, 0, 0, 0, 1},
    {"mutex timedlock", c_timedlock, 0, 0, 0, 1},
    {"rdlock, unlock", c_rdlock, 0, 0, 0, 0},
    {"wrlock, unlock", c_wrlock, 0, 0, 0, 0},
    {"spin lock, unlock", c_spin, 0, 0, 0, 0},
    {"once", c_once, 0, 0, 0, 0},
    {"detach", c_detach, 0, 0, 0, 0},
    {"barrier wait", c_barrier, 0, PTHREAD_BARRIER_SERIAL_THREAD, 0, 0},
    {"signal", c_signal, 0, 0, 0, 0},
    {"post", c_post, 0, 0, 1, 0},
    {"trywait, a token", c_try, 1, 0, 0, 0},
    {"trywait, none", c_try, 0, EAGAIN, 0, 0},
    {"wait, a token", c_take, 1, LEAVES, 1, 0},
    {"wait, none", c_take, 0, LEAVES, 0, 0},
    {"timedwait, past, a token", c_take_past, 1, LEAVES, 1, 0},
    {"timedwait, past, none", c_take_past, 0, LEAVES, 0, 0},
    /* (With a token glibc's clockwait takes that; POSIX makes no difference to timedwait.) */
    {"clockwait, past, none", c_take_clock, 0, LEAVES, 0, 0},
    {"timedwait, too many ns", c_take_bad, 1, EINVAL, 1, 0},
    {"condition wait", c_wait, 0, LEAVES, 0, 1},
    {"condition timedwait, past", c_wait_past, 0, LEAVES, 0, 1},
    {"condition timedwait, too many ns", c_wait_bad, 0, EINVAL, 0, 1},
    {"condition wait, mutex not held", c_wait_free, 0, EPERM, 0, 0},
};

enum { cancel_rule_count = sizeof cancel_rules / sizeof *cancel_rules };

static struct { int result, holds, value; } canceled[cancel_rule_count];
static unsigned next_rule; /* the first that was not asked yet */

static void begin_things(unsigned tokens) {
  make_mutex(&things.mutex, PTHREAD_MUTEX_ERRORCHECK);
  if (pthread_cond_init(&things.condition, NULL) != 0 ||
      pthread_rwlock_init(&things.rwlock, NULL) != 0 ||
      pthread_spin_init(&things.spin, PTHREAD_PROCESS_PRIVATE) != 0 ||
      pthread_barrier_init(&things.barrier, NULL, 1) != 0 ||
      sem_init(&things.tokens, 0, tokens) != 0)
    abort();
}
static void end_things(void) {
  pthread_mutex_destroy(&things.mutex);
  pthread_cond_destroy(&things.condition);
  pthread_rwlock_destroy(&things.rwlock);
  pthread_spin_destroy(&things.spin);
  pthread_barrier_destroy(&things.barrier);
  sem_destroy(&things.tokens);
}

/* Behind the call that next_rule tells of, or in the cleanup handler that is left by. */
static void look(void* ignored) {
  (void)ignored;
  canceled[next_rule].holds = pthread_mutex_unlock(&things.mutex) == 0;
  sem_getvalue(&things.tokens, &canceled[next_rule].value);
  end_things();
  ++next_rule;
}
/* Asks until it has to leave. */
static void* be_canceled(void* ignored) {
  pthread_cancel(pthread_self());
  while (next_rule < cancel_rule_count) {
    begin_things(cancel_rules[next_rule].tokens);
    canceled[next_rule].result = LEAVES;
    pthread_cleanup_push(look, NULL);
    canceled[next_rule].result = cancel_rules[next_rule].run();
    pthread_cleanup_pop(1);
  }
  return ignored;
}

static void cancellations(void) {
  next_rule = 0;
  while (next_rule < cancel_rule_count) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, be_canceled, NULL) != 0 || pthread_join(thread, NULL) != 0)
      abort();
  }
  for (unsigned r = 0; r < cancel_rule_count; ++r) {
    const char* const call = cancel_rules[r].call;
    compare("cancellation", "", "pending", call, cancel_rules[r].result, canceled[r].result);
    compare("cancellation", call, "", "then the value", (int)cancel_rules[r].left,
            canceled[r].value);
    compare("cancellation", call, "", "then, whether it has the mutex", cancel_rules[r].holds,
            canceled[r].holds);
  }
}

/* ---- the others ------------------------------------------------------------------------------ */

static void barriers(void) {
  pthread_barrier_t b;
  compare("barrier", "", "", "init, 0", EINVAL, pthread_barrier_init(&b, NULL, 0));
  compare("barrier", "", "", "init, too many", EINVAL, pthread_barrier_init(&b, NULL, 0x80000000u));
  compare("barrier", "", "", "init", 0, pthread_barrier_init(&b, NULL, 1));
  for (int i = 0; i < 3; ++i)
    compare("barrier", "of one", "", "wait", PTHREAD_BARRIER_SERIAL_THREAD,
            pthread_barrier_wait(&b));
  compare("barrier", "of one", "", "destroy", 0, pthread_barrier_destroy(&b));
}

static int spin_try(void* l) { return pthread_spin_trylock((pthread_spinlock_t*)l); }

static void spin_locks(void) {
  pthread_spinlock_t l;
  compare("spin lock", "", "", "init", 0, pthread_spin_init(&l, PTHREAD_PROCESS_PRIVATE));
  for (int round = 0; round < 2; ++round) {
    compare("spin lock", "", "free", "trylock", 0, pthread_spin_trylock(&l));
    compare("spin lock", "", "held", "trylock", EBUSY, pthread_spin_trylock(&l));
    compare("spin lock", "", "held", "another's trylock", EBUSY, by_another(spin_try, (void*)&l));
    compare("spin lock", "", "held", "unlock", 0, pthread_spin_unlock(&l));
    compare("spin lock", "", "free", "lock", 0, pthread_spin_lock(&l));
    compare("spin lock", "", "held", "unlock", 0, pthread_spin_unlock(&l));
  }
  compare("spin lock", "", "free", "destroy", 0, pthread_spin_destroy(&l));
}

static int run_once(void* control) { return pthread_once(control, count_once); }

static void once(void) {
  pthread_once_t control = PTHREAD_ONCE_INIT;
  once_runs = 0;
  compare("once", "", "new", "another's once", 0, by_another(run_once, &control));
  compare("once", "", "done", "once", 0, run_once(&control));
  compare("once", "", "done", "how often it ran", 1, once_runs);
}

static int c11_try(void* m) { return mtx_trylock(m); }

static void c11(void) {
  static const int types[] = {mtx_plain, mtx_timed, mtx_plain | mtx_recursive,
                              mtx_timed | mtx_recursive};
  for (int t = 0; t < 4; ++t) {
    const int again = (types[t] & mtx_recursive) != 0;
    mtx_t m;
    cnd_t c;
    compare("mtx_t", "", "", "init", thrd_success, mtx_init(&m, types[t]));
    compare("cnd_t", "", "", "init", thrd_success, cnd_init(&c));
    compare("mtx_t", "", "free", "timedlock, bad", thrd_success, mtx_timedlock(&m, &negative_ns));
    compare("mtx_t", "", "held", "another's trylock", thrd_busy, by_another(c11_try, &m));
    compare("mtx_t", "", "held", "trylock", again ? thrd_success : thrd_busy, mtx_trylock(&m));
    if (again) mtx_unlock(&m);
    compare("mtx_t", "", "held", "timedlock, past", again ? thrd_success : thrd_timedout,
            mtx_timedlock(&m, &past));
    if (again) mtx_unlock(&m);
    compare("mtx_t", "", "held", "timedlock, bad", again ? thrd_success : thrd_timedout,
            mtx_timedlock(&m, &all_negative));
    if (again) mtx_unlock(&m);
    compare("mtx_t", "", "held", "timedlock, negative ns", again ? thrd_success : thrd_error,
            mtx_timedlock(&m, &negative_ns));
    if (again) mtx_unlock(&m);
    int result;
    do result = cnd_timedwait(&c, &m, &past);
    while (result == thrd_success); /* spurious */
    compare("cnd_t", "", "", "timedwait, past", thrd_timedout, result);
    compare("cnd_t", "", "", "timedwait, bad", thrd_error, cnd_timedwait(&c, &m, &all_negative));
    compare("cnd_t", "", "", "signal", thrd_success, cnd_signal(&c));
    compare("cnd_t", "", "", "broadcast", thrd_success, cnd_broadcast(&c));
    compare("mtx_t", "", "held", "unlock", thrd_success, mtx_unlock(&m));
    if (again) compare("mtx_t", "", "free", "unlock", thrd_error, mtx_unlock(&m));
    mtx_destroy(&m);
    cnd_destroy(&c);
  }
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } tables[] = {
      {"mutex", mutexes},    {"depth", depths},         {"condition", conditions},
      {"rwlock", rwlocks},   {"semaphore", semaphores}, {"cancel", cancellations},
      {"barrier", barriers}, {"spin", spin_locks},      {"once", once},
      {"c11", c11},
  };
  int chosen = 0;
  for (int i = 0; i < 2; ++i) {
    struct helper* h = &helpers[i];
    if (sem_init(&h->go, 0, 0) != 0 || sem_init(&h->done, 0, 0) != 0) abort();
    if (pthread_create(&h->thread, NULL, help, h) != 0) abort();
  }
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "defined") == 0) only_defined = 1;
    else chosen = 1;
  }
  for (unsigned t = 0; t < sizeof tables / sizeof *tables; ++t) {
    int wanted = !chosen;
    for (int i = 1; i < argc; ++i) wanted |= strcmp(argv[i], tables[t].name) == 0;
    if (wanted) tables[t].run();
  }
  by_holder(NULL, NULL);
  by_another(NULL, NULL);
  printf("%d of %d answers are wrong\n", wrong, asked);
  return wrong != 0 || asked == 0;
}
