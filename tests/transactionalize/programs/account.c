#include "account.h"

#include <string.h>

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
account shared = {PTHREAD_MUTEX_INITIALIZER, 0};

void lock_log(void) { pthread_mutex_lock(&log_lock); }
void unlock_log(void) { pthread_mutex_unlock(&log_lock); }

long account_change(account* of, long by) {
  char text[8] = "four";
  of->value += by * (long)strlen(text);
  return of->value;
}
