/* transaction.h -- what code inside of __transaction_atomic or __transaction_relaxed may
   ask of the running transaction. C and C++; compile with gcc -fgnu-tm, link with -litm.

   on_commit and on_abort are part of libitm's interface; GCC's library has them, too, with
   defects (docs/tm.md). Waiting (SYNCOPATE_TM_RETRY) needs Syncopate's. */
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>

#if defined(__GNUC__) && !defined(__clang__)
#define SYNCOPATE_TM_PURE __attribute__((transaction_pure))
#else
#define SYNCOPATE_TM_PURE
#endif

#ifdef __cplusplus
extern "C" {
#endif

SYNCOPATE_TM_PURE void _ITM_addUserCommitAction(void (*)(void*), uint64_t, void*);
SYNCOPATE_TM_PURE void _ITM_addUserUndoAction(void (*)(void*), void*);
SYNCOPATE_TM_PURE uint32_t _ITM_inTransaction(void);
SYNCOPATE_TM_PURE void _ITM_abortTransaction(int);

/* Whether the calling thread runs a transaction. */
SYNCOPATE_TM_PURE static __inline__ int syncopate_tm_in_transaction(void) {
  return _ITM_inTransaction() != 0;
}

/* Calls function(argument) once the outermost transaction has committed, in the order of the
   calls; at once outside of transactions. Not called if the transaction, or the inner one
   that asked, rolls back. The function may do anything, begin transactions included. */
SYNCOPATE_TM_PURE static __inline__ void syncopate_tm_on_commit(void (*function)(void*),
                                                                void* argument) {
  if (_ITM_inTransaction() != 0) _ITM_addUserCommitAction(function, 1, argument);
  else function(argument);
}

/* Calls function(argument) if the transaction rolls back, the latest first: each time that it
   begins again as well as when it is canceled. Nothing outside of transactions. */
SYNCOPATE_TM_PURE static __inline__ void syncopate_tm_on_abort(void (*function)(void*),
                                                               void* argument) {
  if (_ITM_inTransaction() != 0) _ITM_addUserUndoAction(function, argument);
}

/* Does not return; but the compiler must not know, or it drops the cancel behind it, and with
   that the transaction's ability to roll back. */
#ifndef __clang__ /* which does not know this attribute, and makes no clones */
__attribute__((noclone))
#endif
SYNCOPATE_TM_PURE __attribute__((noinline, unused)) static void
syncopate_tm_wait_(void) {
  void (*volatile leave)(int) = _ITM_abortTransaction;
  leave(2);
}

/* Rolls the transaction back and begins it again when something that it has read may have
   changed. To be written in the transaction itself, not in a function: the compiler has to see
   that it may roll back. */
#define SYNCOPATE_TM_RETRY() \
  do {                       \
    syncopate_tm_wait_();    \
    __transaction_cancel;    \
  } while (0)

/* Wakes by semaphore or condition variable from a transaction: when it has committed. */
static __inline__ void syncopate_tm_post_(void* semaphore) { sem_post((sem_t*)semaphore); }
SYNCOPATE_TM_PURE static __inline__ void syncopate_tm_sem_post(sem_t* semaphore) {
  syncopate_tm_on_commit(syncopate_tm_post_, semaphore);
}
static __inline__ void syncopate_tm_signal_(void* cond) {
  pthread_cond_signal((pthread_cond_t*)cond);
}
static __inline__ void syncopate_tm_broadcast_(void* cond) {
  pthread_cond_broadcast((pthread_cond_t*)cond);
}
SYNCOPATE_TM_PURE static __inline__ void syncopate_tm_cond_signal(pthread_cond_t* cond) {
  syncopate_tm_on_commit(syncopate_tm_signal_, cond);
}
SYNCOPATE_TM_PURE static __inline__ void syncopate_tm_cond_broadcast(pthread_cond_t* cond) {
  syncopate_tm_on_commit(syncopate_tm_broadcast_, cond);
}

#ifdef __cplusplus
}
#endif
