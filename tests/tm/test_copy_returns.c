// Stock: fails
/* GCC 11 and 12 believe that what they call for memcpy in a transaction returns its destination, as
   memcpy does, and where registers are short they go on with that. Ours does; GCC's own library
   leaves anything there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                            \
  do {                                                                              \
    if (!(condition)) {                                                             \
      fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      _Exit(1);                                                                     \
    }                                                                               \
  } while (0)

struct context {
  char* at;
  long a, b, c, d, e;
};

/* memcached's append_bin_stats. Enough is alive across the calls. */
#define APPEND(NAME, FIRST)                                                                 \
  __attribute__((noinline, transaction_safe)) long NAME(                                    \
      struct context* context, const char* key, unsigned short key_size, const char* value, \
      unsigned value_size, long p, long q) {                                                \
    char* to = context->at + context->a;                                                    \
    const long r = context->b, s = context->c, t = context->d, u = context->e;              \
    to += 24;                                                                               \
    if (key_size) {                                                                         \
      FIRST;                                                                                \
      to += key_size;                                                                       \
      if (value_size > 0) memcpy(to, value, value_size);                                    \
    }                                                                                       \
    return r + s + t + u + p + q + key_size + value_size;                                   \
  }
APPEND(by_copy, memcpy(to, key, key_size))
APPEND(by_move, memmove(to, key, key_size))
APPEND(by_set, memset(to, *key, key_size))

static char shared[128];

int main(void) {
  struct context context = {shared, 0, 1, 2, 3, 4};
  for (int round = 0; round < 3; ++round) {
    long sum = 0;
    memset(shared, 0, sizeof shared);
    __transaction_atomic {
      if (round == 0) sum = by_copy(&context, "0000", 4, "456", 3, 5, 6);
      if (round == 1) sum = by_move(&context, "0000", 4, "456", 3, 5, 6);
      if (round == 2) sum = by_set(&context, "0000", 4, "456", 3, 5, 6);
    }
    CHECK(sum == 28);
    CHECK(strcmp(shared + 24, "0000456") == 0);
  }
  return 0;
}
