/* condition.h -- waiting for a condition in transactions. C and C++ with gcc -fgnu-tm; link
   with -lsyncopate-tm -litm (any libitm.so.1).

   A thread that sleeps in the middle of a transaction would keep what it has written from all
   others, so waiting ends the transaction: tm_cond_wait() enters the thread among those who wait,
   with the transaction; the transaction runs to its end and commits, and then the thread sleeps.
   Between the look at the condition and the sleep, no signal is lost.

       int done = 0;
       while (!done) {
         __transaction_atomic {
           if (ready) { take(); done = 1; }
           else tm_cond_wait(&became_ready);      // sleeps behind the closing brace
         }
       }

   What the transaction wrote before it waits, the first half, is committed. Where there is a second
   half, it is a function (a continuation), which is called when the thread has been woken, outside
   of transactions: tm_cond_wait_then(). A transaction that was called by another function cannot
   return to the middle of itself after its commit: the frame that it would begin again from is the
   caller's. To take the first half back instead, use SYNCOPATE_TM_RETRY() (transaction.h).

   Signals are given when the transaction that gives them commits; to those who wait, in the order
   in which they began to. There are no spurious wake-ups; but another thread may come in between,
   so look at the condition again. Outside of transactions, all these are transactions of their own.

   Source   Ruan, Vyas, Liu & Spear, ASPLOS 2014, sections 3.2 and 3.3 (a semaphore behind the
            critical section, signals as commit actions); Wang, Liu & Spear, "Transaction-friendly
            condition variables", SPAA 2014 (a queue of waiters in transactional memory). */
#pragma once

#include <syncopate/tm/libc.h>

#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tm_waiter;

/* A condition variable. Zero is its beginning; nothing has to be destroyed. */
typedef struct tm_cond {
  struct tm_waiter *first, *last;
} tm_cond;
#define TM_COND_INITIALIZER \
  { 0, 0 }

/* Sleeps after the outermost transaction has committed, until a signal. If it rolls back, nothing
   has happened. To be the last that a transaction asks for: commit actions that it asks for later,
   signals among them, run after the sleep. Does not return (one line, and abort()) without memory
   for some 64 bytes. */
SYNCOPATE_TM_SAFE void tm_cond_wait(tm_cond* cond);
/* The same; then calls second_half(argument), outside of transactions. */
SYNCOPATE_TM_SAFE void tm_cond_wait_then(tm_cond* cond, void (*second_half)(void*), void* argument);
/* As tm_cond_wait(), but no longer than until `until`, on CLOCK_REALTIME, which is copied. Behind
   the transaction, *timed_out is 1 if that time came first, else 0; it must be alive then, and
   nobody else may use it meanwhile. It takes our libitm.so.1: GCC's cannot begin a transaction,
   which the thread needs to leave the queue, in a commit action. */
SYNCOPATE_TM_SAFE void tm_cond_wait_until(tm_cond* cond, const struct timespec* until,
                                          int* timed_out);
/* Wake the one that has waited longest, or all, once the outermost transaction has committed. */
SYNCOPATE_TM_SAFE void tm_cond_signal(tm_cond* cond);
SYNCOPATE_TM_SAFE void tm_cond_broadcast(tm_cond* cond);

/* A semaphore whose count is part of the transaction. */
typedef struct tm_semaphore {
  long count;
  tm_cond posted;
} tm_semaphore;
/* clang-format off */
#define TM_SEMAPHORE_INITIALIZER(COUNT) {(COUNT), TM_COND_INITIALIZER}
/* clang-format on */

/* Adds one, and wakes one who waits, with the transaction. */
SYNCOPATE_TM_SAFE void tm_semaphore_post(tm_semaphore* semaphore);
/* Takes one if there is one; returns whether it did. */
SYNCOPATE_TM_SAFE int tm_semaphore_try_wait(tm_semaphore* semaphore);
/* Takes one. In a transaction: after the outermost one has committed, as the paper's maintenance
   threads do. Blocking. */
SYNCOPATE_TM_SAFE void tm_semaphore_wait(tm_semaphore* semaphore);
/* The same, but no longer than until `until`, as tm_cond_wait_until() and with its requirements.
   *taken is 1 if it has taken one, else 0. */
SYNCOPATE_TM_SAFE void tm_semaphore_wait_until(tm_semaphore* semaphore,
                                               const struct timespec* until, int* taken);

#ifdef __cplusplus
}
#endif
