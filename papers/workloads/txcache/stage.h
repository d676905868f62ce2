// stage.h -- what each stage of txcache makes of a critical section, of a watched variable, of a
// reference count, of a library call and of waking a thread. One source, one number:
//
//   TXCACHE_STAGE   a section is     watched, counts    memcmp ...   sem_post, logging
//   locks           under a mutex    std::atomic        libc's       at once; condition variables
//   semaphores      under a mutex    std::atomic        libc's       at once
//   relaxed         relaxed          std::atomic        libc's       at once
//   callable        + functions are transaction_callable
//   max             relaxed          transactions       libc's       at once
//   lib             relaxed          transactions       tm_NAME      at once
//   on_commit       atomic           transactions       tm_NAME      when it has committed
//
// TXCACHE_ITEM_TRANSACTIONS (from `relaxed` on) chooses the branch. 0, "ip": an item lock is a word
// that small transactions take and give back, and what it protects is accessed plainly between
// them (privatization). 1, "it": a section under an item lock is a transaction.
//
// Source   Ruan, Vyas, Liu & Spear, "Transactionalizing legacy code", ASPLOS 2014, section 3.
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include <cassert>
#include <cstdint>
#include <cstdio>

#define TXCACHE_LOCKS 0
#define TXCACHE_SEMAPHORES 1
#define TXCACHE_RELAXED 2
#define TXCACHE_CALLABLE 3
#define TXCACHE_MAX 4
#define TXCACHE_LIB 5
#define TXCACHE_ON_COMMIT 6

#if TXCACHE_STAGE >= TXCACHE_RELAXED
#include <syncopate/tm/libc.h>
#include <syncopate/tm/transaction.h>
#endif
#if TXCACHE_STAGE < TXCACHE_MAX
#include <atomic>
#endif

namespace workloads::txcache {

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// ---- locks and sections -----------------------------------------------------------------------

// Plain, so that trying to lock it twice is defined: it fails.
class mutex {
 public:
  void lock() { pthread_mutex_lock(&mutex_); }
  bool try_lock() { return pthread_mutex_trylock(&mutex_) == 0; }
  void unlock() { pthread_mutex_unlock(&mutex_); }
  pthread_mutex_t* native() { return &mutex_; }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

class mutex_held {
 public:
  explicit mutex_held(mutex& m) : mutex_(m) { m.lock(); }
  ~mutex_held() { mutex_.unlock(); }
  mutex_held(const mutex_held&) = delete;
  mutex_held& operator=(const mutex_held&) = delete;

 private:
  mutex& mutex_;
};

// CRITICAL_SECTION(lock) { ... }: no return, break or goto out of it; results leave it in variables
// that it sets itself, since a transaction may run it again from its start. No section stands in
// the braces of another one: call a function that has it (CMakeLists.txt, -fno-inline, says why).
#if TXCACHE_STAGE == TXCACHE_ON_COMMIT
#define CRITICAL_SECTION(LOCK) __transaction_atomic
#define SECTION_FUNCTION __attribute__((transaction_safe))
#elif TXCACHE_STAGE >= TXCACHE_RELAXED
#define CRITICAL_SECTION(LOCK) __transaction_relaxed
#if TXCACHE_STAGE >= TXCACHE_CALLABLE
#define SECTION_FUNCTION __attribute__((transaction_callable))
#endif
#else
#define CRITICAL_SECTION(LOCK) if (const workloads::txcache::mutex_held held_here(LOCK); true)
#endif
// Stands before functions that sections call and other files define.
#ifndef SECTION_FUNCTION
#define SECTION_FUNCTION
#endif

// ---- watched variables and reference counts ---------------------------------------------------

// A watched variable is read outside of the lock that its writers hold (the original's volatiles).
#if TXCACHE_STAGE >= TXCACHE_MAX
using watched = u64;
using reference_count = u64;
SECTION_FUNCTION inline u64 read(const u64& variable) {
  u64 value;
  __transaction_atomic { value = variable; }
  return value;
}
SECTION_FUNCTION inline void write(u64& variable, u64 value) {
  __transaction_atomic { variable = value; }
}
SECTION_FUNCTION inline u64 add(u64& variable, u64 amount) {
  u64 value;
  __transaction_atomic { value = variable += amount; }
  return value;
}
#else
using watched = std::atomic<u64>;
using reference_count = std::atomic<u64>;
// Sequentially consistent, as the x86 instructions of the original are.
inline u64 read(const std::atomic<u64>& variable) {
  return variable.load(std::memory_order_seq_cst);
}
inline void write(std::atomic<u64>& variable, u64 value) {
  variable.store(value, std::memory_order_seq_cst);
}
// Returns the sum.
inline u64 add(std::atomic<u64>& variable, u64 amount) {
  return variable.fetch_add(amount, std::memory_order_seq_cst) + amount;
}
#endif

// ---- the C library ----------------------------------------------------------------------------

// LIBRARY(memcmp)(a, b, n). memcpy and memset need none: the compiler knows them.
#if TXCACHE_STAGE >= TXCACHE_LIB
#define LIBRARY(NAME) tm_##NAME
#define SECTION_ASSERT(CONDITION) tm_assert(CONDITION)
#else
#define LIBRARY(NAME) NAME
#define SECTION_ASSERT(CONDITION) assert(CONDITION)
#endif

// ---- waking and logging -----------------------------------------------------------------------

// What a maintenance thread waits for. `requested` and `stopping` are protected by the lock that
// await() is given; whoever sets one of them calls wake() in the same section.
struct wakeup {
  bool requested = false, stopping = false;
#if TXCACHE_STAGE == TXCACHE_LOCKS
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
#else
  sem_t semaphore;
  wakeup() { sem_init(&semaphore, 0, 0); }
#endif
};

#if TXCACHE_STAGE == TXCACHE_LOCKS
inline void wake(wakeup& w) { pthread_cond_signal(&w.condition); }
inline void await(wakeup& w, mutex& lock) {
  const mutex_held held(lock);
  while (!w.requested && !w.stopping) pthread_cond_wait(&w.condition, lock.native());
}
#else
#if TXCACHE_STAGE == TXCACHE_ON_COMMIT
SECTION_FUNCTION inline void wake(wakeup& w) { syncopate_tm_sem_post(&w.semaphore); }
#else
inline void wake(wakeup& w) { sem_post(&w.semaphore); }
#endif
inline void await(wakeup& w, mutex&) {
  while (sem_wait(&w.semaphore) != 0) {
  }
}
#endif

// What --verbose tells, on standard error.
enum class event : u8 { table_grows, table_has_grown, page_moved, page_stays, no_memory };
extern bool verbose;             // set before threads start
void print_event(void* packed);  // state.cpp: the event in the lowest byte, a number above

SECTION_FUNCTION inline void log_event(event what, u64 number) {
  if (!verbose) return;
  void* const packed = reinterpret_cast<void*>(number << 8 | static_cast<u64>(what));
#if TXCACHE_STAGE == TXCACHE_ON_COMMIT
  syncopate_tm_on_commit(print_event, packed);
#else
  print_event(packed);
#endif
}

}  // namespace workloads::txcache
