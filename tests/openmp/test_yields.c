// Regions beside a foreign process that computes, where threads offer their processor while they
// wait (libomp); and a program that yields itself.
#include <omp.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { regions = 40 };

static pid_t start_computing(void) {
  const pid_t child = fork();
  if (child != 0) return child;
  alarm(60);  // ends it, should we not
  for (volatile unsigned i = 0;; ++i) {
  }
}

static void beside_a_busy_process(void) {
  const pid_t busy = start_computing();
  CHECK(busy > 0);
  int passed = 0, threads = 0;
  for (int i = 0; i < regions; ++i) {
#pragma omp parallel reduction(+ : passed)
    {
#pragma omp barrier
      ++passed;
#pragma omp master
      threads = omp_get_num_threads();
    }
  }
  CHECK(passed == regions * threads);
  kill(busy, SIGKILL);
  CHECK(waitpid(busy, NULL, 0) == busy);
}

static void yielding_itself(void) {
  int failed = 0;
#pragma omp parallel reduction(+ : failed)
  for (int i = 0; i < 100; ++i) failed += sched_yield() != 0;
  CHECK(failed == 0);
}

int main(void) {
  beside_a_busy_process();
  yielding_itself();
  return 0;
}
