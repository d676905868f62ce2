/* Programs that set errno, convert a number and look at errno find it as outside of transactions,
   also where writes wait for the commit; what a transaction that is taken back has set is gone. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

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

int main(void) {
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
  return 0;
}
