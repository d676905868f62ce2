#include "account.h"
#include "threads.h"

static long logged;

static void* body(void* unused) {
  for (int i = 0; i < ROUNDS; ++i) {
    ACCOUNT_LOCK(&shared);
    account_change(&shared, 1);
    lock_log();
    ++logged;
    unlock_log();
    ACCOUNT_UNLOCK(&shared);
  }
  return unused;
}

int main(void) {
  run_threads(body);
  printf("%ld %ld\n", shared.value, logged);
  return 0;
}
