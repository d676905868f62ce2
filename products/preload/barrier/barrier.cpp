// barrier.cpp -- pthread_barrier_*: what posix/barrier.h says, by glibc's barriers, unless a policy
// wants another waiting (chosen_barrier.h); waits are recorded.

#include <pthread.h>

#include "posix/barrier.h"
#include "preload/base/export.h"
#include "preload/base/real.h"
#include "preload/choice/chosen_barrier.h"
#include "preload/choice/policy.h"
#include "preload/config.h"
#include "record/recorder.h"

namespace syncopate::shim {
namespace {

using record::object_kind;

// The one that a policy has chosen, or the C library's.
class program_barrier {
 public:
  explicit program_barrier(pthread_barrier_t* b)
      : barrier_(b), chosen_(has_policy ? chosen_barrier_of(b) : nullptr) {}

  [[nodiscard]] const void* address() const { return barrier_; }

  static bool is_destroyed() { return false; }
  static void mark_destroyed() {}
  bool arrive_and_wait() {
    return chosen_ != nullptr
               ? shim::arrive_and_wait(*chosen_)
               : real::pthread_barrier_wait(barrier_) == PTHREAD_BARRIER_SERIAL_THREAD;
  }
  void leave() {
    if (chosen_ != nullptr) shim::leave(*chosen_);
  }
  void await_departures() {
    if (chosen_ != nullptr) destroy_chosen(barrier_);
    real::pthread_barrier_destroy(barrier_);
  }

 private:
  pthread_barrier_t* barrier_;
  chosen_barrier* chosen_;
};

// Asks whether anything is recorded: a barrier is waited at for long enough.
struct barrier_recorder : posix::nobody_watches_barrier {
  explicit barrier_recorder(const void* c) : caller(c) {}
  bool arrive_and_wait(program_barrier& b) const {
    if (!record::enabled) return b.arrive_and_wait();
    record::wait w = record::wait_begin(
        record::wait_kind::barrier, record::identify(object_kind::barrier, 0, b.address(), nullptr),
        0, {caller, false});
    const bool last = b.arrive_and_wait();
    record::wait_end_now(w);
    return last;
  }
  static void about_to_destroy(program_barrier& b) {
    if (record::enabled) record::object_destroyed(object_kind::barrier, b.address(), nullptr, 0);
  }
  const void* caller;  // where the program's call returns to
};

}  // namespace
}  // namespace syncopate::shim

using namespace syncopate;        // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::shim;  // NOLINT(google-build-using-namespace)

SYNCOPATE_EXPORT int pthread_barrier_init(pthread_barrier_t* b,
                                          const pthread_barrierattr_t* attributes, unsigned count) {
  ensure_configured();
  const int result = real::pthread_barrier_init(b, attributes, count);
  if (result == 0 && has_policy) {
    const decision chosen = choose_at_init(chooser::barrier, b, __builtin_return_address(0));
    const unsigned wait = chosen.setting >> barrier_wait_shift & barrier_wait_mask;
    choose_barrier(b, count, wait);
    if (wait != 0) chosen.taken();
  }
  if (result == 0 && record::enabled)
    record::object_created(object_kind::barrier, 0, b, nullptr, __builtin_return_address(0));
  return result;
}

SYNCOPATE_EXPORT int pthread_barrier_wait(pthread_barrier_t* b) {
  return posix::wait_barrier(program_barrier(b), barrier_recorder(__builtin_return_address(0)));
}

SYNCOPATE_EXPORT int pthread_barrier_destroy(pthread_barrier_t* b) {
  return posix::destroy_barrier(program_barrier(b), barrier_recorder(nullptr));
}

SYNCOPATE_ALSO_OLDER(pthread_barrier_destroy, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_OLDER(pthread_barrier_init, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_OLDER(pthread_barrier_wait, SYNCOPATE_GLIBC_2_2_5)
