// objects.h -- the pthread objects of instrumented programs: the seam between pthread's names
// and what stands behind them.
//
// The names (abi_*.cpp, c11.cpp) check arguments that POSIX says are checked, pass calls of the
// machine itself on to the C library, and call the functions below. There are two implementations;
// a machine's library is linked with one of them:
//   algorithm/   the project's own locks, compiled with -fsanitize=thread, so that the machine sees
//                every access they make: what a program costs (simulated, emulated)
//   model/       the least state that is right, in few engine calls: each is a branching point of
//   an
//                exploration (explored). Misuse ends the run with a message.
// The state lies inside the program's own objects; all-zero bytes are a free object.
//
// `where` is the return address of the program's call. Results are pthread's errno values.
// Nothing here is process-shared or priority-inheriting in effect: a modeled program is one
// process, and machines have no priorities. Such objects work as plain ones.
#pragma once

#include <syncopate/machine/types.h>

#include <cstdint>

#include <pthread.h>
#include <semaphore.h>

#include "model/front/engine.h"
#include "posix/rwlock.h"

namespace syncopate::instrument::objects {

using engine::place;
using posix::limit;
using posix::side;

// Of a mutex's kind, as in glibc: beside its type.
constexpr int robust_kind = 16;

// Limits are valid but for mutexes, where an invalid one matters only if the call would block.
int mutex_lock(pthread_mutex_t&, limit, place where);
int mutex_trylock(pthread_mutex_t&, place where);
int mutex_unlock(pthread_mutex_t&, place where);
int mutex_destroy(pthread_mutex_t&, place where);
int mutex_consistent(pthread_mutex_t&, place where);
// The calling thread ends: robust mutexes that it holds are left behind. No thread runs any more.
void thread_ends(place where);
// The process ends: those that any thread holds are, for other processes.
void process_ends(place where);
void forget_threads();

// The mutex is held again when it returns, and when a cancellation (cancel.h) leaves it.
int condition_wait(pthread_cond_t&, pthread_mutex_t&, limit, place where);
void condition_signal(pthread_cond_t&, place where);
void condition_broadcast(pthread_cond_t&, place where);
void condition_destroy(pthread_cond_t&, place where);

int rwlock_lock(pthread_rwlock_t&, side, limit, place where);
int rwlock_trylock(pthread_rwlock_t&, side, place where);
int rwlock_unlock(pthread_rwlock_t&, place where);
int rwlock_destroy(pthread_rwlock_t&, place where);

// `count` threads; the caller has checked that it is not 0.
void barrier_init(pthread_barrier_t&, unsigned count, place where);
int barrier_wait(pthread_barrier_t&, place where);
int barrier_destroy(pthread_barrier_t&, place where);

void spin_init(pthread_spinlock_t&, place where);
int spin_lock(pthread_spinlock_t&, place where);
int spin_trylock(pthread_spinlock_t&, place where);
int spin_unlock(pthread_spinlock_t&, place where);
int spin_destroy(pthread_spinlock_t&, place where);

// 0 or the errno that the caller has to set.
void semaphore_init(sem_t&, unsigned value, place where);
void semaphore_destroy(sem_t&, place where);
int semaphore_wait(sem_t&, limit, place where);
int semaphore_trywait(sem_t&, place where);
int semaphore_post(sem_t&, place where);
int semaphore_value(sem_t&, place where);

// A word that threads wait for: posix::awaited_word (posix/once.h).
struct awaited_word {
  std::uint32_t& word;
  place where;
};
std::uint32_t await_change(awaited_word, std::uint32_t value);
std::uint32_t await_change(awaited_word, std::uint32_t value, limit until);
bool replace(awaited_word, std::uint32_t expected, std::uint32_t desired);
void publish(awaited_word, std::uint32_t value);

// An object begins: the program has called its init function, which writes all of it. `what` says
// what it is. In the model, a second beginning without an end is misuse.
void begin(void* object, std::size_t bytes, const char* what, place where);

// pthread_join or _detach of a thread that is not there to be joined any more: returns where that
// is an error, misuse in the model. `what` is the sentence.
void not_joinable(const char* what, place where);

}  // namespace syncopate::instrument::objects
