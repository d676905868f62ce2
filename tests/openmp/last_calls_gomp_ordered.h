// last_calls_gomp_ordered.h -- libgomp's entry points where threads wait for an iteration's turn.
#pragma once

#include "last_calls.h"

typedef unsigned long long turn_ull;
void GOMP_ordered_start(void), GOMP_ordered_end(void), GOMP_loop_end(void);
void GOMP_doacross_wait(long, ...), GOMP_doacross_post(long*);
void GOMP_doacross_ull_wait(turn_ull, ...), GOMP_doacross_ull_post(turn_ull*);
LAST(void, GOMP_ordered_start, (void), ())
LAST(void, GOMP_doacross_wait, (long i, long j), (i, j))
LAST(void, GOMP_doacross_ull_wait, (turn_ull i, turn_ull j), (i, j))

// Twelve iterations, of which each third has no ordered part: its thread waits when it goes on.
// Outside of a region libgomp has no place for what these loops count.
#define ORDERED(start, next, number, ...)                      \
  LAST(_Bool, next, (number * from, number * to), (from, to))  \
  static void run_##next(void) {                               \
    number from, to;                                           \
    if (omp_get_level() == 0) return add(12);                  \
    if (start(__VA_ARGS__, &from, &to)) do                     \
        for (number i = from; i < to; ++i) {                   \
          if (i % 3 == 0) continue;                            \
          last_GOMP_ordered_start();                           \
          add(1 + (long)(i % 3 / 2)); /* 12 of 8 iterations */ \
          GOMP_ordered_end();                                  \
        }                                                      \
      while (last_##next(&from, &to));                         \
    GOMP_loop_end();                                           \
  }
#define LONG_ORDERED(kind, ...)                                          \
  _Bool GOMP_loop_ordered_##kind##_start(long, long, long, __VA_ARGS__); \
  _Bool GOMP_loop_ordered_##kind##_next(long*, long*);
#define ULL_ORDERED(kind, ...)                                                                  \
  _Bool GOMP_loop_ull_ordered_##kind##_start(_Bool, turn_ull, turn_ull, turn_ull, __VA_ARGS__); \
  _Bool GOMP_loop_ull_ordered_##kind##_next(turn_ull*, turn_ull*);
LONG_ORDERED(static, long, long*, long*)
LONG_ORDERED(dynamic, long, long*, long*)
LONG_ORDERED(guided, long, long*, long*)
LONG_ORDERED(runtime, long*, long*)
ULL_ORDERED(static, turn_ull, turn_ull*, turn_ull*)
ULL_ORDERED(dynamic, turn_ull, turn_ull*, turn_ull*)
ULL_ORDERED(guided, turn_ull, turn_ull*, turn_ull*)
ULL_ORDERED(runtime, turn_ull*, turn_ull*)
#define BOTH(X, kind, ...)                                                                         \
  X(GOMP_loop_ordered_##kind##_start, GOMP_loop_ordered_##kind##_next, long, 0, 12, __VA_ARGS__)   \
  X(GOMP_loop_ull_ordered_##kind##_start, GOMP_loop_ull_ordered_##kind##_next, turn_ull, 1, 0, 12, \
    __VA_ARGS__)
BOTH(ORDERED, static, 1, 2)
BOTH(ORDERED, dynamic, 1, 1)
BOTH(ORDERED, guided, 1, 1)
BOTH(ORDERED, runtime, 1)

// 4 times 3 iterations; each waits for the one before in the first of its two numbers.
#define DOACROSS(name, next, number, post, wait, PARAMETERS, ARGUMENTS, ...) \
  _Bool name PARAMETERS;                                                     \
  _Bool next(number*, number*);                                              \
  LAST(_Bool, name, PARAMETERS, ARGUMENTS)                                   \
  static void run_##name(void) {                                             \
    number from, to, counts[] = {4, 3};                                      \
    if (omp_get_level() == 0) return add(12);                                \
    if (last_##name(2, counts, __VA_ARGS__ & from, &to)) do                  \
        for (number i = from; i < to; ++i)                                   \
          for (number j = 0; j < 3; ++j) {                                   \
            number at[] = {i, j};                                            \
            if (i > 0) last_##wait(i - 1, j);                                \
            add(1);                                                          \
            post(at);                                                        \
          }                                                                  \
      while (next(&from, &to));                                              \
    GOMP_loop_end();                                                         \
  }
#define IN_CHUNKS(number) \
  (unsigned n, number* counts, number chunk, number* from, number* to), (n, counts, chunk, from, to)
#define AS_SET(number) (unsigned n, number* counts, number* from, number* to), (n, counts, from, to)
#define DOACROSS_OF(kind, HOW, ...)                                                               \
  DOACROSS_(GOMP_loop_doacross_##kind##_start, GOMP_loop_##kind##_next, long, GOMP_doacross_post, \
            GOMP_doacross_wait, HOW(long), __VA_ARGS__)                                           \
  DOACROSS_(GOMP_loop_ull_doacross_##kind##_start, GOMP_loop_ull_##kind##_next, turn_ull,         \
            GOMP_doacross_ull_post, GOMP_doacross_ull_wait, HOW(turn_ull), __VA_ARGS__)
#define DOACROSS_(...) DOACROSS(__VA_ARGS__)
DOACROSS_OF(static, IN_CHUNKS, 1, )
DOACROSS_OF(dynamic, IN_CHUNKS, 1, )
DOACROSS_OF(guided, IN_CHUNKS, 1, )
DOACROSS_OF(runtime, AS_SET, )

#define ORDERED_CASE(name) {#name, run_##name, 0, 12, of_all},
#define ORDERED_CASES                                \
  ORDERED_CASE(GOMP_loop_ordered_static_next)        \
  ORDERED_CASE(GOMP_loop_ordered_dynamic_next)       \
  ORDERED_CASE(GOMP_loop_ordered_guided_next)        \
  ORDERED_CASE(GOMP_loop_ordered_runtime_next)       \
  ORDERED_CASE(GOMP_loop_ull_ordered_static_next)    \
  ORDERED_CASE(GOMP_loop_ull_ordered_dynamic_next)   \
  ORDERED_CASE(GOMP_loop_ull_ordered_guided_next)    \
  ORDERED_CASE(GOMP_loop_ull_ordered_runtime_next)   \
  ORDERED_CASE(GOMP_loop_doacross_static_start)      \
  ORDERED_CASE(GOMP_loop_doacross_dynamic_start)     \
  ORDERED_CASE(GOMP_loop_doacross_guided_start)      \
  ORDERED_CASE(GOMP_loop_doacross_runtime_start)     \
  ORDERED_CASE(GOMP_loop_ull_doacross_static_start)  \
  ORDERED_CASE(GOMP_loop_ull_doacross_dynamic_start) \
  ORDERED_CASE(GOMP_loop_ull_doacross_guided_start)  \
  ORDERED_CASE(GOMP_loop_ull_doacross_runtime_start)
