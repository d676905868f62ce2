/* wrap_output.h -- transactions print to streams and wake threads by the standard names, without
   running alone for it. C and C++ with gcc -fgnu-tm; link with -lsyncopate-tm -litm (any
   libitm.so.1).

   In a transaction, what is to be printed is put together where the call stands, with the values
   that the transaction sees there; it is written once the outermost transaction has committed, in
   the order of the calls, and not at all where it rolls back. So are sem_post and the signals of
   pthread's condition variables given then. Elsewhere nothing changes.

   What differs from a section under a lock: another thread's output may come between that of the
   section and what follows it, and errors of the stream are not reported, since there are none yet:
   each call returns what it would if all were written.

   Include it after the C library's headers, and before the code with transactions.

   Source   Ruan, Vyas, Liu & Spear, ASPLOS 2014, section 3.5 (onCommit handlers for fprintf, perror
            and sem_post). Theirs print literals, or what is there when the handler runs. */
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>

#if defined(__GNUC__) && !defined(__clang__)

#ifdef __cplusplus
extern "C" {
#endif

/* What a transaction calls in place of NAME is in libsyncopate-tm.a. */
#define SYNCOPATE_TM_LATER_(NAME)                                                        \
  extern __typeof__(NAME) syncopate_tm_later_##NAME __asm__("syncopate_tm_later_" #NAME) \
      __attribute__((transaction_wrap(NAME), transaction_safe))
/* The compiler makes calls of these from printf's and fprintf's. */
#define SYNCOPATE_TM_LATER_TOO_(NAME)                                                  \
  SYNCOPATE_TM_LATER_(NAME);                                                           \
  extern __typeof__(__builtin_##NAME) syncopate_tm_later_too_##NAME __asm__(           \
      "syncopate_tm_later_" #NAME) __attribute__((transaction_wrap(__builtin_##NAME))) \
  __attribute__((transaction_safe))

SYNCOPATE_TM_LATER_(fprintf);
SYNCOPATE_TM_LATER_(vfprintf);
SYNCOPATE_TM_LATER_(printf);
SYNCOPATE_TM_LATER_TOO_(fputs);
SYNCOPATE_TM_LATER_TOO_(puts);
SYNCOPATE_TM_LATER_TOO_(fputc);
SYNCOPATE_TM_LATER_TOO_(putchar);
SYNCOPATE_TM_LATER_TOO_(fwrite);
SYNCOPATE_TM_LATER_(fflush);
SYNCOPATE_TM_LATER_(perror);
SYNCOPATE_TM_LATER_(sem_post);
SYNCOPATE_TM_LATER_(pthread_cond_signal);
SYNCOPATE_TM_LATER_(pthread_cond_broadcast);
#undef SYNCOPATE_TM_LATER_TOO_
#undef SYNCOPATE_TM_LATER_

#ifdef __cplusplus
}
#endif
#endif
