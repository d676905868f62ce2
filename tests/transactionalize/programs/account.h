/* An account that several files use, with its lock behind functions and macros. */
#pragma once
#include <pthread.h>

typedef struct {
  pthread_mutex_t mutex;
  long value;
} account;

extern account shared;

#define ACCOUNT_LOCK(which) pthread_mutex_lock(&(which)->mutex)
#define ACCOUNT_UNLOCK(which) pthread_mutex_unlock(&(which)->mutex)

void lock_log(void);
void unlock_log(void);
long account_change(account* of, long by);
