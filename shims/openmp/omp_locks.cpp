// omp_locks.cpp -- L4: omp_*_lock and omp_*_nest_lock, under the names of C, Fortran and libomp's
// own compilers. All names for a lock are taken over together: an object is only ever touched by
// one implementation.
//
// Both runtimes take zeroed memory for a lock, and let any thread release it.

#include <cstdlib>

#include "openmp/config.h"
#include "openmp/export.h"
#include "openmp/locks.h"
#include "openmp/nest_lock.h"
#include "openmp/word_lock.h"

using namespace syncopate::openmp;  // NOLINT(google-build-using-namespace): this file is the ABI

namespace {

// The runtime that a lock call from there is for, where it stays the runtime's; null if it is ours.
// Who has found our names without a runtime behind them has nobody to be passed on to.
const entry_points* plain(const binding& b) {
  if (b.to == nullptr) std::abort();
  return b.ours && config.lock != nullptr ? nullptr : &b.to->real;
}
const entry_points* nested(const binding& b) {
  if (b.to == nullptr) std::abort();
  return b.ours && config.lock != nullptr && b.to->nest_locks ? nullptr : &b.to->real;
}

std::uint32_t* word(void* lock) { return static_cast<std::uint32_t*>(lock); }

// What is there may be anything: an entry of an earlier life is not given back.
void init(void* lock) { *word(lock) = 0; }
void destroy(void* lock) {
  if (!config.lock->in_place) release_entry(word(lock));
}

}  // namespace

#define SYNCOPATE_OMP_LOCKS(suffix)                                                                \
  SYNCOPATE_OPENMP_EXPORT void omp_init_lock##suffix(void* lock) {                                 \
    if (auto* real = plain(SYNCOPATE_CALLER.omp)) return real->omp_init_lock##suffix(lock);        \
    init(lock);                                                                                    \
  }                                                                                                \
  SYNCOPATE_OPENMP_EXPORT void omp_destroy_lock##suffix(void* lock) {                              \
    if (auto* real = plain(SYNCOPATE_CALLER.omp)) return real->omp_destroy_lock##suffix(lock);     \
    destroy(lock);                                                                                 \
  }                                                                                                \
  SYNCOPATE_OPENMP_EXPORT void omp_set_lock##suffix(void* lock) {                                  \
    const binding& b = SYNCOPATE_CALLER.omp;                                                       \
    if (__builtin_expect(b.word_locks, 1)) return as_word_lock(lock).lock();                       \
    if (auto* real = plain(b)) return real->omp_set_lock##suffix(lock);                            \
    lock_word(lock);                                                                               \
  }                                                                                                \
  SYNCOPATE_OPENMP_EXPORT void omp_unset_lock##suffix(void* lock) {                                \
    const binding& b = SYNCOPATE_CALLER.omp;                                                       \
    if (__builtin_expect(b.word_locks, 1)) return as_word_lock(lock).unlock();                     \
    if (auto* real = plain(b)) return real->omp_unset_lock##suffix(lock);                          \
    unlock_word(lock);                                                                             \
  }                                                                                                \
  SYNCOPATE_OPENMP_EXPORT int omp_test_lock##suffix(void* lock) {                                  \
    if (auto* real = plain(SYNCOPATE_CALLER.omp)) return real->omp_test_lock##suffix(lock);        \
    return try_lock_word(lock) ? 1 : 0;                                                            \
  }                                                                                                \
  SYNCOPATE_OPENMP_EXPORT void omp_init_nest_lock##suffix(void* lock) {                            \
    if (auto* real = nested(SYNCOPATE_CALLER.omp)) return real->omp_init_nest_lock##suffix(lock);  \
    init(lock);                                                                                    \
  }                                                                                                \
  SYNCOPATE_OPENMP_EXPORT void omp_destroy_nest_lock##suffix(void* lock) {                         \
    if (auto* real = nested(SYNCOPATE_CALLER.omp))                                                 \
      return real->omp_destroy_nest_lock##suffix(lock);                                            \
    release_entry(word(lock));                                                                     \
  }                                                                                                \
  SYNCOPATE_OPENMP_EXPORT void omp_set_nest_lock##suffix(void* lock) {                             \
    const binding& b = SYNCOPATE_CALLER.omp;                                                       \
    if (auto* real = nested(b)) return real->omp_set_nest_lock##suffix(lock);                      \
    nest_lock(*b.to, lock);                                                                        \
  }                                                                                                \
  SYNCOPATE_OPENMP_EXPORT void omp_unset_nest_lock##suffix(void* lock) {                           \
    if (auto* real = nested(SYNCOPATE_CALLER.omp)) return real->omp_unset_nest_lock##suffix(lock); \
    nest_unlock(lock);                                                                             \
  }                                                                                                \
  SYNCOPATE_OPENMP_EXPORT int omp_test_nest_lock##suffix(void* lock) {                             \
    const binding& b = SYNCOPATE_CALLER.omp;                                                       \
    if (auto* real = nested(b)) return real->omp_test_nest_lock##suffix(lock);                     \
    return nest_try_lock(*b.to, lock);                                                             \
  }

SYNCOPATE_OMP_LOCKS()
SYNCOPATE_OMP_LOCKS(_)

// Hints say how a lock is going to be used; the user has chosen one for all.
SYNCOPATE_OPENMP_EXPORT void omp_init_lock_with_hint(void* lock, int hint) {
  if (auto* real = plain(SYNCOPATE_CALLER.omp)) return real->omp_init_lock_with_hint(lock, hint);
  init(lock);
}
SYNCOPATE_OPENMP_EXPORT void omp_init_lock_with_hint_(void* lock, int* hint) {
  if (auto* real = plain(SYNCOPATE_CALLER.omp)) return real->omp_init_lock_with_hint_(lock, hint);
  init(lock);
}
SYNCOPATE_OPENMP_EXPORT void omp_init_nest_lock_with_hint(void* lock, int hint) {
  if (auto* real = nested(SYNCOPATE_CALLER.omp))
    return real->omp_init_nest_lock_with_hint(lock, hint);
  init(lock);
}
SYNCOPATE_OPENMP_EXPORT void omp_init_nest_lock_with_hint_(void* lock, int* hint) {
  if (auto* real = nested(SYNCOPATE_CALLER.omp))
    return real->omp_init_nest_lock_with_hint_(lock, hint);
  init(lock);
}

// libomp's own names, of other compilers than clang.
#define SYNCOPATE_KMPC_LOCK(result, name, choose, action)                                          \
  SYNCOPATE_OPENMP_EXPORT result __kmpc_##name(void* location, std::int32_t thread, void** lock) { \
    const binding& b = SYNCOPATE_CALLER.kmpc;                                                      \
    if (auto* real = choose(b)) return real->__kmpc_##name(location, thread, lock);                \
    action;                                                                                        \
  }
SYNCOPATE_KMPC_LOCK(void, init_lock, plain, init(lock))
SYNCOPATE_KMPC_LOCK(void, destroy_lock, plain, destroy(lock))
SYNCOPATE_KMPC_LOCK(void, set_lock, plain, lock_word(lock))
SYNCOPATE_KMPC_LOCK(void, unset_lock, plain, unlock_word(lock))
SYNCOPATE_KMPC_LOCK(int, test_lock, plain, return try_lock_word(lock) ? 1 : 0)
SYNCOPATE_KMPC_LOCK(void, init_nest_lock, nested, init(lock))
SYNCOPATE_KMPC_LOCK(void, destroy_nest_lock, nested,
                    release_entry(reinterpret_cast<std::uint32_t*>(lock)))
SYNCOPATE_KMPC_LOCK(void, set_nest_lock, nested, nest_lock(*b.to, lock))
SYNCOPATE_KMPC_LOCK(void, unset_nest_lock, nested, nest_unlock(lock))
SYNCOPATE_KMPC_LOCK(int, test_nest_lock, nested, return nest_try_lock(*b.to, lock))

SYNCOPATE_OPENMP_EXPORT void __kmpc_init_lock_with_hint(void* location, std::int32_t thread,
                                                        void** lock, std::uintptr_t hint) {
  if (auto* real = plain(SYNCOPATE_CALLER.kmpc))
    return real->__kmpc_init_lock_with_hint(location, thread, lock, hint);
  init(lock);
}
SYNCOPATE_OPENMP_EXPORT void __kmpc_init_nest_lock_with_hint(void* location, std::int32_t thread,
                                                             void** lock, std::uintptr_t hint) {
  if (auto* real = nested(SYNCOPATE_CALLER.kmpc))
    return real->__kmpc_init_nest_lock_with_hint(location, thread, lock, hint);
  init(lock);
}

// libomp's version of the names that have one here (exports.map).
#define SYNCOPATE_ALSO_LLVM(name)             \
  asm(".globl syncopate_llvm_" #name          \
      "\n"                                    \
      ".set syncopate_llvm_" #name ", " #name \
      "\n"                                    \
      ".symver syncopate_llvm_" #name ", " #name "@VERSION, remove");
SYNCOPATE_ALSO_LLVM(omp_init_nest_lock)
SYNCOPATE_ALSO_LLVM(omp_destroy_nest_lock)
SYNCOPATE_ALSO_LLVM(omp_set_nest_lock)
SYNCOPATE_ALSO_LLVM(omp_unset_nest_lock)
SYNCOPATE_ALSO_LLVM(omp_test_nest_lock)
SYNCOPATE_ALSO_LLVM(omp_init_nest_lock_)
SYNCOPATE_ALSO_LLVM(omp_destroy_nest_lock_)
SYNCOPATE_ALSO_LLVM(omp_set_nest_lock_)
SYNCOPATE_ALSO_LLVM(omp_unset_nest_lock_)
SYNCOPATE_ALSO_LLVM(omp_test_nest_lock_)
