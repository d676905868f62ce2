/* verifier.c -- what suites of other verifiers call, for the explored machine.
 *
 * An assumption that does not hold ends the execution well: whatever the other threads could do
 * without this one, they do in another execution in which this one comes later. A value that may be
 * any is 0 or 1: a thread's store that may be seen or not. An atomic section is one under a mutex
 * of its own, so that what is accessed both inside and outside of such sections races.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

static pthread_mutex_t section = PTHREAD_MUTEX_INITIALIZER;

void __VERIFIER_assume(int holds) {
  if (!holds) _Exit(0);
}

void __VERIFIER_assert(int holds) {
  if (!holds) abort();
}

void __VERIFIER_error(void) { abort(); }

__attribute__((weak)) void reach_error(void) { abort(); } /* newer programs bring their own */

void __VERIFIER_atomic_begin(void) { pthread_mutex_lock(&section); }

void __VERIFIER_atomic_end(void) { pthread_mutex_unlock(&section); }

static void* set(void* word) {
  atomic_store_explicit((atomic_int*)word, 1, memory_order_relaxed);
  return NULL;
}

int __VERIFIER_nondet_int(void) {
  atomic_int word = 0;
  pthread_t other;
  if (pthread_create(&other, NULL, set, &word) != 0) abort();
  const int value = atomic_load_explicit(&word, memory_order_relaxed);
  pthread_join(other, NULL);
  return value;
}

unsigned __VERIFIER_nondet_uint(void) { return (unsigned)__VERIFIER_nondet_int(); }

long __VERIFIER_nondet_long(void) { return __VERIFIER_nondet_int(); }

unsigned long __VERIFIER_nondet_ulong(void) { return __VERIFIER_nondet_uint(); }

bool __VERIFIER_nondet_bool(void) { return __VERIFIER_nondet_int() != 0; }

char __VERIFIER_nondet_char(void) { return (char)__VERIFIER_nondet_int(); }

unsigned char __VERIFIER_nondet_uchar(void) { return (unsigned char)__VERIFIER_nondet_int(); }

/* Hints for other searches. */
void __VERIFIER_loop_begin(void) {}

void __VERIFIER_loop_bound(int turns) { (void)turns; }

void __VERIFIER_spin_start(void) {}

void __VERIFIER_spin_end(int ends) { (void)ends; }
