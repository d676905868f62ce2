// gomp.cpp -- L4: libgomp's barriers, work-sharing ends, critical sections and atomic fall-backs.
//
// Each entry point first asks what module calls it; a call that is not for a libgomp that we know
// goes to whatever the module would have called without us.

#include <syncopate/machine.h>

#include "openmp/config.h"
#include "openmp/export.h"
#include "openmp/locks.h"
#include "openmp/team.h"
#include "openmp/word_lock.h"

using namespace syncopate::openmp;  // NOLINT(google-build-using-namespace): this file is the ABI

namespace {

// The frame in which a barrier called from there is ours; null where it is the runtime's.
frame* frame_for(const module& caller) {
  return caller.gomp.ours && config.barrier != nullptr ? live_frame(caller.gomp.to) : nullptr;
}

void barrier(frame& f, const runtime& r, const void* caller) {
  if (!pass_barrier(f, caller)) return;
  f.in_runtime = true;
  r.real.GOMP_barrier();
  f.in_runtime = false;
}

bool locks_are_ours(const module& caller) { return caller.gomp.ours && config.lock != nullptr; }
bool are_word_locks(const module& caller) { return __builtin_expect(caller.gomp.word_locks, 1); }

// The unnamed critical section, and the lock of atomic operations without an instruction.
struct alignas(128) whole_lock {
  std::uint64_t object[8];
};
constinit whole_lock unnamed{}, atomics{};

}  // namespace

SYNCOPATE_OPENMP_EXPORT void GOMP_barrier() {
  const module& m = SYNCOPATE_CALLER;
  if (frame* const f = frame_for(m)) barrier(*f, *m.gomp.to, __builtin_return_address(0));
  else m.gomp.to->real.GOMP_barrier();
}

SYNCOPATE_OPENMP_EXPORT void GOMP_loop_end() {
  const module& m = SYNCOPATE_CALLER;
  frame* const f = frame_for(m);
  if (f == nullptr) return m.gomp.to->real.GOMP_loop_end();
  m.gomp.to->real.GOMP_loop_end_nowait();
  barrier(*f, *m.gomp.to, __builtin_return_address(0));
}

SYNCOPATE_OPENMP_EXPORT void GOMP_sections_end() {
  const module& m = SYNCOPATE_CALLER;
  frame* const f = frame_for(m);
  if (f == nullptr) return m.gomp.to->real.GOMP_sections_end();
  m.gomp.to->real.GOMP_sections_end_nowait();
  barrier(*f, *m.gomp.to, __builtin_return_address(0));
}

// Null for the thread that runs the block; for the others, once it has, what it copies to them.
// Another barrier follows in the program before the next block could overwrite that.
SYNCOPATE_OPENMP_EXPORT void* GOMP_single_copy_start() {
  const module& m = SYNCOPATE_CALLER;
  frame* const f = frame_for(m);
  if (f == nullptr) return m.gomp.to->real.GOMP_single_copy_start();
  if (m.gomp.to->real.GOMP_single_start()) return nullptr;
  barrier(*f, *m.gomp.to, __builtin_return_address(0));
  return f->in->copied;
}

SYNCOPATE_OPENMP_EXPORT void GOMP_single_copy_end(void* data) {
  const module& m = SYNCOPATE_CALLER;
  frame* const f = frame_for(m);
  if (f == nullptr) return m.gomp.to->real.GOMP_single_copy_end(data);
  f->in->copied = data;
  barrier(*f, *m.gomp.to, __builtin_return_address(0));
}

SYNCOPATE_OPENMP_EXPORT void GOMP_critical_start() {
  const module& m = SYNCOPATE_CALLER;
  if (are_word_locks(m)) as_word_lock(&unnamed).lock();
  else if (locks_are_ours(m)) lock_object_at(&unnamed, &unnamed);
  else m.gomp.to->real.GOMP_critical_start();
}

SYNCOPATE_OPENMP_EXPORT void GOMP_critical_end() {
  const module& m = SYNCOPATE_CALLER;
  if (are_word_locks(m)) as_word_lock(&unnamed).unlock();
  else if (locks_are_ours(m)) unlock_object_at(&unnamed, &unnamed);
  else m.gomp.to->real.GOMP_critical_end();
}

// `name`: 8 zeroed bytes of the program's.
SYNCOPATE_OPENMP_EXPORT void GOMP_critical_name_start(void** name) {
  const module& m = SYNCOPATE_CALLER;
  if (are_word_locks(m)) as_word_lock(name).lock();
  else if (locks_are_ours(m)) lock_word(name);
  else m.gomp.to->real.GOMP_critical_name_start(name);
}

SYNCOPATE_OPENMP_EXPORT void GOMP_critical_name_end(void** name) {
  const module& m = SYNCOPATE_CALLER;
  if (are_word_locks(m)) as_word_lock(name).unlock();
  else if (locks_are_ours(m)) unlock_word(name);
  else m.gomp.to->real.GOMP_critical_name_end(name);
}

SYNCOPATE_OPENMP_EXPORT void GOMP_atomic_start() {
  const module& m = SYNCOPATE_CALLER;
  if (are_word_locks(m)) as_word_lock(&atomics).lock();
  else if (locks_are_ours(m)) lock_object_at(&atomics, &atomics);
  else m.gomp.to->real.GOMP_atomic_start();
}

SYNCOPATE_OPENMP_EXPORT void GOMP_atomic_end() {
  const module& m = SYNCOPATE_CALLER;
  if (are_word_locks(m)) as_word_lock(&atomics).unlock();
  else if (locks_are_ours(m)) unlock_object_at(&atomics, &atomics);
  else m.gomp.to->real.GOMP_atomic_end();
}
