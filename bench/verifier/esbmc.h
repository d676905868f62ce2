/* esbmc.h -- what ESBMC's tests call without a declaration, by the names of verifier.c. */
#pragma once

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#ifndef __cplusplus
void __VERIFIER_assume(int holds);
void __VERIFIER_atomic_begin(void);
void __VERIFIER_atomic_end(void);
int __VERIFIER_nondet_int(void);
unsigned __VERIFIER_nondet_uint(void);
bool __VERIFIER_nondet_bool(void);

#define __ESBMC_assert(holds, text) ((holds) ? (void)0 : abort())
#define __ESBMC_assume(holds) __VERIFIER_assume(holds)
#define __ESBMC_atomic_begin __VERIFIER_atomic_begin
#define __ESBMC_atomic_end __VERIFIER_atomic_end
#define nondet_int __VERIFIER_nondet_int
#define nondet_uint __VERIFIER_nondet_uint
#define nondet_bool __VERIFIER_nondet_bool
#endif
