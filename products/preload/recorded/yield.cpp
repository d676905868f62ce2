// yield.cpp -- sched_yield, seen by the recorder only: locks of a program's own often spin with
// it, and the record is to say where. Such a place is no lock; it has the address of the call.
#include <sched.h>

#include <cstdint>

#include "preload/base/export.h"
#include "preload/base/real.h"
#include "preload/config.h"
#include "record/recorder.h"

namespace syncopate::shim {
namespace {

// The place that this thread has yielded at last, and its id: to find that takes a lock.
struct known_place {
  const void* caller;
  std::uint32_t id;
};
thread_local constinit known_place last [[gnu::tls_model("initial-exec")]] = {nullptr, 0};

std::uint32_t place_of(const void* caller) noexcept {
  if (last.caller != caller || !record::is_of(last.id, caller))
    last = {caller, record::identify(record::object_kind::yield, 0, caller, nullptr)};
  return last.id;
}

}  // namespace
}  // namespace syncopate::shim

using namespace syncopate;        // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::shim;  // NOLINT(google-build-using-namespace)

SYNCOPATE_EXPORT int sched_yield() noexcept {
  // Between two trylocks it is part of that wait.
  if (__builtin_expect(!record::enabled, 1) || record::trying_for != nullptr)
    return real::sched_yield();
  const void* const caller = __builtin_return_address(0);
  record::wait w =
      record::wait_begin(record::wait_kind::yield, place_of(caller), 0, {caller, true});
  const int result = real::sched_yield();
  record::wait_end_now(w);
  return result;
}
