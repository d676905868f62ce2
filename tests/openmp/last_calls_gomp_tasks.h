// last_calls_gomp_tasks.h -- more of libgomp's entry points, for last_calls_gomp.c: what waits for
// tasks, what begins a construct that may reduce by them, and what they inherit.
#pragma once

#include <stdint.h>

#include "last_calls.h"

void GOMP_taskwait(void), GOMP_taskwait_depend(void**), GOMP_taskyield(void);
void GOMP_taskgroup_start(void), GOMP_taskgroup_end(void);
void GOMP_taskgroup_reduction_register(uintptr_t*), GOMP_taskgroup_reduction_unregister(uintptr_t*);
void GOMP_workshare_task_reduction_unregister(_Bool), GOMP_scope_start(uintptr_t*);
_Bool GOMP_barrier_cancel(void), GOMP_loop_end_cancel(void), GOMP_sections_end_cancel(void);
void GOMP_loop_end(void), GOMP_sections_end(void);
_Bool GOMP_loop_ordered_dynamic_next(long*, long*);
_Bool GOMP_loop_ull_dynamic_next(unsigned long long*, unsigned long long*);
_Bool GOMP_loop_ull_ordered_dynamic_next(unsigned long long*, unsigned long long*);
unsigned GOMP_sections_start(unsigned), GOMP_sections_next(void);
_Bool GOMP_loop_dynamic_start(long, long, long, long, long*, long*);
_Bool GOMP_loop_dynamic_next(long*, long*);
void GOMP_task(void (*)(void*), void*, void (*)(void*, void*), long, long, _Bool, unsigned, void**,
               int, void*);
void omp_fulfill_event_(omp_event_handle_t);

static void one_task(unsigned flags, void** depend) {
  GOMP_task(add_one, NULL, NULL, 0, 1, 1, flags, depend, 0, NULL);
}

LAST(void, GOMP_taskwait, (void), ())
static void taskwait(void) {
  one_task(0, NULL);
  last_GOMP_taskwait();
}
LAST(void, GOMP_taskwait_depend, (void** depend), (depend))
static void taskwait_for(void) {
  int token;
  void* depend[] = {(void*)1, (void*)1, &token};
  one_task(1u << 3, depend);
  last_GOMP_taskwait_depend(depend);
}
LAST(void, GOMP_taskyield, (void), ())
static void taskyield(void) {
  one_task(0, NULL);
  last_GOMP_taskyield();
}
LAST(void, GOMP_taskgroup_start, (void), ())
LAST(void, GOMP_taskgroup_end, (void), ())
static void taskgroup(void) {
  last_GOMP_taskgroup_start();
  one_task(0, NULL);
  last_GOMP_taskgroup_end();
}

// One variable of 8 bytes, as the compiler describes it. These two show how they are called and are
// not run here: what they set up only the compiler knows to use (test_task_meaning.c).
#define REDUCES_ONE(data, variable) \
  uintptr_t data[] = {1, 8, 8, (uintptr_t)-1, 0, 0, 0, (uintptr_t) & (variable), 0, 0}
LAST(void, GOMP_taskgroup_reduction_register, (uintptr_t * data), (data))
static void taskgroup_reduction(void) {
  long variable = 0;
  if (!never) return add(1);
  REDUCES_ONE(data, variable);
  last_GOMP_taskgroup_start();
  last_GOMP_taskgroup_reduction_register(data);
  one_task(0, NULL);
  last_GOMP_taskgroup_end();
  GOMP_taskgroup_reduction_unregister(data);
}
LAST(void, GOMP_scope_start, (uintptr_t * data), (data))
LAST(void, GOMP_workshare_task_reduction_unregister, (void), (0))
static void scope(void) {
  static long variable;
  if (!never) return add(1);
  REDUCES_ONE(data, variable);
  last_GOMP_scope_start(data);
  add(1);
  last_GOMP_workshare_task_reduction_unregister();
}

// Only regions have something to cancel: elsewhere compilers make no such calls.
LAST(_Bool, GOMP_barrier_cancel, (void), ())
static void barrier_cancel(void) {
  add(1);
  if (omp_get_level() == 0) return;
  (void)last_GOMP_barrier_cancel();
}
LAST(_Bool, GOMP_loop_end_cancel, (void), ())
static void loop_cancel(void) {
  long from, to;
  if (omp_get_level() == 0) return add(12);
  if (GOMP_loop_dynamic_start(0, 12, 1, 1, &from, &to)) do
      add(to - from);
    while (GOMP_loop_dynamic_next(&from, &to));
  (void)last_GOMP_loop_end_cancel();
}
LAST(_Bool, GOMP_sections_end_cancel, (void), ())
static void sections_cancel(void) {
  if (omp_get_level() == 0) return add(3);
  for (unsigned i = GOMP_sections_start(3); i != 0; i = GOMP_sections_next()) add(1);
  (void)last_GOMP_sections_end_cancel();
}
unsigned GOMP_sections2_start(unsigned, uintptr_t*, void**);
LAST(unsigned, GOMP_sections2_start, (void), (3, NULL, NULL))
static void sections2(void) {
  for (unsigned i = last_GOMP_sections2_start(); i != 0; i = GOMP_sections_next()) add(1);
  GOMP_sections_end();
}

// Loops by each of their starts; schedule 2 is dynamic. Ordered ones are not run here: outside of a
// region libgomp has no place for what they count.
#define START(name, next, number, runs, ...)                       \
  static void run_##name(void) {                                   \
    number from, to;                                               \
    if (!(runs) && !never) return add(1);                          \
    if (last_##name(__VA_ARGS__, 2, 1, &from, &to, NULL, NULL)) do \
        add((long)(to - from));                                    \
      while (next(&from, &to));                                    \
    GOMP_loop_end();                                               \
  }
#define LONG_START(name)                                                                  \
  _Bool name(long, long, long, long, long, long*, long*, uintptr_t*, void**);             \
  LAST(_Bool, name,                                                                       \
       (long a, long b, long s, long how, long chunk, long* from, long* to, uintptr_t* r, \
        void** m),                                                                        \
       (a, b, s, how, chunk, from, to, r, m))
LONG_START(GOMP_loop_start)
LONG_START(GOMP_loop_ordered_start)
typedef unsigned long long ull;
#define ULL_START(name)                                                                       \
  _Bool name(_Bool, ull, ull, ull, long, ull, ull*, ull*, uintptr_t*, void**);                \
  LAST(_Bool, name,                                                                           \
       (_Bool up, ull a, ull b, ull s, long how, ull chunk, ull* from, ull* to, uintptr_t* r, \
        void** m),                                                                            \
       (up, a, b, s, how, chunk, from, to, r, m))
ULL_START(GOMP_loop_ull_start)
ULL_START(GOMP_loop_ull_ordered_start)
#define DOACROSS_START(name, number)                                                  \
  _Bool name(unsigned, number*, long, number, number*, number*, uintptr_t*, void**);  \
  LAST(_Bool, name,                                                                   \
       (unsigned n, number* counts, long how, number chunk, number* from, number* to, \
        uintptr_t* r, void** m),                                                      \
       (n, counts, how, chunk, from, to, r, m))
DOACROSS_START(GOMP_loop_doacross_start, long)
DOACROSS_START(GOMP_loop_ull_doacross_start, ull)
START(GOMP_loop_start, GOMP_loop_dynamic_next, long, 1, 0, 12, 1)
START(GOMP_loop_ordered_start, GOMP_loop_ordered_dynamic_next, long, 0, 0, 12, 1)
START(GOMP_loop_ull_start, GOMP_loop_ull_dynamic_next, ull, 1, 1, 0, 12, 1)
START(GOMP_loop_ull_ordered_start, GOMP_loop_ull_ordered_dynamic_next, ull, 0, 1, 0, 12, 1)
static long twelve = 12;
static ull wide_twelve = 12;
START(GOMP_loop_doacross_start, GOMP_loop_dynamic_next, long, 0, 1, &twelve)
START(GOMP_loop_ull_doacross_start, GOMP_loop_ull_dynamic_next, ull, 0, 1, &wide_twelve)

// Tasks that fulfill their own event, of which their data begins with the handle.
LAST(void, omp_fulfill_event, (omp_event_handle_t event), (event))
LAST(void, omp_fulfill_event_, (omp_event_handle_t event), (event))
static void fulfill(void* data) {
  add(1);
  last_omp_fulfill_event(*(omp_event_handle_t*)data);
}
static void fulfill_of_fortran(void* data) {
  add(1);
  last_omp_fulfill_event_(*(omp_event_handle_t*)data);
}
static void detached(void) {
  void *event, *data = NULL;
  GOMP_task(fulfill, &data, NULL, sizeof data, 8, 1, 1u << 13, NULL, 0, &event);
  GOMP_task(fulfill_of_fortran, &data, NULL, sizeof data, 8, 1, 1u << 13, NULL, 0, &event);
  GOMP_taskwait();
}

// Each setting is set to what it is.
#define SETTING(name)                                      \
  void name##_(const int32_t*), name##_8_(const int64_t*); \
  LAST(void, name, (int value), (value))                   \
  LAST(void, name##_, (const int32_t* value), (value))     \
  LAST(void, name##_8_, (const int64_t* value), (value))   \
  static void set_##name(int value) {                      \
    const int32_t narrow = value;                          \
    const int64_t eight = value;                           \
    last_##name(value);                                    \
    last_##name##_(&narrow);                               \
    last_##name##_8_(&eight);                              \
  }
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
SETTING(omp_set_num_threads)
SETTING(omp_set_dynamic)
SETTING(omp_set_nested)
SETTING(omp_set_max_active_levels)
SETTING(omp_set_default_device)
void omp_set_schedule_(const int32_t*, const int32_t*);
void omp_set_schedule_8_(const int32_t*, const int64_t*);
LAST(void, omp_set_schedule, (omp_sched_t kind, int chunk), (kind, chunk))
LAST(void, omp_set_schedule_, (const int32_t* kind, const int32_t* chunk), (kind, chunk))
LAST(void, omp_set_schedule_8_, (const int32_t* kind, const int64_t* chunk), (kind, chunk))
static void settings(void) {
  omp_sched_t kind;
  int chunk;
  set_omp_set_num_threads(omp_get_max_threads());
  set_omp_set_dynamic(omp_get_dynamic());
  const int levels = omp_get_max_active_levels();
  set_omp_set_nested(levels > 1);
  set_omp_set_max_active_levels(levels);
  set_omp_set_default_device(omp_get_default_device());
  omp_get_schedule(&kind, &chunk);
  const int32_t as_int = (int32_t)kind, narrow = chunk;
  const int64_t eight = chunk;
  last_omp_set_schedule(kind, chunk);
  last_omp_set_schedule_(&as_int, &narrow);
  last_omp_set_schedule_8_(&as_int, &eight);
  add(1);
}
