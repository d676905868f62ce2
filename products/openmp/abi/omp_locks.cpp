// omp_locks.cpp -- omp_*_lock and omp_*_nest_lock, under the names of C, Fortran and libomp's
// own compilers. All names for a lock are taken over together: an object is only ever touched by
// one implementation.
//
// libgomp takes zeroed memory for a lock, and so do we for both; both let any thread release it.

#include "openmp/base/export.h"
#include "openmp/config.h"
#include "openmp/locks/locks.h"
#include "openmp/locks/nest_lock.h"
#include "openmp/locks/program_locks.h"
#include "openmp/locks/runtime_lock.h"
#include "openmp/runtime/caller.h"
#include "openmp/runtime/passed_on.h"
#include "openmp/teams/recorded_tasks.h"

using namespace syncopate::openmp;  // NOLINT(google-build-using-namespace): this file is the ABI

namespace {

std::uint32_t* word(void* lock) { return static_cast<std::uint32_t*>(lock); }

// What is there may be anything: an entry of an earlier life is not given back.
bool init(void* lock) {
  if (!locks_are_ours()) return false;
  *word(lock) = 0;
  return true;
}
bool destroy(void* lock) {
  if (!locks_are_ours()) return false;
  if (!fits_word(*config.lock)) release_entry(word(lock));
  return true;
}

// Where a nest lock stays the runtime's: its functions; null if it is ours. It is where the runtime
// meant tells the owners of its own, unless another one was asked for that lock before.
const entry_points* nested(const void* lock, const binding& b) {
  const bool can_be_ours = locks_are_ours() && b.to->nest_locks;
  if (can_be_ours && (!are_several() || noted_for(lock) == nullptr)) return nullptr;
  return &asked_before(lock, b);
}
const entry_points* init_nested(void* lock, const binding& b) {
  if (!locks_are_ours() || !b.to->nest_locks) return &asked_now(lock, b);
  forget(lock);
  *word(lock) = 0;
  return nullptr;
}

}  // namespace

// Nest locks have two versions (exports.map). ld gives a name its version by the map only where no
// other version of it is defined: so the functions have names of their own, and both by .symver.
#define SYNCOPATE_VERSIONED(result, name)                                                    \
  extern "C" result name(void*) __asm__("syncopate_" #name);                                 \
  __asm__(".globl syncopate_llvm_" #name "\n.set syncopate_llvm_" #name ", syncopate_" #name \
          "\n.symver syncopate_" #name ", " #name                                            \
          "@@OMP_3.0, remove"                                                                \
          "\n.symver syncopate_llvm_" #name ", " #name "@VERSION, remove");
#define SYNCOPATE_VERSIONED_NEST_LOCKS(suffix)             \
  SYNCOPATE_VERSIONED(void, omp_init_nest_lock##suffix)    \
  SYNCOPATE_VERSIONED(void, omp_destroy_nest_lock##suffix) \
  SYNCOPATE_VERSIONED(void, omp_set_nest_lock##suffix)     \
  SYNCOPATE_VERSIONED(void, omp_unset_nest_lock##suffix)   \
  SYNCOPATE_VERSIONED(int, omp_test_nest_lock##suffix)
SYNCOPATE_VERSIONED_NEST_LOCKS()
SYNCOPATE_VERSIONED_NEST_LOCKS(_)

#define SYNCOPATE_OMP_LOCKS(suffix)                                                                \
  SYNCOPATE_OPENMP_EXPORT void omp_init_lock##suffix(void* lock) {                                 \
    if (!init(lock)) asked_now(lock, SYNCOPATE_CALLER(omp)).omp_init_lock##suffix(lock);           \
  }                                                                                                \
  SYNCOPATE_OPENMP_EXPORT void omp_destroy_lock##suffix(void* lock) {                              \
    if (!destroy(lock)) asked_before(lock, SYNCOPATE_CALLER(omp)).omp_destroy_lock##suffix(lock);  \
  }                                                                                                \
  SYNCOPATE_OPENMP_EXPORT void omp_set_lock##suffix(void* lock) {                                  \
    if (take(lock)) return;                                                                        \
    const entry_points& real = asked_before(lock, SYNCOPATE_CALLER(omp));                          \
    if (!is_recording()) return real.omp_set_lock##suffix(lock);                                   \
    const runtime_lock recorded(lock);                                                             \
    real.omp_set_lock##suffix(lock);                                                               \
  }                                                                                                \
  SYNCOPATE_OPENMP_EXPORT void omp_unset_lock##suffix(void* lock) {                                \
    if (!release(lock)) asked_before(lock, SYNCOPATE_CALLER(omp)).omp_unset_lock##suffix(lock);    \
  }                                                                                                \
  SYNCOPATE_OPENMP_EXPORT int omp_test_lock##suffix(void* lock) {                                  \
    if (locks_are_ours()) return try_lock_word(lock) ? 1 : 0;                                      \
    return asked_before(lock, SYNCOPATE_CALLER(omp)).omp_test_lock##suffix(lock);                  \
  }                                                                                                \
  SYNCOPATE_OPENMP_EXPORT void omp_init_nest_lock##suffix(void* lock) {                            \
    if (auto* real = init_nested(lock, SYNCOPATE_CALLER(omp)))                                     \
      real->omp_init_nest_lock##suffix(lock);                                                      \
  }                                                                                                \
  SYNCOPATE_OPENMP_EXPORT void omp_destroy_nest_lock##suffix(void* lock) {                         \
    if (auto* real = nested(lock, SYNCOPATE_CALLER(omp)))                                          \
      real->omp_destroy_nest_lock##suffix(lock);                                                   \
    else release_entry(word(lock));                                                                \
  }                                                                                                \
  SYNCOPATE_OPENMP_EXPORT void omp_set_nest_lock##suffix(void* lock) {                             \
    const binding& b = SYNCOPATE_CALLER(omp);                                                      \
    if (auto* real = nested(lock, b)) {                                                            \
      if (!is_recording()) return real->omp_set_nest_lock##suffix(lock);                           \
      const runtime_lock recorded(lock);                                                           \
      return real->omp_set_nest_lock##suffix(lock);                                                \
    }                                                                                              \
    nest_lock(*b.to, lock);                                                                        \
  }                                                                                                \
  SYNCOPATE_OPENMP_EXPORT void omp_unset_nest_lock##suffix(void* lock) {                           \
    if (auto* real = nested(lock, SYNCOPATE_CALLER(omp))) real->omp_unset_nest_lock##suffix(lock); \
    else nest_unlock(lock);                                                                        \
  }                                                                                                \
  SYNCOPATE_OPENMP_EXPORT int omp_test_nest_lock##suffix(void* lock) {                             \
    const binding& b = SYNCOPATE_CALLER(omp);                                                      \
    if (auto* real = nested(lock, b)) return real->omp_test_nest_lock##suffix(lock);               \
    return nest_try_lock(*b.to, lock);                                                             \
  }

SYNCOPATE_OMP_LOCKS()
SYNCOPATE_OMP_LOCKS(_)

// Hints say how a lock is going to be used; the user has chosen one for all.
#define SYNCOPATE_OMP_HINTS(suffix, type)                                                    \
  SYNCOPATE_OPENMP_EXPORT void omp_init_lock_with_hint##suffix(void* lock, type hint) {      \
    if (!init(lock))                                                                         \
      asked_now(lock, SYNCOPATE_CALLER(omp)).omp_init_lock_with_hint##suffix(lock, hint);    \
  }                                                                                          \
  SYNCOPATE_OPENMP_EXPORT void omp_init_nest_lock_with_hint##suffix(void* lock, type hint) { \
    if (auto* real = init_nested(lock, SYNCOPATE_CALLER(omp)))                               \
      real->omp_init_nest_lock_with_hint##suffix(lock, hint);                                \
  }

SYNCOPATE_OMP_HINTS(, int)
SYNCOPATE_OMP_HINTS(_, int*)

// libomp's own names, of other compilers than clang.
#define SYNCOPATE_KMPC_LOCK(result, name, body)                                                    \
  SYNCOPATE_OPENMP_EXPORT result __kmpc_##name(void* location, std::int32_t thread, void** lock) { \
    const binding& b = SYNCOPATE_CALLER_WITH(kmpc, location);                                      \
    body                                                                                           \
  }
#define SYNCOPATE_ASKED_BEFORE(name) asked_before(lock, b).__kmpc_##name(location, thread, lock)

SYNCOPATE_KMPC_LOCK(void, init_lock,
                    if (!init(lock)) asked_now(lock, b).__kmpc_init_lock(location, thread, lock);)
SYNCOPATE_KMPC_LOCK(void, destroy_lock, if (!destroy(lock)) SYNCOPATE_ASKED_BEFORE(destroy_lock);)
SYNCOPATE_KMPC_LOCK(void, set_lock, if (take(lock)) return;
                    if (!is_recording()) return SYNCOPATE_ASKED_BEFORE(set_lock);
                    const runtime_lock recorded(lock); SYNCOPATE_ASKED_BEFORE(set_lock);)
SYNCOPATE_KMPC_LOCK(void, unset_lock, if (!release(lock)) SYNCOPATE_ASKED_BEFORE(unset_lock);)
SYNCOPATE_KMPC_LOCK(int, test_lock, if (locks_are_ours()) return try_lock_word(lock) ? 1 : 0;
                    return SYNCOPATE_ASKED_BEFORE(test_lock);)

#define SYNCOPATE_KMPC_NEST_LOCK(result, name, ours)                                        \
  SYNCOPATE_KMPC_LOCK(                                                                      \
      result, name,                                                                         \
      if (auto* real = nested(lock, b)) return real->__kmpc_##name(location, thread, lock); \
      return ours;)
SYNCOPATE_KMPC_NEST_LOCK(void, destroy_nest_lock, release_entry(word(lock)))
SYNCOPATE_KMPC_LOCK(
    void, set_nest_lock, if (auto* real = nested(lock, b)) {
      if (!is_recording()) return real->__kmpc_set_nest_lock(location, thread, lock);
      const runtime_lock recorded(lock);
      return real->__kmpc_set_nest_lock(location, thread, lock);
    } nest_lock(*b.to, lock);)
SYNCOPATE_KMPC_NEST_LOCK(void, unset_nest_lock, nest_unlock(lock))
SYNCOPATE_KMPC_NEST_LOCK(int, test_nest_lock, nest_try_lock(*b.to, lock))
SYNCOPATE_KMPC_LOCK(void, init_nest_lock,
                    if (auto* real = init_nested(lock, b))
                        real->__kmpc_init_nest_lock(location, thread, lock);)

SYNCOPATE_OPENMP_EXPORT void __kmpc_init_lock_with_hint(void* location, std::int32_t thread,
                                                        void** lock, std::uintptr_t hint) {
  const binding& b = SYNCOPATE_CALLER_WITH(kmpc, location);
  if (!init(lock)) asked_now(lock, b).__kmpc_init_lock_with_hint(location, thread, lock, hint);
}
SYNCOPATE_OPENMP_EXPORT void __kmpc_init_nest_lock_with_hint(void* location, std::int32_t thread,
                                                             void** lock, std::uintptr_t hint) {
  const binding& b = SYNCOPATE_CALLER_WITH(kmpc, location);
  if (auto* real = init_nested(lock, b))
    real->__kmpc_init_nest_lock_with_hint(location, thread, lock, hint);
}
