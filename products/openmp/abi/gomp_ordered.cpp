// gomp_ordered.cpp -- where libgomp's threads wait for an iteration's turn: at `ordered`, at the
// end of a part of such a loop that had none, and at `ordered depend(sink)` (doacross). The waits
// are libgomp's; here they are recorded.

#include <algorithm>
#include <cstdarg>

#include "openmp/base/call_with_words.h"
#include "openmp/base/export.h"
#include "openmp/runtime/caller.h"
#include "openmp/teams/turn.h"

using namespace syncopate::openmp;  // NOLINT(google-build-using-namespace): this file is the ABI

namespace {

// How many loops a doacross of this thread's has had at most: how many arguments its waits have,
// which libgomp knows as well. What is passed on beyond them are words of the caller's frame, and
// nobody reads them.
thread_local constinit unsigned loops [[gnu::tls_model("initial-exec")]] = 0;

void note_loops(unsigned count) noexcept { loops = std::max(loops, count); }

}  // namespace

SYNCOPATE_OPENMP_EXPORT void GOMP_ordered_start() {
  const binding& b = SYNCOPATE_CALLER(gomp);
  const turn recorded(b, __builtin_return_address(0));
  b.to->real.GOMP_ordered_start();
  note_turn();
}

#define SYNCOPATE_ORDERED_NEXT(name, type)                  \
  SYNCOPATE_OPENMP_EXPORT bool name(type* from, type* to) { \
    const binding& b = SYNCOPATE_CALLER(gomp);              \
    if (past_turn()) return b.to->real.name(from, to);      \
    const turn recorded(b, __builtin_return_address(0));    \
    return b.to->real.name(from, to);                       \
  }
using ull = unsigned long long;
SYNCOPATE_ORDERED_NEXT(GOMP_loop_ordered_static_next, long)
SYNCOPATE_ORDERED_NEXT(GOMP_loop_ordered_dynamic_next, long)
SYNCOPATE_ORDERED_NEXT(GOMP_loop_ordered_guided_next, long)
SYNCOPATE_ORDERED_NEXT(GOMP_loop_ordered_runtime_next, long)
SYNCOPATE_ORDERED_NEXT(GOMP_loop_ull_ordered_static_next, ull)
SYNCOPATE_ORDERED_NEXT(GOMP_loop_ull_ordered_dynamic_next, ull)
SYNCOPATE_ORDERED_NEXT(GOMP_loop_ull_ordered_guided_next, ull)
SYNCOPATE_ORDERED_NEXT(GOMP_loop_ull_ordered_runtime_next, ull)

#define SYNCOPATE_DOACROSS(name, type)                                                    \
  SYNCOPATE_OPENMP_EXPORT bool name(unsigned count, type* counts, type chunk, type* from, \
                                    type* to) {                                           \
    note_loops(count);                                                                    \
    return SYNCOPATE_CALLER(gomp).to->real.name(count, counts, chunk, from, to);          \
  }
#define SYNCOPATE_DOACROSS_AS_SET(name, type)                                             \
  SYNCOPATE_OPENMP_EXPORT bool name(unsigned count, type* counts, type* from, type* to) { \
    note_loops(count);                                                                    \
    return SYNCOPATE_CALLER(gomp).to->real.name(count, counts, from, to);                 \
  }
SYNCOPATE_DOACROSS(GOMP_loop_doacross_static_start, long)
SYNCOPATE_DOACROSS(GOMP_loop_doacross_dynamic_start, long)
SYNCOPATE_DOACROSS(GOMP_loop_doacross_guided_start, long)
SYNCOPATE_DOACROSS_AS_SET(GOMP_loop_doacross_runtime_start, long)
SYNCOPATE_DOACROSS(GOMP_loop_ull_doacross_static_start, ull)
SYNCOPATE_DOACROSS(GOMP_loop_ull_doacross_dynamic_start, ull)
SYNCOPATE_DOACROSS(GOMP_loop_ull_doacross_guided_start, ull)
SYNCOPATE_DOACROSS_AS_SET(GOMP_loop_ull_doacross_runtime_start, ull)

// The same with task reductions (gomp_tasks.cpp).
void syncopate::openmp::note_doacross(unsigned count) noexcept { note_loops(count); }

#define SYNCOPATE_DOACROSS_WAIT(name, type)                                        \
  SYNCOPATE_OPENMP_EXPORT void name(type first, ...) {                             \
    const binding& b = SYNCOPATE_CALLER(gomp);                                     \
    const turn recorded(b, __builtin_return_address(0));                           \
    const std::size_t n = std::max<std::size_t>(loops, fewest_words);              \
    auto** const words = static_cast<void**>(__builtin_alloca(n * sizeof(void*))); \
    words[0] = reinterpret_cast<void*>(first);                                     \
    std::va_list list;                                                             \
    va_start(list, first);                                                         \
    for (std::size_t i = 1; i < n; ++i) words[i] = va_arg(list, void*);            \
    va_end(list);                                                                  \
    syncopate_call_with_words(b.to->real.name.code(), words, n);                   \
  }
SYNCOPATE_DOACROSS_WAIT(GOMP_doacross_wait, long)
SYNCOPATE_DOACROSS_WAIT(GOMP_doacross_ull_wait, ull)
