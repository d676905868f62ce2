// pthread_entry.cpp -- pthread's and C11's functions on the emulated machine: the C library's
// own. They end transactions as all calls of foreign code do (library_calls.h); a mutex that was
// taken in a transaction would stay taken after its roll-back. Here is only what a thread's start
// needs: where its stack ends; and that its handle is written, which may lie on another's stack.
#include <pthread.h>
#include <threads.h>

#include <cerrno>

#include "model/emulated/htm/observer.h"
#include "model/emulated/htm/transaction.h"
#include "model/emulated/memory/access.h"
#include "model/front/libc/malloc_seam.h"
#include "model/front/names/names.h"
#include "model/front/pthread/real.h"
#include "registry.h"

namespace syncopate::emulated {

namespace {

template <class Result>
struct start {
  Result (*routine)(void*);
  void* argument;
};

// Everything above this frame is the C library's and does not change in transactions.
template <class Result>
Result run_thread(void* given) {
  const start<Result> what = *static_cast<start<Result>*>(given);
  __libc_free(given);
  enter_thread(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
  observe_thread(reinterpret_cast<const void*>(what.routine), what.argument);
  Result result = what.routine(what.argument);
  // It may have left a lock elided that it never unlocked: the thread cannot end so.
  end_transaction(reason::library_call, SYNCOPATE_CALLER);
  return result;
}

// Returns: null when there is no memory.
template <class Result>
start<Result>* make_start(Result (*routine)(void*), void* argument) noexcept {
  auto* const made = static_cast<start<Result>*>(__libc_malloc(sizeof(start<Result>)));
  if (made != nullptr) *made = {routine, argument};
  return made;
}

}  // namespace

}  // namespace syncopate::emulated

using namespace syncopate::emulated;

SYNCOPATE_EXPORT int pthread_create(pthread_t* made, const pthread_attr_t* attributes,
                                    void* (*routine)(void*), void* argument) noexcept {
  end_transaction(reason::library_call, SYNCOPATE_CALLER);
  auto* const what = make_start(routine, argument);
  if (what == nullptr) return EAGAIN;
  write(made, sizeof *made, SYNCOPATE_CALLER);
  const int error = SYNCOPATE_REAL(pthread_create)(made, attributes, run_thread<void*>, what);
  if (error != 0) __libc_free(what);
  return error;
}

SYNCOPATE_EXPORT int thrd_create(thrd_t* made, thrd_start_t routine, void* argument) {
  end_transaction(reason::library_call, SYNCOPATE_CALLER);
  auto* const what = make_start(routine, argument);
  if (what == nullptr) return thrd_nomem;
  write(made, sizeof *made, SYNCOPATE_CALLER);
  const int result = SYNCOPATE_REAL(thrd_create)(made, run_thread<int>, what);
  if (result != thrd_success) __libc_free(what);
  return result;
}
