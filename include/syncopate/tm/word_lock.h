/* word_lock.h -- a mutex as a word that small transactions take and give back. C and C++ with
   gcc -fgnu-tm; link with -lsyncopate-tm -litm (any libitm.so.1).

   For sections that are no blocks, which therefore cannot be transactions: taken in one function
   and given back in another, given back only if something holds, or in the middle of a loop. What
   the section does stays as it is, outside of transactions. But transactions may try such a lock,
   hold it beyond their end, and give it back, which with a mutex they cannot; and who waits for a
   condition under it is woken by signals that transactions give.

   The word lies in the mutex, so that declarations, pointers and initializers stay; but whoever
   takes or gives back one mutex has to do so by these functions, everywhere. Only for mutexes of
   the default kind. No fairness: a thread that comes in between may be first.

   Source   Ruan, Vyas, Liu & Spear, ASPLOS 2014, section 3.1: the slab rebalance lock as "a boolean
            that was modified via transactions", and item locks in their branch IP. Theirs yield the
            processor when they fail; these sleep. */
#pragma once

#include <errno.h>
#include <pthread.h>
#include <syncopate/tm/condition.h>

/* In the memory of a pthread_mutex_t; zero is free. */
typedef struct __attribute__((may_alias)) tm_word_lock {
  int taken;
  tm_cond freed;
} tm_word_lock_t;

/* Not inlined: GCC 12 translates a transaction within another one in one function wrongly. */
#define TM_WORD_FUNCTION static __attribute__((noinline, unused))

/* Returns 0, or EBUSY where another thread, or this one, has taken it. */
TM_WORD_FUNCTION SYNCOPATE_TM_SAFE int tm_word_trylock(pthread_mutex_t* mutex) {
  tm_word_lock_t* const word = (tm_word_lock_t*)mutex;
  int was_taken;
  __transaction_atomic {
    was_taken = word->taken;
    word->taken = 1;
  }
  return was_taken ? EBUSY : 0;
}

/* Blocking; outside of transactions only. */
TM_WORD_FUNCTION int tm_word_acquire(pthread_mutex_t* mutex) {
  tm_word_lock_t* const word = (tm_word_lock_t*)mutex;
  int was_taken = 1;
  while (was_taken) {
    __transaction_atomic {
      was_taken = word->taken;
      word->taken = 1;
      if (was_taken) tm_cond_wait(&word->freed); /* sleeps behind the closing brace */
    }
  }
  return 0;
}

TM_WORD_FUNCTION SYNCOPATE_TM_SAFE int tm_word_release(pthread_mutex_t* mutex) {
  tm_word_lock_t* const word = (tm_word_lock_t*)mutex;
  __transaction_atomic {
    word->taken = 0;
    tm_cond_signal(&word->freed);
  }
  return 0;
}

/* As pthread_cond_wait(), for a condition of condition.h: no signal is lost between the release and
   the sleep. Blocking; outside of transactions only. */
TM_WORD_FUNCTION int tm_word_wait(tm_cond* condition, pthread_mutex_t* mutex) {
  tm_word_lock_t* const word = (tm_word_lock_t*)mutex;
  __transaction_atomic {
    word->taken = 0;
    tm_cond_signal(&word->freed);
    tm_cond_wait(condition);
  }
  return tm_word_acquire(mutex);
}

typedef char
    tm_word_lock_fits_into_a_mutex[sizeof(tm_word_lock_t) <= sizeof(pthread_mutex_t) ? 1 : -1];
