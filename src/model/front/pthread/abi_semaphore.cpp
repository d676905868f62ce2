// abi_semaphore.cpp -- the names sem_*. sem_open, sem_close and sem_unlink stay the C
// library's: what they return has our layout (semaphore_object.h).

#include <cerrno>

#include "model/front/pthread/objects.h"
#include "model/front/pthread/on_engine.h"
#include "model/front/pthread/real.h"
#include "posix/semaphore.h"

using namespace syncopate;  // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::instrument;  // NOLINT(google-build-using-namespace)

namespace {

int as_result(int error) {
  if (error == 0) return 0;
  errno = error;
  return -1;
}

}  // namespace

SYNCOPATE_EXPORT int sem_init(sem_t* s, int shared, unsigned value) {
  SYNCOPATE_UNLESS_PROGRAM(sem_init, s, shared, value);
  if (!posix::is_valid_value(value)) return as_result(EINVAL);
  objects::begin(s, sizeof *s, "semaphore", SYNCOPATE_CALLER);
  objects::semaphore_init(*s, value, SYNCOPATE_CALLER);
  return 0;
}

SYNCOPATE_EXPORT int sem_destroy(sem_t* s) {
  SYNCOPATE_UNLESS_PROGRAM(sem_destroy, s);
  objects::semaphore_destroy(*s, SYNCOPATE_CALLER);
  return 0;
}

SYNCOPATE_EXPORT int sem_wait(sem_t* s) {
  SYNCOPATE_UNLESS_PROGRAM(sem_wait, s);
  return as_result(objects::semaphore_wait(*s, nullptr, SYNCOPATE_CALLER));
}

SYNCOPATE_EXPORT int sem_trywait(sem_t* s) {
  SYNCOPATE_UNLESS_PROGRAM(sem_trywait, s);
  return as_result(objects::semaphore_trywait(*s, SYNCOPATE_CALLER));
}

namespace {

int wait_until(sem_t& s, clockid_t clock, const timespec& when, engine::place where) {
  const posix::early_limit until(clock, when);
  return as_result(until ? objects::semaphore_wait(s, until.get(), where) : EINVAL);
}

}  // namespace

SYNCOPATE_EXPORT int sem_timedwait(sem_t* s, const timespec* when) {
  SYNCOPATE_UNLESS_PROGRAM(sem_timedwait, s, when);
  return wait_until(*s, CLOCK_REALTIME, *when, SYNCOPATE_CALLER);
}

SYNCOPATE_EXPORT int sem_clockwait(sem_t* s, clockid_t clock, const timespec* when) {
  SYNCOPATE_UNLESS_PROGRAM(sem_clockwait, s, clock, when);
  return wait_until(*s, clock, *when, SYNCOPATE_CALLER);
}

SYNCOPATE_EXPORT int sem_post(sem_t* s) {
  SYNCOPATE_UNLESS_PROGRAM(sem_post, s);
  return as_result(objects::semaphore_post(*s, SYNCOPATE_CALLER));
}

SYNCOPATE_EXPORT int sem_getvalue(sem_t* s, int* value) {
  SYNCOPATE_UNLESS_PROGRAM(sem_getvalue, s, value);
  touch(value, sizeof *value, engine::kind::write, SYNCOPATE_CALLER);
  *value = objects::semaphore_value(*s, SYNCOPATE_CALLER);
  return 0;
}
