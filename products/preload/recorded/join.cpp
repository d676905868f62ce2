// join.cpp -- pthread_join and its kin, seen by the recorder only.
//
// What is waited for is a thread, named by its pthread_t: the record's threads have theirs
// (thread_entry::handle), so that a reader finds out which one it is.
#include <pthread.h>
#include <threads.h>

#include <cerrno>
#include <cstdint>

#include "preload/base/export.h"
#include "preload/base/real.h"
#include "preload/config.h"
#include "record/recorder.h"

namespace syncopate::shim {
namespace {

void canceled(void* recorded) { record::wait_end_now(*static_cast<record::wait*>(recorded)); }

template <class Join>
void join_cancelable(record::wait& recorded, const Join& real_join, int* result) {
  pthread_cleanup_push(canceled, &recorded);
  *result = real_join();
  pthread_cleanup_pop(0);
}

template <class Join>
int join_recorded(pthread_t thread, bool timed, const void* caller, const Join& real_join) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): glibc's pthread_t is an address
  const auto* const object = reinterpret_cast<const void*>(thread);
  record::wait w = record::wait_begin(
      record::wait_kind::join, record::identify(record::object_kind::thread, 0, object, nullptr), 0,
      {caller, timed});
  int result;
  join_cancelable(w, real_join, &result);
  if (result == 0 || result == ETIMEDOUT) record::wait_end_now(w);
  else record::wait_refused(w);
  return result;
}

}  // namespace
}  // namespace syncopate::shim

using namespace syncopate;        // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::shim;  // NOLINT(google-build-using-namespace)

SYNCOPATE_EXPORT int pthread_join(pthread_t thread, void** value) {
  if (__builtin_expect(!record::enabled, 1)) return real::pthread_join(thread, value);
  return join_recorded(thread, false, __builtin_return_address(0),
                       [=] { return real::pthread_join(thread, value); });
}

SYNCOPATE_EXPORT int pthread_timedjoin_np(pthread_t thread, void** value, const timespec* at) {
  if (__builtin_expect(!record::enabled, 1)) return real::pthread_timedjoin_np(thread, value, at);
  return join_recorded(thread, true, __builtin_return_address(0),
                       [=] { return real::pthread_timedjoin_np(thread, value, at); });
}

SYNCOPATE_EXPORT int pthread_clockjoin_np(pthread_t thread, void** value, clockid_t clock,
                                          const timespec* at) {
  if (__builtin_expect(!record::enabled, 1))
    return real::pthread_clockjoin_np(thread, value, clock, at);
  return join_recorded(thread, true, __builtin_return_address(0),
                       [=] { return real::pthread_clockjoin_np(thread, value, clock, at); });
}

SYNCOPATE_EXPORT int thrd_join(thrd_t thread, int* value) {
  if (__builtin_expect(!record::enabled, 1)) return real::thrd_join(thread, value);
  return join_recorded(thread, false, __builtin_return_address(0),
                       [=] { return real::thrd_join(thread, value); });
}

SYNCOPATE_ALSO_OLDER(pthread_clockjoin_np, "GLIBC_2.31")
SYNCOPATE_ALSO_OLDER(pthread_join, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_OLDER(pthread_timedjoin_np, SYNCOPATE_GLIBC_2_3_3)
SYNCOPATE_ALSO_OLDER(thrd_join, "GLIBC_2.28")
