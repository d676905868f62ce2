// last_calls_kmpc_ordered.h -- libomp's entry points where threads wait for an iteration's turn.
// Included where `place`, `here` and `self` are known.
#pragma once

#include "last_calls.h"

void __kmpc_ordered(place*, int32_t), __kmpc_end_ordered(place*, int32_t);
LAST(void, __kmpc_ordered, (int32_t me), (&here, me))

// Twelve iterations, of which each third has no ordered part: its thread waits at its end.
enum { in_order_by_chunks = 67 };
#define ORDERED(of, number, step)                                                       \
  void __kmpc_dispatch_init_##of(place*, int32_t, int32_t, number, number, step, step); \
  int __kmpc_dispatch_next_##of(place*, int32_t, int32_t*, number*, number*, step*);    \
  void __kmpc_dispatch_fini_##of(place*, int32_t);                                      \
  LAST(void, __kmpc_dispatch_fini_##of, (int32_t me), (&here, me))                      \
  static void ordered_##of(void) {                                                      \
    const int32_t me = self();                                                          \
    int32_t is_last;                                                                    \
    number from, to;                                                                    \
    step by;                                                                            \
    __kmpc_dispatch_init_##of(&here, me, in_order_by_chunks, 0, 11, 1, 2);              \
    while (__kmpc_dispatch_next_##of(&here, me, &is_last, &from, &to, &by))             \
      for (number i = from; i <= to; ++i) {                                             \
        if (i % 3 != 0) {                                                               \
          last___kmpc_ordered(me);                                                      \
          add(1 + (long)(i % 3 / 2)); /* 12 of 8 iterations */                          \
          __kmpc_end_ordered(&here, me);                                                \
        }                                                                               \
        last___kmpc_dispatch_fini_##of(me);                                             \
      }                                                                                 \
    __kmpc_barrier(&here, me);                                                          \
  }
ORDERED(4, int32_t, int32_t)
ORDERED(4u, uint32_t, int32_t)
ORDERED(8, int64_t, int64_t)
ORDERED(8u, uint64_t, int64_t)

struct dimension {
  int64_t first, last, step;
};
void __kmpc_doacross_init(place*, int32_t, int32_t, const struct dimension*);
void __kmpc_doacross_wait(place*, int32_t, const int64_t*);
void __kmpc_doacross_post(place*, int32_t, const int64_t*), __kmpc_doacross_fini(place*, int32_t);
LAST(void, __kmpc_doacross_wait, (int32_t me, const int64_t* at), (&here, me, at))
static void doacross(void) {
  const int32_t me = self();
  const struct dimension twelve = {0, 11, 1};
  const int threads_of_team = omp_get_num_threads(), number = omp_get_thread_num();
  __kmpc_doacross_init(&here, me, 1, &twelve);
  for (int64_t i = number; i < 12; i += threads_of_team) {
    const int64_t before = i - 1;
    if (i > 0) last___kmpc_doacross_wait(me, &before);
    add(1);
    __kmpc_doacross_post(&here, me, &i);
  }
  __kmpc_doacross_fini(&here, me);
  __kmpc_barrier(&here, me);
}
