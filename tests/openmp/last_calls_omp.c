// last_calls_omp.c -- what any compiler makes of OpenMP, and omp_*: see last_calls.h.
#include "last_calls.h"

static void critical_unnamed(void) {
#pragma omp critical
  add_alone();
}
static void critical_named(void) {
#pragma omp critical(by_name)
  add_alone();
}
static long double wide;
static void atomic_wide(void) {
  add(1);
#pragma omp atomic
  wide += 1;
}
static void barrier(void) {
  add(1);
#pragma omp barrier
}
static void loop_static(void) {
#pragma omp for schedule(static)
  for (int i = 0; i < 12; ++i) add(1);
}
static void loop_dynamic(void) {
#pragma omp for schedule(dynamic)
  for (int i = 0; i < 12; ++i) add(1);
}
static void loop_guided(void) {
#pragma omp for schedule(guided)
  for (int i = 0; i < 12; ++i) add(1);
}
static void loop_ordered(void) {
#pragma omp for ordered
  for (int i = 0; i < 12; ++i) {
#pragma omp ordered
    add(1);
  }
}
static void sections(void) {
#pragma omp sections
  {
#pragma omp section
    add(1);
#pragma omp section
    add(1);
  }
}
static void single(void) {
#pragma omp single
  add(1);
}
static void single_copyprivate(void) {
  int got = 0;
#pragma omp single copyprivate(got)
  got = 1;
  add(got);
}
static long reduced, reduced_too;
static void loop_reduction(void) {
#pragma omp for reduction(+ : reduced, reduced_too)
  for (int i = 0; i < 12; ++i) {
    ++reduced;
    reduced_too += 2;
    add(1);
  }
}
static void region(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
  add(1);
}
static void region_for(void) {
#pragma omp parallel for num_threads(2)
  for (int i = 0; i < 12; ++i) add(1);
}
static void region_for_dynamic(void) {
#pragma omp parallel for num_threads(2) schedule(dynamic)
  for (int i = 0; i < 12; ++i) add(1);
}
static void region_sections(void) {
#pragma omp parallel sections num_threads(2)
  {
#pragma omp section
    add(1);
#pragma omp section
    add(1);
  }
}
static void region_reduction(void) {
  long a = 0, b = 0;
#pragma omp parallel num_threads(2) reduction(+ : a, b)
#pragma omp single
  {
    ++a;
    b += 2;
  }
  add(a + b);
}
static void region_task_reduction(void) {
  long a = 0;
#pragma omp parallel num_threads(2) reduction(task, + : a)
#pragma omp single
#pragma omp task in_reduction(+ : a)
  ++a;
  add(a);
}
static void task(void) {
#pragma omp task
  add(1);
}
static int token;
static void task_depend(void) {
#pragma omp task depend(inout : token)
  add(1);
}
static void taskloop(void) {
#pragma omp taskloop grainsize(1) nogroup
  for (int i = 0; i < 12; ++i) add(1);
}
static void taskloop_unsigned(void) {
#pragma omp taskloop grainsize(1) nogroup
  for (unsigned long long i = 0; i < 12; ++i) add(1);
}
static void taskwait(void) {
#pragma omp task
  add(1);
#pragma omp taskwait
}
static void cancellation(void) {  // is off, unless OMP_CANCELLATION says other
  add(1);
#pragma omp parallel num_threads(2)
  {
#pragma omp cancel parallel
  }
}
static void on_device(void) {
#pragma omp target
  add(1);
}

// omp_*_lock: from C, and as Fortran programs call them.
int omp_test_lock_(omp_lock_t*), omp_test_nest_lock_(omp_nest_lock_t*);
#define DECLARE(name, type) void name##_(type*);
DECLARE(omp_init_lock, omp_lock_t)
DECLARE(omp_destroy_lock, omp_lock_t)
DECLARE(omp_set_lock, omp_lock_t)
DECLARE(omp_unset_lock, omp_lock_t)
DECLARE(omp_init_nest_lock, omp_nest_lock_t)
DECLARE(omp_destroy_nest_lock, omp_nest_lock_t)
DECLARE(omp_set_nest_lock, omp_nest_lock_t)
DECLARE(omp_unset_nest_lock, omp_nest_lock_t)
int omp_pause_resource_(int*, int*), omp_pause_resource_all_(int*);

#define LOCKS(suffix)                                                   \
  static omp_lock_t plain##suffix;                                      \
  static omp_nest_lock_t nest##suffix;                                  \
  LAST(void, omp_init_lock##suffix, (omp_lock_t * l), (l))              \
  LAST(void, omp_destroy_lock##suffix, (omp_lock_t * l), (l))           \
  LAST(void, omp_set_lock##suffix, (omp_lock_t * l), (l))               \
  LAST(void, omp_unset_lock##suffix, (omp_lock_t * l), (l))             \
  LAST(int, omp_test_lock##suffix, (omp_lock_t * l), (l))               \
  LAST(void, omp_init_nest_lock##suffix, (omp_nest_lock_t * l), (l))    \
  LAST(void, omp_destroy_nest_lock##suffix, (omp_nest_lock_t * l), (l)) \
  LAST(void, omp_set_nest_lock##suffix, (omp_nest_lock_t * l), (l))     \
  LAST(void, omp_unset_nest_lock##suffix, (omp_nest_lock_t * l), (l))   \
  LAST(int, omp_test_nest_lock##suffix, (omp_nest_lock_t * l), (l))     \
  static void lock##suffix(void) {                                      \
    last_omp_set_lock##suffix(&plain##suffix);                          \
    add_alone();                                                        \
    last_omp_unset_lock##suffix(&plain##suffix);                        \
  }                                                                     \
  static void lock_tested##suffix(void) {                               \
    while (!last_omp_test_lock##suffix(&plain##suffix)) usleep(10);     \
    add_alone();                                                        \
    last_omp_unset_lock##suffix(&plain##suffix);                        \
  }                                                                     \
  static void nest_lock##suffix(void) {                                 \
    last_omp_set_nest_lock##suffix(&nest##suffix);                      \
    last_omp_set_nest_lock##suffix(&nest##suffix);                      \
    add_alone();                                                        \
    last_omp_unset_nest_lock##suffix(&nest##suffix);                    \
    last_omp_unset_nest_lock##suffix(&nest##suffix);                    \
  }                                                                     \
  static void nest_lock_tested##suffix(void) {                          \
    while (!last_omp_test_nest_lock##suffix(&nest##suffix)) usleep(10); \
    if (last_omp_test_nest_lock##suffix(&nest##suffix) != 2) exit(95);  \
    last_omp_unset_nest_lock##suffix(&nest##suffix);                    \
    add_alone();                                                        \
    last_omp_unset_nest_lock##suffix(&nest##suffix);                    \
  }                                                                     \
  static void lock_made##suffix(void) {                                 \
    omp_lock_t mine;                                                    \
    last_omp_init_lock##suffix(&mine);                                  \
    last_omp_set_lock##suffix(&mine);                                   \
    add(1);                                                             \
    last_omp_unset_lock##suffix(&mine);                                 \
    last_omp_destroy_lock##suffix(&mine);                               \
  }                                                                     \
  static void nest_lock_made##suffix(void) {                            \
    omp_nest_lock_t mine;                                               \
    last_omp_init_nest_lock##suffix(&mine);                             \
    last_omp_set_nest_lock##suffix(&mine);                              \
    add(1);                                                             \
    last_omp_unset_nest_lock##suffix(&mine);                            \
    last_omp_destroy_nest_lock##suffix(&mine);                          \
  }
LOCKS()
LOCKS(_)

#ifdef __clang__  // libgomp has no functions for hints
void omp_init_lock_with_hint_(omp_lock_t*, int*);
void omp_init_nest_lock_with_hint_(omp_nest_lock_t*, int*);
LAST(void, omp_init_lock_with_hint, (omp_lock_t * l), (l, omp_lock_hint_none))
LAST(void, omp_init_nest_lock_with_hint, (omp_nest_lock_t * l), (l, omp_lock_hint_none))
LAST(void, omp_init_lock_with_hint_, (omp_lock_t * l, int* hint), (l, hint))
LAST(void, omp_init_nest_lock_with_hint_, (omp_nest_lock_t * l, int* hint), (l, hint))
static void locks_hinted(void) {
  omp_lock_t mine, other;
  omp_nest_lock_t nest, nest_other;
  int none = omp_lock_hint_none;
  last_omp_init_lock_with_hint(&mine);
  last_omp_init_lock_with_hint_(&other, &none);
  last_omp_init_nest_lock_with_hint(&nest);
  last_omp_init_nest_lock_with_hint_(&nest_other, &none);
  last_omp_set_lock(&mine);
  last_omp_set_lock_(&other);
  last_omp_set_nest_lock(&nest);
  last_omp_set_nest_lock_(&nest_other);
  add(1);
  last_omp_unset_nest_lock_(&nest_other);
  last_omp_unset_nest_lock(&nest);
  last_omp_unset_lock_(&other);
  last_omp_unset_lock(&mine);
  last_omp_destroy_nest_lock_(&nest_other);
  last_omp_destroy_nest_lock(&nest);
  last_omp_destroy_lock_(&other);
  last_omp_destroy_lock(&mine);
}

#endif

LAST(int, omp_pause_resource, (int device), (omp_pause_soft, device))
LAST(int, omp_pause_resource_all, (void), (omp_pause_soft))
LAST(int, omp_pause_resource_, (int* kind, int* device), (kind, device))
LAST(int, omp_pause_resource_all_, (int* kind), (kind))
static void pause_resources(void) {
  int soft = omp_pause_soft, device = omp_get_initial_device();
  region();  // there are threads to be given back
  (void)last_omp_pause_resource(device);
  (void)last_omp_pause_resource_(&soft, &device);
  (void)last_omp_pause_resource_all();
  (void)last_omp_pause_resource_all_(&soft);
}

static const struct last_call cases[] = {
    {"critical", critical_unnamed, 1, 0, anywhere},
    {"critical(name)", critical_named, 1, 0, anywhere},
    {"atomic of a long double", atomic_wide, 1, 0, anywhere},
    {"barrier", barrier, 1, 0, of_all},
    {"for schedule(static)", loop_static, 0, 12, of_all},
    {"for schedule(dynamic)", loop_dynamic, 0, 12, of_all},
    {"for schedule(guided)", loop_guided, 0, 12, of_all},
    {"for ordered", loop_ordered, 0, 12, of_all},
    {"sections", sections, 0, 2, of_all},
    {"single", single, 0, 1, of_all},
    {"single copyprivate", single_copyprivate, 1, 0, in_teams},
    {"for reduction", loop_reduction, 0, 12, of_all},
    {"parallel", region, 1, 0, anywhere},
    {"parallel for", region_for, 12, 0, anywhere},
    {"parallel for schedule(dynamic)", region_for_dynamic, 12, 0, anywhere},
    {"parallel sections", region_sections, 2, 0, anywhere},
    {"parallel reduction", region_reduction, 3, 0, anywhere},
    {"parallel reduction(task)", region_task_reduction, 1, 0, anywhere},
    {"task", task, 1, 0, anywhere},
    {"task depend", task_depend, 1, 0, anywhere},
    {"taskloop", taskloop, 12, 0, anywhere},
    {"taskloop of unsigned", taskloop_unsigned, 12, 0, anywhere},
    {"taskwait", taskwait, 1, 0, anywhere},
    {"cancel", cancellation, 1, 0, anywhere},
    {"target", on_device, 1, 0, anywhere},
    {"omp_set_lock", lock, 1, 0, anywhere},
    {"omp_set_lock_", lock_, 1, 0, anywhere},
    {"omp_test_lock", lock_tested, 1, 0, anywhere},
    {"omp_test_lock_", lock_tested_, 1, 0, anywhere},
    {"omp_set_nest_lock", nest_lock, 1, 0, anywhere},
    {"omp_set_nest_lock_", nest_lock_, 1, 0, anywhere},
    {"omp_test_nest_lock", nest_lock_tested, 1, 0, anywhere},
    {"omp_test_nest_lock_", nest_lock_tested_, 1, 0, anywhere},
    {"omp_destroy_lock", lock_made, 1, 0, anywhere},
    {"omp_destroy_lock_", lock_made_, 1, 0, anywhere},
    {"omp_destroy_nest_lock", nest_lock_made, 1, 0, anywhere},
    {"omp_destroy_nest_lock_", nest_lock_made_, 1, 0, anywhere},
#ifdef __clang__
    {"omp_init_lock_with_hint", locks_hinted, 1, 0, anywhere},
#endif
    {"omp_pause_resource", pause_resources, 1, 0, outside},
    {NULL, NULL, 0, 0, anywhere}};

void last_calls(void (*through)(void (*)(void))) {
  last_omp_init_lock(&plain);
  last_omp_init_lock_(&plain_);
  last_omp_init_nest_lock(&nest);
  last_omp_init_nest_lock_(&nest_);
  run(cases, through);
  if (reduced == 0 || reduced_too != 2 * reduced) exit(96);
}
