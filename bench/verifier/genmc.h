/* genmc.h -- what GenMC's tests include: the names of verifier.c. */
#pragma once

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

void __VERIFIER_assume(int holds);
void __VERIFIER_error(void);
int __VERIFIER_nondet_int(void);
void __VERIFIER_loop_begin(void);
void __VERIFIER_spin_start(void);
void __VERIFIER_spin_end(int ends);

#ifdef __cplusplus
}
#endif

typedef pthread_t __VERIFIER_thread_t;

static inline __VERIFIER_thread_t __VERIFIER_spawn(void* (*run)(void*), void* argument) {
  pthread_t made;
  if (pthread_create(&made, NULL, run, argument) != 0) abort();
  return made;
}

static inline void* __VERIFIER_join(__VERIFIER_thread_t thread) {
  void* result = NULL;
  if (pthread_join(thread, &result) != 0) abort();
  return result;
}

#define __VERIFIER_spawn_symmetric(run, argument, like) __VERIFIER_spawn(run, argument)
#define __VERIFIER_join_symmetric(thread) ((void)__VERIFIER_join(thread))

#define __VERIFIER_local_write(write) write
#define __VERIFIER_final_write(write) write
#define __VERIFIER_helped_CAS(exchange) exchange
#define __VERIFIER_helping_CAS(exchange) exchange
#define __VERIFIER_speculative_read(read) read
#define __VERIFIER_confirming_read(read) read
#define __VERIFIER_confirming_CAS(exchange) exchange
#define __VERIFIER_final_CAS(exchange) exchange
#define __VERIFIER_optional(statement) statement

/* Hazard pointers: what is retired stays. */
typedef void* __VERIFIER_hp_t;
#define __VERIFIER_hp_alloc() ((__VERIFIER_hp_t)0)
#define __VERIFIER_hp_protect(hazard, pointer) (*(pointer))
#define __VERIFIER_hp_clear(hazard) ((void)(hazard))
#define __VERIFIER_hp_free(hazard) ((void)(hazard))
#define __VERIFIER_hp_retire(block) ((void)(block))
