/* What cannot be rewritten; each line that must be listed says why. */
#include "threads.h"

#include <time.h>

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, across = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t middle = PTHREAD_MUTEX_INITIALIZER, timed = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t waiting = PTHREAD_MUTEX_INITIALIZER, prints = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static volatile int flag;
static long n;

static int returns_with_it(int x) {
  pthread_mutex_lock(&held);  // NOT: returns with the lock held
  if (x > ROUNDS) return 1;
  pthread_mutex_unlock(&held);
  return 0;
}

static void begins(void) {
  pthread_mutex_lock(&across);  // NOT: its unlock is in another function
  ++n;
}

static void ends(void) {
  --n;
  pthread_mutex_unlock(&across);  // NOT: unlocks what another function locked
}

static void sleeps_in_the_middle(void) {
  pthread_mutex_lock(&middle);  // NOT: waits in the middle of it
  ++n;
  while (n < 0) pthread_cond_wait(&changed, &middle);
  --n;
  pthread_mutex_unlock(&middle);
}

static void sleeps_for_a_time(struct timespec* until) {
  pthread_mutex_lock(&timed);  // NOT: waits with a time limit
  if (n < 0) pthread_cond_timedwait(&changed, &timed, until);
  pthread_mutex_unlock(&timed);
}

static void locks(void) {
  begins();
  ends();
}

static void blocks(void) {
  pthread_mutex_lock(&waiting);  // NOT: waits for a lock that stays
  locks();
  pthread_mutex_unlock(&waiting);
}

static void overlap(void) {
  pthread_mutex_lock(&one);  // NOT: two sections overlap
  ++n;
  pthread_mutex_lock(&two);  // NOT: two sections overlap
  pthread_mutex_unlock(&one);
  pthread_mutex_unlock(&two);
}

static void say(long value) {
  if (value < 0) fprintf(stderr, "%ld\n", value);
}

static void log_value(void) { say(n); }

static void speaks(void) {
  pthread_mutex_lock(&prints);
  ++n;
  if (flag) --n;
  log_value();  // NOT: calls fprintf
  pthread_mutex_unlock(&prints);
}

int main(void) {
  int* where = (int*)&flag;  // NOT: its address is taken
  struct timespec until = {0, 0};
  returns_with_it(*where);
  sleeps_in_the_middle();
  sleeps_for_a_time(&until);
  blocks();
  overlap();
  speaks();
  printf("%ld\n", n);
  return 0;
}
