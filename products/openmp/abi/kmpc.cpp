// kmpc.cpp -- LLVM's libomp: teams, barriers, copyprivate, critical sections.
// Reductions: kmpc_reduce.cpp. Tasks: kmpc_tasks.cpp.

#include <syncopate/machine.h>

#include <algorithm>
#include <cstdarg>
#include <utility>

#include "openmp/abi/kmpc.h"
#include "openmp/base/call_with_words.h"
#include "openmp/base/export.h"
#include "openmp/config.h"
#include "openmp/locks/program_locks.h"
#include "openmp/locks/runtime_lock.h"
#include "openmp/teams/team.h"

using namespace syncopate::openmp;  // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::openmp::kmpc;  // NOLINT(google-build-using-namespace)

namespace {

// What the caller's num_threads clause said, for the next region.
thread_local constinit unsigned pushed_threads [[gnu::tls_model("initial-exec")]] = 0;

constexpr std::size_t few = 8;

template <std::size_t>
using pointer = void*;

// Few arguments come with the region, as the runtime hands them over anyway. A parameter that the
// caller has no argument for is a word of its frame, and goes to nobody.
template <std::size_t... I>
void run_few(std::int32_t* thread, std::int32_t* bound, region_order* started,
             pointer<I>... arguments) {
  started->run([=](const work& what) {
    reinterpret_cast<void (*)(std::int32_t*, std::int32_t*, pointer<I>...)>(what.function)(
        thread, bound, arguments...);
  });
}

template <std::size_t... I>
void fork_few(const entry_points& real, void* location, std::int32_t count, region& r,
              void** arguments, std::index_sequence<I...>) {
  real.__kmpc_fork_call(location, count + 1, reinterpret_cast<kmpc_micro>(run_few<I...>), r.order(),
                        arguments[I]...);
}

// More are read from the master's list, `data`.
void call_many(const work& what, std::int32_t* thread, std::int32_t* bound) {
  const auto n = static_cast<std::size_t>(what.count);
  static_assert(few + 2 >= fewest_words);
  auto** const words = static_cast<void**>(__builtin_alloca((n + 2) * sizeof(void*)));
  words[0] = thread;
  words[1] = bound;
  std::copy_n(static_cast<void**>(what.data), n, words + 2);
  syncopate_call_with_words(what.function, words, n + 2);
}

void run_many(std::int32_t* thread, std::int32_t* bound, region_order* started) {
  started->run([=](const work& what) { call_many(what, thread, bound); });
}

// The same of a region that is not ours.
void pass_many(std::int32_t* thread, std::int32_t* bound, const work* what) {
  call_many(*what, thread, bound);
}

template <std::size_t... I>
void pass_few(const entry_points& real, void* location, std::int32_t count, kmpc_micro function,
              void** arguments, std::index_sequence<I...>) {
  real.__kmpc_fork_call(location, count, function, arguments[I]...);
}

}  // namespace

SYNCOPATE_OPENMP_EXPORT void __kmpc_push_num_threads(void* location, std::int32_t thread,
                                                     std::int32_t threads) {
  const binding& b = SYNCOPATE_KMPC_CALLER;
  pushed_threads = threads > 0 ? static_cast<unsigned>(threads) : 0;
  b.to->real.__kmpc_push_num_threads(location, thread, threads);
}

// What __kmpc_fork_call (kmpc_fork.cpp) does where regions may be ours.
extern "C" [[gnu::visibility("hidden")]] void syncopate_fork_call(void* location,
                                                                  std::int32_t count,
                                                                  kmpc_micro function, ...) {
  const binding& b = SYNCOPATE_KMPC_CALLER;
  const auto n = static_cast<std::size_t>(count);
  const std::size_t padded = std::max(n, few);
  auto** const arguments = static_cast<void**>(__builtin_alloca(padded * sizeof(void*)));
  std::va_list list;
  va_start(list, function);
  for (std::size_t i = 0; i < padded; ++i) arguments[i] = i < n ? va_arg(list, void*) : nullptr;
  va_end(list);
  const unsigned asked = std::exchange(pushed_threads, 0);
  const entry_points& real = b.to->real;
  work what{reinterpret_cast<void (*)()>(function), arguments, count};
  if (!b.ours) {
    if (n <= few)
      pass_few(real, location, count, function, arguments, std::make_index_sequence<few>());
    else real.__kmpc_fork_call(location, 1, reinterpret_cast<kmpc_micro>(pass_many), &what);
    return;
  }
  region r(*b.to, asked, what, __builtin_return_address(0));
  if (n <= few) fork_few(real, location, count, r, arguments, std::make_index_sequence<few>());
  else real.__kmpc_fork_call(location, 1, reinterpret_cast<kmpc_micro>(run_many), r.order());
}

SYNCOPATE_OPENMP_EXPORT void __kmpc_barrier(void* location, std::int32_t thread) {
  const binding& b = SYNCOPATE_KMPC_CALLER;
  if (frame* const f = frame_for(b))
    return barrier(*f, *b.to, location, thread, __builtin_return_address(0));
  if (!is_recording()) return b.to->real.__kmpc_barrier(location, thread);
  const task_wait recorded(b, __builtin_return_address(0), barrier_of_runtime);
  b.to->real.__kmpc_barrier(location, thread);
}

// `did_it`: the caller ran the block; `data` is its own, or where to copy to.
SYNCOPATE_OPENMP_EXPORT void __kmpc_copyprivate(void* location, std::int32_t thread,
                                                std::size_t size, void* data, kmpc_copy copy,
                                                std::int32_t did_it) {
  const binding& b = SYNCOPATE_KMPC_CALLER;
  frame* const f = frame_for(b);
  if (f == nullptr) {
    if (!is_recording())
      return b.to->real.__kmpc_copyprivate(location, thread, size, data, copy, did_it);
    const task_wait recorded(b, __builtin_return_address(0), barrier_of_runtime);
    return b.to->real.__kmpc_copyprivate(location, thread, size, data, copy, did_it);
  }
  if (did_it != 0) f->in->copied = data;
  barrier(*f, *b.to, location, thread, __builtin_return_address(0));
  if (did_it == 0) copy(data, f->in->copied);
  barrier(*f, *b.to, location, thread, __builtin_return_address(0));
}

// `name`: 32 zeroed bytes of the program's.
SYNCOPATE_OPENMP_EXPORT void __kmpc_critical(void* location, std::int32_t thread, void* name) {
  if (take(name)) return;
  const binding& b = SYNCOPATE_KMPC_CALLER;
  if (!is_recording()) return b.to->real.__kmpc_critical(location, thread, name);
  const runtime_lock recorded(name);
  b.to->real.__kmpc_critical(location, thread, name);
}

SYNCOPATE_OPENMP_EXPORT void __kmpc_critical_with_hint(void* location, std::int32_t thread,
                                                       void* name, std::uint32_t hint) {
  if (take(name)) return;
  const binding& b = SYNCOPATE_KMPC_CALLER;
  if (!is_recording()) return b.to->real.__kmpc_critical_with_hint(location, thread, name, hint);
  const runtime_lock recorded(name);
  b.to->real.__kmpc_critical_with_hint(location, thread, name, hint);
}

SYNCOPATE_OPENMP_EXPORT void __kmpc_end_critical(void* location, std::int32_t thread, void* name) {
  if (!release(name)) SYNCOPATE_KMPC_CALLER.to->real.__kmpc_end_critical(location, thread, name);
}

SYNCOPATE_OPENMP_EXPORT std::int32_t __kmpc_cancel(void* location, std::int32_t thread,
                                                   std::int32_t what) {
  enum : std::int32_t { parallel = 1, loop = 2, sections = 3 };
  const binding& b = SYNCOPATE_KMPC_CALLER;
  if (b.ours) {
    if (what == loop || what == sections) mark_phase();
    if (what == parallel) abandon_team();
  }
  return b.to->real.__kmpc_cancel(location, thread, what);
}
