// real.h -- the functions behind ours, found once, when first needed: the C library's own, or
// those of another library between it and us that stands in for them as well.
//
// dlvsym() does not allocate on its success path in the C libraries we load into. The version is
// named because dlsym() may answer with the oldest one of several; but a library that gives its
// names no versions is passed over then, so dlsym() is asked whether there is one.
//
// Memory order (each tag stands at its site below)
//   [F]  relaxed: the address of code, which is the same whoever looks it up.
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

#include <cstddef>

#include "preload/base/glibc_versions.h"

namespace syncopate::shim::real {

// X(result, name, version, parameters, arguments)
#define SYNCOPATE_REAL_FUNCTIONS(X)                                                                \
  X(int, pthread_mutex_init, SYNCOPATE_GLIBC_2_2_5,                                                \
    (pthread_mutex_t * m, const pthread_mutexattr_t* a), (m, a))                                   \
  X(int, pthread_mutex_destroy, SYNCOPATE_GLIBC_2_2_5, (pthread_mutex_t * m), (m))                 \
  X(int, pthread_mutex_lock, SYNCOPATE_GLIBC_2_2_5, (pthread_mutex_t * m), (m))                    \
  X(int, pthread_mutex_trylock, SYNCOPATE_GLIBC_2_2_5, (pthread_mutex_t * m), (m))                 \
  X(int, pthread_mutex_unlock, SYNCOPATE_GLIBC_2_2_5, (pthread_mutex_t * m), (m))                  \
  X(int, pthread_mutex_timedlock, SYNCOPATE_GLIBC_2_2_5, (pthread_mutex_t * m, const timespec* t), \
    (m, t))                                                                                        \
  X(int, pthread_mutex_clocklock, "GLIBC_2.30",                                                    \
    (pthread_mutex_t * m, clockid_t c, const timespec* t), (m, c, t))                              \
  X(int, pthread_cond_init, SYNCOPATE_GLIBC_2_3_2,                                                 \
    (pthread_cond_t * c, const pthread_condattr_t* a), (c, a))                                     \
  X(int, pthread_cond_destroy, SYNCOPATE_GLIBC_2_3_2, (pthread_cond_t * c), (c))                   \
  X(int, pthread_cond_wait, SYNCOPATE_GLIBC_2_3_2, (pthread_cond_t * c, pthread_mutex_t * m),      \
    (c, m))                                                                                        \
  X(int, pthread_cond_timedwait, SYNCOPATE_GLIBC_2_3_2,                                            \
    (pthread_cond_t * c, pthread_mutex_t * m, const timespec* t), (c, m, t))                       \
  X(int, pthread_cond_clockwait, "GLIBC_2.30",                                                     \
    (pthread_cond_t * c, pthread_mutex_t * m, clockid_t k, const timespec* t), (c, m, k, t))       \
  X(int, pthread_cond_signal, SYNCOPATE_GLIBC_2_3_2, (pthread_cond_t * c), (c))                    \
  X(int, pthread_cond_broadcast, SYNCOPATE_GLIBC_2_3_2, (pthread_cond_t * c), (c))                 \
  X(int, pthread_rwlock_init, SYNCOPATE_GLIBC_2_2_5,                                               \
    (pthread_rwlock_t * l, const pthread_rwlockattr_t* a), (l, a))                                 \
  X(int, pthread_rwlock_destroy, SYNCOPATE_GLIBC_2_2_5, (pthread_rwlock_t * l), (l))               \
  X(int, pthread_rwlock_rdlock, SYNCOPATE_GLIBC_2_2_5, (pthread_rwlock_t * l), (l))                \
  X(int, pthread_rwlock_tryrdlock, SYNCOPATE_GLIBC_2_2_5, (pthread_rwlock_t * l), (l))             \
  X(int, pthread_rwlock_timedrdlock, SYNCOPATE_GLIBC_2_2_5,                                        \
    (pthread_rwlock_t * l, const timespec* t), (l, t))                                             \
  X(int, pthread_rwlock_clockrdlock, "GLIBC_2.30",                                                 \
    (pthread_rwlock_t * l, clockid_t k, const timespec* t), (l, k, t))                             \
  X(int, pthread_rwlock_wrlock, SYNCOPATE_GLIBC_2_2_5, (pthread_rwlock_t * l), (l))                \
  X(int, pthread_rwlock_trywrlock, SYNCOPATE_GLIBC_2_2_5, (pthread_rwlock_t * l), (l))             \
  X(int, pthread_rwlock_timedwrlock, SYNCOPATE_GLIBC_2_2_5,                                        \
    (pthread_rwlock_t * l, const timespec* t), (l, t))                                             \
  X(int, pthread_rwlock_clockwrlock, "GLIBC_2.30",                                                 \
    (pthread_rwlock_t * l, clockid_t k, const timespec* t), (l, k, t))                             \
  X(int, pthread_rwlock_unlock, SYNCOPATE_GLIBC_2_2_5, (pthread_rwlock_t * l), (l))                \
  X(int, pthread_barrier_init, SYNCOPATE_GLIBC_2_2_5,                                              \
    (pthread_barrier_t * b, const pthread_barrierattr_t* a, unsigned n), (b, a, n))                \
  X(int, pthread_barrier_destroy, SYNCOPATE_GLIBC_2_2_5, (pthread_barrier_t * b), (b))             \
  X(int, pthread_barrier_wait, SYNCOPATE_GLIBC_2_2_5, (pthread_barrier_t * b), (b))                \
  X(int, pthread_create, SYNCOPATE_GLIBC_2_2_5,                                                    \
    (pthread_t * t, const pthread_attr_t* a, void* (*f)(void*), void* p), (t, a, f, p))            \
  X(int, thrd_create, "GLIBC_2.28", (thrd_t * t, thrd_start_t f, void* p), (t, f, p))              \
  X(int, pthread_join, SYNCOPATE_GLIBC_2_2_5, (pthread_t t, void** v), (t, v))                     \
  X(int, pthread_timedjoin_np, SYNCOPATE_GLIBC_2_3_3, (pthread_t t, void** v, const timespec* a),  \
    (t, v, a))                                                                                     \
  X(int, pthread_clockjoin_np, "GLIBC_2.31",                                                       \
    (pthread_t t, void** v, clockid_t c, const timespec* a), (t, v, c, a))                         \
  X(int, thrd_join, "GLIBC_2.28", (thrd_t t, int* v), (t, v))                                      \
  X(int, dlclose, SYNCOPATE_GLIBC_2_2_5, (void* handle), (handle))                                 \
  X(void, _exit, SYNCOPATE_GLIBC_2_2_5, (int status), (status))                                    \
  X(void, _Exit, SYNCOPATE_GLIBC_2_2_5, (int status), (status))                                    \
  X(int, execve, SYNCOPATE_GLIBC_2_2_5, (const char* p, char* const* w, char* const* e),           \
    (p, w, e))                                                                                     \
  X(int, execv, SYNCOPATE_GLIBC_2_2_5, (const char* p, char* const* w), (p, w))                    \
  X(int, execvp, SYNCOPATE_GLIBC_2_2_5, (const char* p, char* const* w), (p, w))                   \
  X(int, execvpe, SYNCOPATE_GLIBC_2_11, (const char* p, char* const* w, char* const* e),           \
    (p, w, e))                                                                                     \
  X(int, fexecve, SYNCOPATE_GLIBC_2_2_5, (int f, char* const* w, char* const* e), (f, w, e))       \
  X(int, execveat, "GLIBC_2.34",                                                                   \
    (int d, const char* p, char* const* w, char* const* e, int flags), (d, p, w, e, flags))        \
  X(int, sched_yield, SYNCOPATE_GLIBC_2_2_5, (), ())                                               \
  X(int, sem_init, SYNCOPATE_GLIBC_2_2_5, (sem_t * s, int shared, unsigned n), (s, shared, n))     \
  X(int, sem_destroy, SYNCOPATE_GLIBC_2_2_5, (sem_t * s), (s))                                     \
  X(int, sem_wait, SYNCOPATE_GLIBC_2_2_5, (sem_t * s), (s))                                        \
  X(int, sem_timedwait, SYNCOPATE_GLIBC_2_2_5, (sem_t * s, const timespec* t), (s, t))             \
  X(int, sem_clockwait, "GLIBC_2.30", (sem_t * s, clockid_t c, const timespec* t), (s, c, t))      \
  X(int, sem_trywait, SYNCOPATE_GLIBC_2_2_5, (sem_t * s), (s))                                     \
  X(int, sem_post, SYNCOPATE_GLIBC_2_2_5, (sem_t * s), (s))                                        \
  X(int, mtx_init, "GLIBC_2.28", (mtx_t * m, int type), (m, type))                                 \
  X(int, pthread_spin_init, SYNCOPATE_GLIBC_2_2_5, (pthread_spinlock_t * l, int shared),           \
    (l, shared))                                                                                   \
  X(int, pthread_spin_destroy, SYNCOPATE_GLIBC_2_2_5, (pthread_spinlock_t * l), (l))               \
  X(int, pthread_spin_lock, SYNCOPATE_GLIBC_2_2_5, (pthread_spinlock_t * l), (l))                  \
  X(int, pthread_spin_trylock, SYNCOPATE_GLIBC_2_2_5, (pthread_spinlock_t * l), (l))               \
  X(int, pthread_spin_unlock, SYNCOPATE_GLIBC_2_2_5, (pthread_spinlock_t * l), (l))                \
  X(int, mtx_lock, "GLIBC_2.28", (mtx_t * m), (m))                                                 \
  X(int, mtx_trylock, "GLIBC_2.28", (mtx_t * m), (m))                                              \
  X(int, mtx_timedlock, "GLIBC_2.28", (mtx_t * m, const timespec* t), (m, t))                      \
  X(int, mtx_unlock, "GLIBC_2.28", (mtx_t * m), (m))                                               \
  X(int, cnd_init, "GLIBC_2.28", (cnd_t * c), (c))                                                 \
  X(int, cnd_wait, "GLIBC_2.28", (cnd_t * c, mtx_t * m), (c, m))                                   \
  X(int, cnd_timedwait, "GLIBC_2.28", (cnd_t * c, mtx_t * m, const timespec* t), (c, m, t))        \
  X(int, cnd_signal, "GLIBC_2.28", (cnd_t * c), (c))                                               \
  X(int, cnd_broadcast, "GLIBC_2.28", (cnd_t * c), (c))                                            \
  X(void, mtx_destroy, "GLIBC_2.28", (mtx_t * m), (m))                                             \
  X(void, cnd_destroy, "GLIBC_2.28", (cnd_t * c), (c))                                             \
  X(long, syscall, SYNCOPATE_GLIBC_2_2_5,                                                          \
    (long n, long a, long b, long c, long d, long e, long f), (n, a, b, c, d, e, f))

#define SYNCOPATE_DECLARE_REAL(result, name, version, parameters, arguments) \
  result name parameters noexcept;
SYNCOPATE_REAL_FUNCTIONS(SYNCOPATE_DECLARE_REAL)
#undef SYNCOPATE_DECLARE_REAL

// With an open list of arguments: of `words`, that many, whatever of them are null pointers.
inline constexpr std::size_t padded = 32;
int execl(const char* path, const char* const* words) noexcept;
int execlp(const char* file, const char* const* words) noexcept;
int execle(const char* path, const char* const* words) noexcept;

}  // namespace syncopate::shim::real
