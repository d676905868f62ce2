// check.h -- what the programs of this folder share.
#pragma once

#include <syncopate/machine.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <sched.h>

#define CHECK(condition)                                                           \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::_Exit(1);                                                               \
    }                                                                              \
  } while (false)

// clang's no_sanitize("thread") leaves atomic operations instrumented.
#if defined(__clang__)
#define NOT_INSTRUMENTED __attribute__((disable_sanitizer_instrumentation))
#else
#define NOT_INSTRUMENTED __attribute__((no_sanitize("thread")))
#endif

namespace htm = syncopate::machine::htm;

// Runs work() in a transaction. Returns: how that ended; cause::started when it committed.
template <class Work>
htm::status attempt(Work work, htm::mode mode = htm::mode::normal) {
  const htm::status status = htm::begin(mode);
  if (!status.started()) return status;
  work();
  htm::commit();
  return status;
}

// The same, until it commits or 1000 attempts have failed. Returns: whether it has.
template <class Work>
bool retry(Work work) {
  for (int i = 0; i < 1000; ++i)
    if (attempt(work).started()) return true;
  return false;
}

// Runs work(index) in `count` threads.
template <class Work>
void run_threads(unsigned count, Work work) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < count; ++i) threads.emplace_back([&work, i] { work(i); });
  for (std::thread& t : threads) t.join();
}

// A word that the machine does not see: what a transaction tells the other threads through it is
// not rolled back.
struct unseen {
  int value = 0;

  [[gnu::noinline]] NOT_INSTRUMENTED void set(int v) {
    __atomic_store_n(&value, v, __ATOMIC_SEQ_CST);
  }
  [[gnu::noinline]] NOT_INSTRUMENTED int get() const {
    return __atomic_load_n(&value, __ATOMIC_SEQ_CST);
  }
  [[gnu::noinline]] NOT_INSTRUMENTED void add(int v) {
    __atomic_fetch_add(&value, v, __ATOMIC_SEQ_CST);
  }
  // Outside transactions.
  void await(int v) const {
    while (get() < v) sched_yield();
  }
  // In transactions, which may not yield.
  [[gnu::noinline]] NOT_INSTRUMENTED void await_spinning(int v) const {
    while (__atomic_load_n(&value, __ATOMIC_SEQ_CST) < v) __builtin_ia32_pause();
  }
};

// A store that the machine does not see.
[[gnu::noinline]] NOT_INSTRUMENTED inline void store_unseen(char& at, char value) { at = value; }

// In a transaction: stays there until another thread has set the word. The accesses let the machine
// take notice of a conflict.
inline void stay_until(const unseen& word) {
  static thread_local volatile long beat = 0;
  while (word.get() == 0) {
    beat = beat + 1;
    for (int i = 0; i < 100; ++i) __builtin_ia32_pause();  // the time limit counts accesses
  }
}

// `outside` runs in another thread while a transaction has done `inside`. Returns the
// transaction's end.
template <class Inside, class Outside>
htm::status while_inside(Inside inside, Outside outside) {
  unseen has, done;
  std::thread other([&] {
    has.await(1);
    outside();
    done.set(1);
  });
  const htm::status s = htm::begin();
  if (s.started()) {
    inside();
    has.set(1);
    stay_until(done);
    htm::commit();
  }
  done.await(1);
  other.join();
  return s;
}
