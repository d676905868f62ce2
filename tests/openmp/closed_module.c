// closed_module.c -- a module with regions, tasks and locks that is opened and closed again and
// again. VERSION: the number that its work gives. LAST: it also starts a region after all that the
// compiler's start files do at its end. FIRST_AT_END: that is the first OpenMP of its own. IN_VAIN:
// before that it opens a module in vain, which has been loaded when the loader finds that out.
#include <dlfcn.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

static omp_lock_t lock;
static long by_lock, by_critical;

static void add(void) {
  omp_set_lock(&lock);
  ++by_lock;
  omp_unset_lock(&lock);
}

static long regions(void) {
  static int made;
  if (!made++) omp_init_lock(&lock);
  long sum = 0, of_tasks = 0, threads = 0;
  by_lock = by_critical = 0;
#pragma omp parallel num_threads(3) reduction(+ : sum) reduction(max : threads)
  for (int r = 0; r < 4; ++r) {
    threads = omp_get_num_threads();
    add();
#pragma omp critical(of_the_module)
    ++by_critical;
#pragma omp barrier
    if (by_lock != threads * (r + 1) || by_critical != by_lock) abort();
#pragma omp single
    for (int t = 0; t < 5; ++t)
#pragma omp task shared(of_tasks)
#pragma omp atomic
      of_tasks += t;
#pragma omp for
    for (int i = 0; i < 6; ++i) sum += i;
  }
  return sum == 4 * 15 && of_tasks == 4 * 10 && by_lock == 4 * threads;
}

long work(void) {
  long fine = 1;
  for (int r = 0; r < 5; ++r) fine &= regions();
  return fine ? VERSION : -1;
}

int* ended;  // where the module is to count its ends
__attribute__((destructor)) static void end(void) {
  if (ended != NULL) *ended += FIRST_AT_END || regions();
}

#if LAST
int* ended_last;
__attribute__((destructor(101))) static void end_last(void) {
  if (IN_VAIN && (dlopen("./in-vain.so", RTLD_NOW) != NULL || !strstr(dlerror(), "libgomv.so.1:")))
    abort();
  if (ended_last != NULL) *ended_last += (int)regions();
}
#endif
