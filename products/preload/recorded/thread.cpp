// thread.cpp -- pthread_create and thrd_create, seen by the recorder only.

#include <syncopate/locks/node_pool.h>

#include <pthread.h>
#include <threads.h>

#include "preload/base/export.h"
#include "preload/base/real.h"
#include "preload/config.h"
#include "preload/thread/thread_end.h"
#include "record/recorder.h"

namespace syncopate::shim {
namespace {

// What the new thread has to know, handed over without malloc: an allocator may create threads.
// Result: what the thread's function returns.
template <class Result>
struct start {
  Result (*function)(void*);
  void* argument;
  std::uint32_t creator_stack;
};

template <class Result>
Result begin(void* index_as_pointer) {
  using starts = node_pool<start<Result>>;
  const auto index = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(index_as_pointer));
  const start<Result> s = starts::at(index);
  starts::give_back(index);
  watch_for_thread_end();
  record::thread_begin(s.creator_stack);
  return s.function(s.argument);
}

// create(function, argument): the C library's. Where memory is used up, nobody knows who has
// created the thread.
template <class Result, class Create>
int create_recorded(Result (*function)(void*), void* argument, Create create) {
  using starts = node_pool<start<Result>>;
  const std::uint32_t index = starts::try_take();
  if (index == 0) return create(function, argument);
  starts::at(index) = {function, argument, record::capture_creator()};
  const int result = create(begin<Result>, reinterpret_cast<void*>(std::uintptr_t{index}));
  if (result != 0) starts::give_back(index);
  return result;
}

}  // namespace

}  // namespace syncopate::shim

using namespace syncopate;        // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::shim;  // NOLINT(google-build-using-namespace)

SYNCOPATE_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                    void* (*function)(void*), void* argument) {
  if (!record::enabled) return real::pthread_create(thread, attributes, function, argument);
  return create_recorded(function, argument, [=](void* (*begins)(void*), void* index) {
    return real::pthread_create(thread, attributes, begins, index);
  });
}

SYNCOPATE_EXPORT int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  if (!record::enabled) return real::thrd_create(thread, function, argument);
  return create_recorded(function, argument, [=](thrd_start_t begins, void* index) {
    return real::thrd_create(thread, begins, index);
  });
}

SYNCOPATE_ALSO_OLDER(pthread_create, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_OLDER(thrd_create, "GLIBC_2.28")
