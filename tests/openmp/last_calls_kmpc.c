// last_calls_kmpc.c -- libomp's entry points by name, as clang's code calls them: see last_calls.h.
#include <stdint.h>

#include "last_calls.h"

typedef struct {
  int32_t reserved, flags, more[2];
  const char* text;
} place;
typedef int32_t (*routine)(int32_t, void*);
typedef struct {
  void* shared;
  routine run;
  int32_t part;
  void* more[2];
  uint64_t first, last;  // of a taskloop
  int64_t step;
} * job;
typedef int32_t name[8];

int32_t __kmpc_global_thread_num(place*);
void __kmpc_barrier(place*, int32_t);
void __kmpc_critical(place*, int32_t, name), __kmpc_end_critical(place*, int32_t, name);
void __kmpc_critical_with_hint(place*, int32_t, name, uint32_t);
int32_t __kmpc_single(place*, int32_t);
void __kmpc_end_single(place*, int32_t);
void __kmpc_copyprivate(place*, int32_t, size_t, void*, void (*)(void*, void*), int32_t);
void __kmpc_fork_call(place*, int32_t, void (*)(int32_t*, int32_t*, ...), ...);
void __kmpc_push_num_threads(place*, int32_t, int32_t);
job __kmpc_omp_task_alloc(place*, int32_t, int32_t, size_t, size_t, routine);
int32_t __kmpc_omp_task(place*, int32_t, job), __kmpc_omp_task_parts(place*, int32_t, job);
int32_t __kmpc_omp_task_with_deps(place*, int32_t, job, int32_t, void*, int32_t, void*);
int32_t __kmpc_omp_taskwait(place*, int32_t);
void __kmpc_taskgroup(place*, int32_t), __kmpc_end_taskgroup(place*, int32_t);
void __kmpc_omp_wait_deps(place*, int32_t, int32_t, void*, int32_t, void*);
void __kmpc_taskloop(place*, int, job, int, uint64_t*, uint64_t*, int64_t, int, int, uint64_t,
                     void*);
void __kmpc_taskloop_5(place*, int, job, int, uint64_t*, uint64_t*, int64_t, int, int, uint64_t,
                       int, void*);
__attribute__((weak)) void __kmpc_omp_taskwait_deps_51(place*, int32_t, int32_t, void*, int32_t,
                                                       void*, int32_t);  // from LLVM 15 on
int32_t __kmpc_cancel(place*, int32_t, int32_t);
typedef void (*combine)(void*, void*);
int32_t __kmpc_reduce(place*, int32_t, int32_t, size_t, void*, combine, name);
int32_t __kmpc_reduce_nowait(place*, int32_t, int32_t, size_t, void*, combine, name);
void __kmpc_end_reduce(place*, int32_t, name), __kmpc_end_reduce_nowait(place*, int32_t, name);

static place here = {0, 2, {0, 0}, ";last_calls_kmpc.c;;1;1;;"};
static int32_t self(void) { return __kmpc_global_thread_num(&here); }
#include "last_calls_kmpc_ordered.h"

LAST(void, __kmpc_barrier, (int32_t me), (&here, me))
static void barrier(void) {
  add(1);
  last___kmpc_barrier(self());
}

static name critical_name, hinted_name;
LAST(void, __kmpc_critical, (int32_t me), (&here, me, critical_name))
LAST(void, __kmpc_end_critical, (int32_t me, int32_t* n), (&here, me, n))
static void critical(void) {
  last___kmpc_critical(self());
  add_alone();
  last___kmpc_end_critical(self(), critical_name);
}
LAST(void, __kmpc_critical_with_hint, (int32_t me), (&here, me, hinted_name, 0))
static void critical_with_hint(void) {
  last___kmpc_critical_with_hint(self());
  add_alone();
  last___kmpc_end_critical(self(), hinted_name);
}

static void copy(void* to, void* from) { *(int*)to = *(int*)from; }
LAST(void, __kmpc_copyprivate, (int32_t me, int* data, int32_t did),
     (&here, me, sizeof *data, data, copy, did))
static void copyprivate(void) {
  int one = 0;
  const int32_t me = self(), did = __kmpc_single(&here, me);
  if (did) one = 1, __kmpc_end_single(&here, me);
  last___kmpc_copyprivate(me, &one, did);
  add(one);
  last___kmpc_barrier(me);
}

static void add_by_master(int32_t* thread, int32_t* bound, ...) {
  (void)thread, (void)bound;
  if (omp_get_thread_num() == 0) add(1);
}
LAST(void, __kmpc_fork_call, (void (*micro)(int32_t*, int32_t*, ...)), (&here, 0, micro))
LAST(void, __kmpc_push_num_threads, (int32_t me), (&here, me, 2))
static void fork_call(void) {
  last___kmpc_push_num_threads(self());
  last___kmpc_fork_call(add_by_master);
}

static int32_t add_as_task(int32_t thread, void* task) {
  (void)thread, (void)task;
  add(1);
  return 0;
}
static int32_t add_as_loop(int32_t thread, void* task) {
  (void)thread;
  add((long)(((job)task)->last - ((job)task)->first + 1));
  return 0;
}
static job new_job(int32_t me, routine run) {
  return __kmpc_omp_task_alloc(&here, me, 1, sizeof *(job)0, 0, run);
}
LAST(int32_t, __kmpc_omp_task, (int32_t me, job j), (&here, me, j))
static void task(void) { last___kmpc_omp_task(self(), new_job(self(), add_as_task)); }
LAST(int32_t, __kmpc_omp_task_parts, (int32_t me, job j), (&here, me, j))
static void task_parts(void) { last___kmpc_omp_task_parts(self(), new_job(self(), add_as_task)); }
static struct {
  intptr_t address;
  size_t bytes;
  uint8_t flags;
} token = {(intptr_t)&token, sizeof token, 3};
LAST(int32_t, __kmpc_omp_task_with_deps,
     (place * p, int32_t me, job j, int32_t n, void* deps, int32_t more, void* those),
     (p, me, j, n, deps, more, those))
static void task_with_deps(void) {
  last___kmpc_omp_task_with_deps(&here, self(), new_job(self(), add_as_task), 1, &token, 0, NULL);
}
LAST(void, __kmpc_omp_taskwait_deps_51,
     (place * p, int32_t me, int32_t n, void* deps, int32_t more, void* those, int32_t no_wait),
     (p, me, n, deps, more, those, no_wait))
static void taskwait_deps(void) {
  add(1);
  // The runtime here may have none, though the preloaded library has the name.
  if (dlsym(RTLD_DEFAULT, "__kmpc_fork_call_if") != NULL)
    last___kmpc_omp_taskwait_deps_51(&here, self(), 1, &token, 0, NULL, 0);
}
LAST(int32_t, __kmpc_omp_taskwait, (int32_t me), (&here, me))
static void taskwait(void) {
  __kmpc_omp_task(&here, self(), new_job(self(), add_as_task));
  (void)last___kmpc_omp_taskwait(self());
}
LAST(void, __kmpc_end_taskgroup, (int32_t me), (&here, me))
static void taskgroup(void) {
  __kmpc_taskgroup(&here, self());
  __kmpc_omp_task(&here, self(), new_job(self(), add_as_task));
  last___kmpc_end_taskgroup(self());
}
LAST(void, __kmpc_omp_wait_deps, (int32_t me), (&here, me, 1, &token, 0, NULL))
static void wait_deps(void) {
  task_with_deps();
  last___kmpc_omp_wait_deps(self());
}
LAST(void, __kmpc_taskloop,
     (place * p, int me, job j, int condition, uint64_t* first, uint64_t* last, int64_t step,
      int no_group, int schedule, uint64_t grain, void* duplicate),
     (p, me, j, condition, first, last, step, no_group, schedule, grain, duplicate))
static void taskloop(void) {
  const job j = new_job(self(), add_as_loop);
  j->first = 0, j->last = 11, j->step = 1;
  last___kmpc_taskloop(&here, self(), j, 1, &j->first, &j->last, 1, 0, 1, 1, NULL);
}
LAST(void, __kmpc_taskloop_5,
     (place * p, int me, job j, int condition, uint64_t* first, uint64_t* last, int64_t step,
      int no_group, int schedule, uint64_t grain, int modifier, void* duplicate),
     (p, me, j, condition, first, last, step, no_group, schedule, grain, modifier, duplicate))
static void taskloop_5(void) {
  const job j = new_job(self(), add_as_loop);
  j->first = 0, j->last = 11, j->step = 1;
  last___kmpc_taskloop_5(&here, self(), j, 1, &j->first, &j->last, 1, 0, 1, 1, 0, NULL);
}
enum { a_loop = 2 };
LAST(int32_t, __kmpc_cancel, (int32_t me), (&here, me, a_loop))
static void cancel(void) {  // is off, unless OMP_CANCELLATION says other
  add(1);
  (void)last___kmpc_cancel(self());
}

static name reduce_name;
static long total;
static void add_up(void* to, void* from) { **(long**)to += **(long**)from; }
LAST(int32_t, __kmpc_reduce,
     (place * p, int32_t me, int32_t n, size_t bytes, void* list, combine c, int32_t* lock),
     (p, me, n, bytes, list, c, lock))
LAST(void, __kmpc_end_reduce, (int32_t me, int32_t* n), (&here, me, n))
LAST(int32_t, __kmpc_reduce_nowait,
     (place * p, int32_t me, int32_t n, size_t bytes, void* list, combine c, int32_t* lock),
     (p, me, n, bytes, list, c, lock))
LAST(void, __kmpc_end_reduce_nowait, (int32_t me, int32_t* n), (&here, me, n))
static void reduce(void) {
  long mine = 1;
  void* list[] = {&mine};
  const int32_t me = self(),
                how = last___kmpc_reduce(&here, me, 1, sizeof list, list, add_up, reduce_name);
  if (how == 2) __atomic_fetch_add(&total, mine, __ATOMIC_RELAXED);
  add(1);
  if (how == 1) __atomic_fetch_add(&total, mine, __ATOMIC_RELAXED);
  if (how != 0) return last___kmpc_end_reduce(me, reduce_name);
}
static void reduce_nowait(void) {
  long mine = 1;
  void* list[] = {&mine};
  const int32_t me = self(), how = last___kmpc_reduce_nowait(&here, me, 1, sizeof list, list,
                                                             add_up, reduce_name);
  add(1);
  if (how != 0) __atomic_fetch_add(&total, mine, __ATOMIC_RELAXED);
  if (how == 1) return last___kmpc_end_reduce_nowait(me, reduce_name);
}

#define LOCK(kind)                                                                               \
  void __kmpc_init_##kind(place*, int32_t, void**);                                              \
  void __kmpc_init_##kind##_with_hint(place*, int32_t, void**, uintptr_t);                       \
  void __kmpc_destroy_##kind(place*, int32_t, void**);                                           \
  void __kmpc_set_##kind(place*, int32_t, void**), __kmpc_unset_##kind(place*, int32_t, void**); \
  int __kmpc_test_##kind(place*, int32_t, void**);                                               \
  LAST(void, __kmpc_init_##kind, (int32_t me, void** l), (&here, me, l))                         \
  LAST(void, __kmpc_init_##kind##_with_hint, (int32_t me, void** l), (&here, me, l, 0))          \
  LAST(void, __kmpc_destroy_##kind, (int32_t me, void** l), (&here, me, l))                      \
  LAST(void, __kmpc_set_##kind, (int32_t me, void** l), (&here, me, l))                          \
  LAST(void, __kmpc_unset_##kind, (int32_t me, void** l), (&here, me, l))                        \
  LAST(int, __kmpc_test_##kind, (int32_t me, void** l), (&here, me, l))                          \
  static void* shared_##kind;                                                                    \
  static void kind(void) {                                                                       \
    last___kmpc_set_##kind(self(), &shared_##kind);                                              \
    add_alone();                                                                                 \
    last___kmpc_unset_##kind(self(), &shared_##kind);                                            \
  }                                                                                              \
  static void tested_##kind(void) {                                                              \
    while (!last___kmpc_test_##kind(self(), &shared_##kind)) usleep(10);                         \
    add_alone();                                                                                 \
    last___kmpc_unset_##kind(self(), &shared_##kind);                                            \
  }                                                                                              \
  static void made_##kind(void) {                                                                \
    void *mine = NULL, *other = NULL;                                                            \
    last___kmpc_init_##kind(self(), &mine);                                                      \
    last___kmpc_init_##kind##_with_hint(self(), &other);                                         \
    last___kmpc_set_##kind(self(), &mine);                                                       \
    last___kmpc_set_##kind(self(), &other);                                                      \
    add(1);                                                                                      \
    last___kmpc_unset_##kind(self(), &other);                                                    \
    last___kmpc_unset_##kind(self(), &mine);                                                     \
    last___kmpc_destroy_##kind(self(), &other);                                                  \
    last___kmpc_destroy_##kind(self(), &mine);                                                   \
  }
LOCK(lock)
LOCK(nest_lock)

static const struct last_call cases[] = {
    {"__kmpc_barrier", barrier, 1, 0, of_all},
    {"__kmpc_end_critical", critical, 1, 0, anywhere},
    {"__kmpc_critical_with_hint", critical_with_hint, 1, 0, anywhere},
    {"__kmpc_copyprivate", copyprivate, 1, 0, of_all},
    {"__kmpc_fork_call", fork_call, 1, 0, anywhere},
    {"__kmpc_omp_task", task, 1, 0, anywhere},
    {"__kmpc_omp_task_parts", task_parts, 1, 0, anywhere},
    {"__kmpc_omp_task_with_deps", task_with_deps, 1, 0, anywhere},
    {"__kmpc_omp_taskwait_deps_51", taskwait_deps, 1, 0, anywhere},
    {"__kmpc_omp_taskwait", taskwait, 1, 0, anywhere},
    {"__kmpc_end_taskgroup", taskgroup, 1, 0, anywhere},
    {"__kmpc_omp_wait_deps", wait_deps, 1, 0, anywhere},
    {"__kmpc_taskloop", taskloop, 12, 0, anywhere},
    {"__kmpc_taskloop_5", taskloop_5, 12, 0, anywhere},
    {"__kmpc_cancel", cancel, 1, 0, anywhere},
    {"__kmpc_end_reduce", reduce, 1, 0, in_teams},
    {"__kmpc_end_reduce_nowait", reduce_nowait, 1, 0, in_teams},
    {"__kmpc_dispatch_fini_4", ordered_4, 0, 12, of_all},
    {"__kmpc_dispatch_fini_4u", ordered_4u, 0, 12, of_all},
    {"__kmpc_dispatch_fini_8", ordered_8, 0, 12, of_all},
    {"__kmpc_dispatch_fini_8u", ordered_8u, 0, 12, of_all},
    {"__kmpc_doacross_wait", doacross, 0, 12, of_all},
    {"__kmpc_set_lock", lock, 1, 0, anywhere},
    {"__kmpc_test_lock", tested_lock, 1, 0, anywhere},
    {"__kmpc_destroy_lock", made_lock, 1, 0, anywhere},
    {"__kmpc_set_nest_lock", nest_lock, 1, 0, anywhere},
    {"__kmpc_test_nest_lock", tested_nest_lock, 1, 0, anywhere},
    {"__kmpc_destroy_nest_lock", made_nest_lock, 1, 0, anywhere},
    {NULL, NULL, 0, 0, anywhere}};

void last_calls(void (*through)(void (*)(void))) {
  last___kmpc_init_lock(self(), &shared_lock);
  last___kmpc_init_nest_lock(self(), &shared_nest_lock);
  run(cases, through);
}
