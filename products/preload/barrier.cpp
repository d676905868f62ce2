// barrier.cpp -- pthread_barrier_*: glibc's barriers, unless a policy wants another waiting
// (chosen_barrier.h); waits are recorded.

#include <pthread.h>

#include "preload/chosen_barrier.h"
#include "preload/config.h"
#include "preload/export.h"
#include "preload/policy.h"
#include "preload/real.h"
#include "record/recorder.h"

using namespace syncopate;        // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::shim;  // NOLINT(google-build-using-namespace)

SYNCOPATE_EXPORT int pthread_barrier_init(pthread_barrier_t* b,
                                          const pthread_barrierattr_t* attributes, unsigned count) {
  ensure_configured();
  const int result = real::pthread_barrier_init(b, attributes, count);
  if (result == 0 && has_policy) {
    const decision chosen = choose_at_init(b, __builtin_return_address(0));
    const unsigned wait = chosen.setting >> barrier_wait_shift & barrier_wait_mask;
    choose_barrier(b, count, wait);
    if (wait != 0) chosen.taken();
  }
  if (result == 0 && record::enabled)
    record::object_created(record::object_kind::barrier, 0, b, nullptr,
                           __builtin_return_address(0));
  return result;
}

namespace {

int wait_at_barrier(pthread_barrier_t* b) {
  if (has_policy)
    if (chosen_barrier* const ours = chosen_barrier_of(b)) return wait_at(*ours);
  return real::pthread_barrier_wait(b);
}

}  // namespace

SYNCOPATE_EXPORT int pthread_barrier_wait(pthread_barrier_t* b) {
  if (!record::enabled) return wait_at_barrier(b);
  record::wait w = record::wait_begin(record::wait_kind::barrier,
                                      record::identify(record::object_kind::barrier, 0, b, nullptr),
                                      0, {__builtin_return_address(0), false});
  const int result = wait_at_barrier(b);
  record::wait_end_now(w);
  return result;
}

SYNCOPATE_EXPORT int pthread_barrier_destroy(pthread_barrier_t* b) {
  if (record::enabled) record::object_destroyed(record::object_kind::barrier, b, nullptr, 0);
  if (has_policy && chosen_barrier_of(b) != nullptr) destroy_chosen(b);
  return real::pthread_barrier_destroy(b);
}

SYNCOPATE_ALSO_OLDER(pthread_barrier_destroy, "GLIBC_2.2.5", "GLIBC_2.34")
SYNCOPATE_ALSO_OLDER(pthread_barrier_init, "GLIBC_2.2.5", "GLIBC_2.34")
SYNCOPATE_ALSO_OLDER(pthread_barrier_wait, "GLIBC_2.2.5", "GLIBC_2.34")
