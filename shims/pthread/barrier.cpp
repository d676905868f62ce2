// barrier.cpp -- L4: pthread_barrier_*: glibc's barriers, with their waits recorded.
//
// The barriers of barriers/ take their place here when they exist; until then the preload library
// changes nothing about them.

#include <pthread.h>

#include "pthread/config.h"
#include "pthread/export.h"
#include "pthread/real.h"
#include "record/recorder.h"

using namespace syncopate;        // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::shim;  // NOLINT(google-build-using-namespace)

SYNCOPATE_EXPORT int pthread_barrier_init(pthread_barrier_t* b,
                                          const pthread_barrierattr_t* attributes, unsigned count) {
  const int result = real::pthread_barrier_init(b, attributes, count);
  if (result == 0 && record::enabled)
    record::object_created(record::object_kind::barrier, 0, b, nullptr,
                           __builtin_return_address(0));
  return result;
}

SYNCOPATE_EXPORT int pthread_barrier_wait(pthread_barrier_t* b) {
  if (!record::enabled) return real::pthread_barrier_wait(b);
  record::wait w = record::wait_begin(
      record::wait_kind::barrier, record::identify(record::object_kind::barrier, 0, b, nullptr), 0);
  const int result = real::pthread_barrier_wait(b);
  record::wait_end_now(w);
  return result;
}

SYNCOPATE_EXPORT int pthread_barrier_destroy(pthread_barrier_t* b) {
  if (record::enabled) record::object_destroyed(record::object_kind::barrier, b, nullptr, 0);
  return real::pthread_barrier_destroy(b);
}

SYNCOPATE_ALSO_OLDER(pthread_barrier_destroy, "GLIBC_2.2.5", "GLIBC_2.34")
SYNCOPATE_ALSO_OLDER(pthread_barrier_init, "GLIBC_2.2.5", "GLIBC_2.34")
SYNCOPATE_ALSO_OLDER(pthread_barrier_wait, "GLIBC_2.2.5", "GLIBC_2.34")
