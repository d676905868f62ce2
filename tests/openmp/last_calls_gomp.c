// last_calls_gomp.c -- libgomp's entry points by name, as GCC's code calls them: see last_calls.h.
#include "last_calls.h"
#include "last_calls_gomp_ordered.h"
#include "last_calls_gomp_tasks.h"

typedef void (*function)(void*);
void GOMP_barrier(void), GOMP_critical_start(void), GOMP_critical_end(void);
void GOMP_critical_name_start(void**), GOMP_critical_name_end(void**);
void GOMP_atomic_start(void), GOMP_atomic_end(void);
_Bool GOMP_loop_dynamic_start(long, long, long, long, long*, long*);
_Bool GOMP_loop_dynamic_next(long*, long*), GOMP_loop_guided_next(long*, long*);
_Bool GOMP_loop_static_next(long*, long*), GOMP_loop_runtime_next(long*, long*);
_Bool GOMP_loop_nonmonotonic_dynamic_next(long*, long*);
_Bool GOMP_loop_nonmonotonic_guided_next(long*, long*);
_Bool GOMP_loop_nonmonotonic_runtime_next(long*, long*);
_Bool GOMP_loop_maybe_nonmonotonic_runtime_next(long*, long*);
void GOMP_loop_end(void), GOMP_loop_end_nowait(void);
unsigned GOMP_sections_start(unsigned), GOMP_sections_next(void);
void GOMP_sections_end(void), GOMP_sections_end_nowait(void);
void* GOMP_single_copy_start(void);
void GOMP_single_copy_end(void*);
_Bool GOMP_cancel(int, _Bool);
void GOMP_parallel(function, void*, unsigned, unsigned);
void GOMP_parallel_start(function, void*, unsigned), GOMP_parallel_end(void);
void GOMP_parallel_sections(function, void*, unsigned, unsigned, unsigned);
void GOMP_parallel_sections_start(function, void*, unsigned, unsigned);
void GOMP_task(function, void*, void (*)(void*, void*), long, long, _Bool, unsigned, void**, int,
               void*);
void GOMP_taskloop(function, void*, void (*)(void*, void*), long, long, unsigned, unsigned long,
                   int, long, long, long);
void GOMP_taskloop_ull(function, void*, void (*)(void*, void*), long, long, unsigned, unsigned long,
                       int, unsigned long long, unsigned long long, unsigned long long);
void GOMP_taskwait_depend_nowait(void**) __attribute__((weak));  // from GCC 13 on
void GOMP_target(int, function, const void*, size_t, void**, size_t*, unsigned char*);
void GOMP_target_ext(int, function, size_t, void**, size_t*, unsigned short*, unsigned, void**,
                     void**);
void GOMP_target_update_ext(int, size_t, void**, size_t*, unsigned short*, unsigned, void**);
void GOMP_target_enter_exit_data(int, size_t, void**, size_t*, unsigned short*, unsigned, void**);
// Reads what the program's argument points at, and its result is used: never a last call.
unsigned GOMP_parallel_reductions(function, void*, unsigned, unsigned);

LAST(void, GOMP_barrier, (void), ())
static void barrier(void) {
  add(1);
  last_GOMP_barrier();
}

LAST(void, GOMP_critical_start, (void), ())
LAST(void, GOMP_critical_end, (void), ())
static void critical(void) {
  last_GOMP_critical_start();
  add_alone();
  last_GOMP_critical_end();
}
static void* name;
LAST(void, GOMP_critical_name_start, (void), (&name))
LAST(void, GOMP_critical_name_end, (void), (&name))
static void critical_name(void) {
  last_GOMP_critical_name_start();
  add_alone();
  last_GOMP_critical_name_end();
}
LAST(void, GOMP_atomic_start, (void), ())
LAST(void, GOMP_atomic_end, (void), ())
static void atomic(void) {
  last_GOMP_atomic_start();
  add_alone();
  last_GOMP_atomic_end();
}

LAST(void, GOMP_loop_end, (void), ())
static void loop(void) {
  long from, to;
  if (GOMP_loop_dynamic_start(0, 12, 1, 1, &from, &to)) do
      add(to - from);
    while (GOMP_loop_dynamic_next(&from, &to));
  last_GOMP_loop_end();
}
LAST(void, GOMP_sections_end, (void), ())
static void sections(void) {
  for (unsigned i = GOMP_sections_start(3); i != 0; i = GOMP_sections_next()) add(1);
  last_GOMP_sections_end();
}
LAST(void*, GOMP_single_copy_start, (void), ())
LAST(void, GOMP_single_copy_end, (void* data), (data))
static void single_copy(void) {
  int one = 1;
  const int* const got = last_GOMP_single_copy_start();
  add(got != NULL ? *got : 1);
  if (got == NULL) last_GOMP_single_copy_end(&one);
  last_GOMP_barrier();
}
LAST(_Bool, GOMP_cancel, (void), (1, 0))
static void cancel(void) {
  add(1);
  (void)last_GOMP_cancel();
}

static void add_one_by_master(void* unused) {
  if (omp_get_thread_num() == 0) add_one(unused);
}
LAST(void, GOMP_parallel, (function f), (f, NULL, 2, 0))
static void parallel(void) { last_GOMP_parallel(add_one_by_master); }
LAST(void, GOMP_parallel_start, (function f), (f, NULL, 2))
static void parallel_start(void) {
  last_GOMP_parallel_start(add_one_by_master);
  add_one_by_master(NULL);
  GOMP_parallel_end();
}
static void some_sections(void* unused) {
  (void)unused;
  for (unsigned i = GOMP_sections_next(); i != 0; i = GOMP_sections_next()) add(1);
  GOMP_sections_end_nowait();
}
LAST(void, GOMP_parallel_sections, (void), (some_sections, NULL, 2, 3, 0))
static void parallel_sections(void) { last_GOMP_parallel_sections(); }
LAST(void, GOMP_parallel_sections_start, (void), (some_sections, NULL, 2, 3))
static void parallel_sections_start(void) {
  last_GOMP_parallel_sections_start();
  some_sections(NULL);
  GOMP_parallel_end();
}

// A region that is a loop, by that schedule; and the old two halves of one. Where arguments are on
// the stack, a call can be the last one only of a function that was given as many.
#define LOOP_REGION(kind, next)                                                           \
  static void iterations_##kind(void* unused) {                                           \
    long from, to;                                                                        \
    (void)unused;                                                                         \
    while (GOMP_loop_##next##_next(&from, &to)) add(to - from);                           \
    GOMP_loop_end_nowait();                                                               \
  }                                                                                       \
  static void region_##kind(void) {                                                       \
    last_GOMP_parallel_loop_##kind(iterations_##kind, NULL, 2, 0, 12, 1 CHUNK_##kind, 0); \
  }
#define OLD_LOOP_REGION(kind)                                                                  \
  static void old_region_##kind(void) {                                                        \
    last_GOMP_parallel_loop_##kind##_start(iterations_##kind, NULL, 2, 0, 12, 1 CHUNK_##kind); \
    iterations_##kind(NULL);                                                                   \
    GOMP_parallel_end();                                                                       \
  }
#define CHUNK_static , 3
#define CHUNK_dynamic , 1
#define CHUNK_guided , 1
#define CHUNK_nonmonotonic_dynamic , 1
#define CHUNK_nonmonotonic_guided , 1
#define CHUNK_runtime
#define CHUNK_nonmonotonic_runtime
#define CHUNK_maybe_nonmonotonic_runtime

#define WITH_CHUNK(name)                                                                  \
  void name(function, void*, unsigned, long, long, long, long, unsigned);                 \
  LAST(void, name,                                                                        \
       (function f, void* d, unsigned n, long a, long b, long s, long c, unsigned flags), \
       (f, d, n, a, b, s, c, flags))
#define WITHOUT_CHUNK(name)                                                                   \
  void name(function, void*, unsigned, long, long, long, unsigned);                           \
  LAST(void, name, (function f, void* d, unsigned n, long a, long b, long s, unsigned flags), \
       (f, d, n, a, b, s, flags))
#define OLD_WITH_CHUNK(name)                                                          \
  void name(function, void*, unsigned, long, long, long, long);                       \
  LAST(void, name, (function f, void* d, unsigned n, long a, long b, long s, long c), \
       (f, d, n, a, b, s, c))
WITH_CHUNK(GOMP_parallel_loop_static)
WITH_CHUNK(GOMP_parallel_loop_dynamic)
WITH_CHUNK(GOMP_parallel_loop_guided)
WITH_CHUNK(GOMP_parallel_loop_nonmonotonic_dynamic)
WITH_CHUNK(GOMP_parallel_loop_nonmonotonic_guided)
WITHOUT_CHUNK(GOMP_parallel_loop_runtime)
WITHOUT_CHUNK(GOMP_parallel_loop_nonmonotonic_runtime)
WITHOUT_CHUNK(GOMP_parallel_loop_maybe_nonmonotonic_runtime)
OLD_WITH_CHUNK(GOMP_parallel_loop_static_start)
OLD_WITH_CHUNK(GOMP_parallel_loop_dynamic_start)
OLD_WITH_CHUNK(GOMP_parallel_loop_guided_start)
void GOMP_parallel_loop_runtime_start(function, void*, unsigned, long, long, long);
LAST(void, GOMP_parallel_loop_runtime_start,
     (function f, void* d, unsigned n, long a, long b, long s), (f, d, n, a, b, s))

LOOP_REGION(static, static)
LOOP_REGION(dynamic, dynamic)
LOOP_REGION(guided, guided)
LOOP_REGION(nonmonotonic_dynamic, nonmonotonic_dynamic)
LOOP_REGION(nonmonotonic_guided, nonmonotonic_guided)
LOOP_REGION(runtime, runtime)
LOOP_REGION(nonmonotonic_runtime, nonmonotonic_runtime)
LOOP_REGION(maybe_nonmonotonic_runtime, maybe_nonmonotonic_runtime)
OLD_LOOP_REGION(static)
OLD_LOOP_REGION(dynamic)
OLD_LOOP_REGION(guided)
OLD_LOOP_REGION(runtime)

typedef void (*copy)(void*, void*);
LAST(void, GOMP_task,
     (function f, void* d, copy c, long size, long align, _Bool deferred, unsigned flags,
      void** depend, int priority, void* detach),
     (f, d, c, size, align, deferred, flags, depend, priority, detach))
static void task(void) { last_GOMP_task(add_one, NULL, NULL, 0, 1, 1, 0, NULL, 0, NULL); }
static void part(void* data) { add(((long*)data)[1] - ((long*)data)[0]); }
static void part_unsigned(void* data) {
  add((long)(((unsigned long long*)data)[1] - ((unsigned long long*)data)[0]));
}
enum { up = 1u << 8, no_group = 1u << 11 };
LAST(void, GOMP_taskloop,
     (function f, void* d, copy c, long size, long align, unsigned flags, unsigned long n,
      int priority, long a, long b, long s),
     (f, d, c, size, align, flags, n, priority, a, b, s))
static void taskloop(void) {
  long data[2];
  last_GOMP_taskloop(part, data, NULL, sizeof data, 8, no_group | up, 3, 0, 0, 12, 1);
}
typedef unsigned long long wide;
LAST(void, GOMP_taskloop_ull,
     (function f, void* d, copy c, long size, long align, unsigned flags, unsigned long n,
      int priority, wide a, wide b, wide s),
     (f, d, c, size, align, flags, n, priority, a, b, s))
static void taskloop_unsigned(void) {
  wide data[2];
  last_GOMP_taskloop_ull(part_unsigned, data, NULL, sizeof data, 8, no_group | up, 3, 0, 0, 12, 1);
}
LAST(void, GOMP_taskwait_depend_nowait, (void** depend), (depend))
static void taskwait_depend(void) {
  int token;
  void* depend[] = {(void*)1, (void*)1, &token};
  add(1);
  // The runtime here may have none, though the preloaded library has the name.
  if (dlsym(RTLD_DEFAULT, "GOMP_target_map_indirect_ptr") != NULL)
    last_GOMP_taskwait_depend_nowait(depend);
}

enum { host = -2 };
LAST(void, GOMP_target,
     (int device, function f, const void* unused, size_t n, void** at, size_t* sizes,
      unsigned char* kinds),
     (device, f, unused, n, at, sizes, kinds))
static void target(void) { last_GOMP_target(host, add_one, NULL, 0, NULL, NULL, NULL); }
LAST(void, GOMP_target_ext,
     (int device, function f, size_t n, void** at, size_t* sizes, unsigned short* kinds,
      unsigned flags, void** depend, void** arguments),
     (device, f, n, at, sizes, kinds, flags, depend, arguments))
static void target_ext(void) {
  void* none[] = {NULL};
  last_GOMP_target_ext(host, add_one, 0, NULL, NULL, NULL, 0, NULL, none);
}
LAST(void, GOMP_target_update_ext,
     (int device, size_t n, void** at, size_t* sizes, unsigned short* kinds, unsigned flags,
      void** depend),
     (device, n, at, sizes, kinds, flags, depend))
LAST(void, GOMP_target_enter_exit_data,
     (int device, size_t n, void** at, size_t* sizes, unsigned short* kinds, unsigned flags,
      void** depend),
     (device, n, at, sizes, kinds, flags, depend))
static void target_data(void) {
  last_GOMP_target_enter_exit_data(host, 0, NULL, NULL, NULL, 0, NULL);
  add(1);
  last_GOMP_target_update_ext(host, 0, NULL, NULL, NULL, 0, NULL);
}

static const struct last_call cases[] = {
    {"GOMP_barrier", barrier, 1, 0, of_all},
    {"GOMP_critical_end", critical, 1, 0, anywhere},
    {"GOMP_critical_name_end", critical_name, 1, 0, anywhere},
    {"GOMP_atomic_end", atomic, 1, 0, anywhere},
    {"GOMP_loop_end", loop, 0, 12, of_all},
    {"GOMP_sections_end", sections, 0, 3, of_all},
    {"GOMP_single_copy_end", single_copy, 1, 0, of_all},
    {"GOMP_cancel", cancel, 1, 0, anywhere},
    {"GOMP_parallel", parallel, 1, 0, anywhere},
    {"GOMP_parallel_start", parallel_start, 1, 0, anywhere},
    {"GOMP_parallel_sections", parallel_sections, 3, 0, anywhere},
    {"GOMP_parallel_sections_start", parallel_sections_start, 3, 0, anywhere},
    {"GOMP_parallel_loop_static", region_static, 12, 0, anywhere},
    {"GOMP_parallel_loop_dynamic", region_dynamic, 12, 0, anywhere},
    {"GOMP_parallel_loop_guided", region_guided, 12, 0, anywhere},
    {"GOMP_parallel_loop_nonmonotonic_dynamic", region_nonmonotonic_dynamic, 12, 0, anywhere},
    {"GOMP_parallel_loop_nonmonotonic_guided", region_nonmonotonic_guided, 12, 0, anywhere},
    {"GOMP_parallel_loop_runtime", region_runtime, 12, 0, anywhere},
    {"GOMP_parallel_loop_nonmonotonic_runtime", region_nonmonotonic_runtime, 12, 0, anywhere},
    {"GOMP_parallel_loop_maybe_nonmonotonic_runtime", region_maybe_nonmonotonic_runtime, 12, 0,
     anywhere},
    {"GOMP_parallel_loop_static_start", old_region_static, 12, 0, anywhere},
    {"GOMP_parallel_loop_dynamic_start", old_region_dynamic, 12, 0, anywhere},
    {"GOMP_parallel_loop_guided_start", old_region_guided, 12, 0, anywhere},
    {"GOMP_parallel_loop_runtime_start", old_region_runtime, 12, 0, anywhere},
    {"GOMP_task", task, 1, 0, anywhere},
    {"GOMP_taskloop", taskloop, 12, 0, anywhere},
    {"GOMP_taskloop_ull", taskloop_unsigned, 12, 0, anywhere},
    {"GOMP_taskwait_depend_nowait", taskwait_depend, 1, 0, anywhere},
    {"GOMP_taskwait", taskwait, 1, 0, anywhere},
    {"GOMP_taskwait_depend", taskwait_for, 1, 0, anywhere},
    {"GOMP_taskyield", taskyield, 1, 0, anywhere},
    {"GOMP_taskgroup_end", taskgroup, 1, 0, anywhere},
    {"GOMP_taskgroup_reduction_register", taskgroup_reduction, 1, 0, in_teams},
    {"GOMP_workshare_task_reduction_unregister", scope, 1, 0, anywhere},
    {"GOMP_barrier_cancel", barrier_cancel, 1, 0, of_all},
    {"GOMP_loop_end_cancel", loop_cancel, 0, 12, of_all},
    {"GOMP_sections_end_cancel", sections_cancel, 0, 3, of_all},
    {"GOMP_sections2_start", sections2, 0, 3, of_all},
    {"GOMP_loop_start", run_GOMP_loop_start, 0, 12, of_all},
    {"GOMP_loop_ordered_start", run_GOMP_loop_ordered_start, 1, 0, anywhere},
    {"GOMP_loop_ull_start", run_GOMP_loop_ull_start, 0, 12, of_all},
    {"GOMP_loop_ull_ordered_start", run_GOMP_loop_ull_ordered_start, 1, 0, anywhere},
    {"GOMP_loop_doacross_start", run_GOMP_loop_doacross_start, 1, 0, anywhere},
    {"GOMP_loop_ull_doacross_start", run_GOMP_loop_ull_doacross_start, 1, 0, anywhere},
    ORDERED_CASES  //
    {"omp_fulfill_event", detached, 2, 0, anywhere},
    {"omp_set_schedule_8_", settings, 1, 0, anywhere},
    {"GOMP_target", target, 1, 0, anywhere},
    {"GOMP_target_ext", target_ext, 1, 0, anywhere},
    {"GOMP_target_update_ext", target_data, 1, 0, anywhere},
    {NULL, NULL, 0, 0, anywhere}};

void last_calls(void (*through)(void (*)(void))) { run(cases, through); }
