// thread.cpp -- pthread_create, seen by the recorder only.

#include <syncopate/locks/node_pool.h>

#include <pthread.h>

#include "preload/base/export.h"
#include "preload/base/real.h"
#include "preload/config.h"
#include "preload/thread/thread_end.h"
#include "record/recorder.h"

namespace syncopate::shim {
namespace {

// What the new thread has to know, handed over without malloc: an allocator may create threads.
struct start {
  void* (*function)(void*);
  void* argument;
  std::uint32_t creator_stack;
};
using starts = node_pool<start>;

void* begin(void* index_as_pointer) {
  const auto index = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(index_as_pointer));
  const start s = starts::at(index);
  starts::give_back(index);
  watch_for_thread_end();
  record::thread_begin(s.creator_stack);
  return s.function(s.argument);
}

}  // namespace

}  // namespace syncopate::shim

using namespace syncopate;        // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::shim;  // NOLINT(google-build-using-namespace)

SYNCOPATE_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                    void* (*function)(void*), void* argument) {
  if (!record::enabled) return real::pthread_create(thread, attributes, function, argument);
  const std::uint32_t index = starts::take();
  starts::at(index) = {function, argument, record::capture_creator()};
  const int result = real::pthread_create(thread, attributes, begin,
                                          reinterpret_cast<void*>(std::uintptr_t{index}));
  if (result != 0) starts::give_back(index);
  return result;
}

SYNCOPATE_ALSO_OLDER(pthread_create, SYNCOPATE_GLIBC_2_2_5, "GLIBC_2.34")
