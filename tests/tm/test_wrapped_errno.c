/* Programs that set errno, convert a number, print or allocate, and look at errno find it as outside
   of transactions, also where writes wait for the commit; what a transaction that is taken back has set is gone. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "syncopate/tm/wrap_libc.h"

#define CHECK(condition)                                                            \
  do {                                                                              \
    if (!(condition)) {                                                             \
      fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      _Exit(1);                                                                     \
    }                                                                               \
  } while (0)

/* memcached's safe_strtoull. */
__attribute__((noinline, transaction_safe)) static int converts(const char* text, long* out) {
  char* end;
  errno = 0;
  *out = strtol(text, &end, 10);
  return errno != ERANGE && end != text;
}

static const char* number = "12";
static long value, other; /* no locals: for these, transactions run alone where writes wait */

static char said[64];
static void* block;
static int printed;

/* errno as what is called afterwards finds it, and as what fails leaves it. */
static void is_one_for_all(void) {
  errno = 0;
  __transaction_atomic {
    converts("99999999999999999999999", &other);
    snprintf(said, sizeof said, "%m");
  }
  CHECK(strcmp(said, strerror(ERANGE)) == 0);
  __transaction_atomic {
    errno = ENOENT;
    snprintf(said, sizeof said, "%m");
  }
  CHECK(strcmp(said, strerror(ENOENT)) == 0 && errno == ENOENT);
  __transaction_atomic {
    errno = 0;
    printed = snprintf(said, sizeof said, "%lc", 0x7fffffff);
  }
  CHECK(printed < 0 && errno == EILSEQ);
  __transaction_atomic {
    errno = 0;
    block = malloc(SIZE_MAX / 2);
  }
  CHECK(block == NULL && errno == ENOMEM);
}

static void* converting(void* none) {
  int first, second, third;
  errno = EAGAIN;
  __transaction_atomic {
    first = converts("99999999999999999999999", &other);
    second = converts(number, &value);
    third = converts("-99999999999999999999999", &other);
  }
  CHECK(!first && second && value == 12 && !third && errno == ERANGE);
  __transaction_atomic { second = converts(number, &value); }
  CHECK(second && errno == 0);
  errno = EAGAIN;
  __transaction_atomic {
    third = converts("99999999999999999999999", &other);
    __transaction_cancel;
  }
  CHECK(errno == EAGAIN);
  is_one_for_all();
  return none;
}

/* In another thread errno lies beside the stack, where writes do not wait. */
int main(void) {
  pthread_t other_thread;
  converting(NULL);
  CHECK(pthread_create(&other_thread, NULL, converting, NULL) == 0);
  CHECK(pthread_join(other_thread, NULL) == 0);
  return 0;
}
