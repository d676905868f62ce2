// mutex_kinds.cpp -- recursive, errorcheck and normal mutexes, and the results that POSIX gives.

#include <cerrno>
#include <mutex>
#include <thread>
#include <vector>

#include <pthread.h>

#include "check.h"

namespace {

class mutex_of_kind {
 public:
  explicit mutex_of_kind(int kind) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    CHECK(pthread_mutexattr_settype(&attributes, kind) == 0);
    CHECK(pthread_mutex_init(&mutex_, &attributes) == 0);
    pthread_mutexattr_destroy(&attributes);
  }
  ~mutex_of_kind() { CHECK(pthread_mutex_destroy(&mutex_) == 0); }
  mutex_of_kind(const mutex_of_kind&) = delete;
  mutex_of_kind& operator=(const mutex_of_kind&) = delete;
  operator pthread_mutex_t*() { return &mutex_; }

 private:
  pthread_mutex_t mutex_;
};

void recursive() {
  mutex_of_kind mutex(PTHREAD_MUTEX_RECURSIVE);
  CHECK(pthread_mutex_lock(mutex) == 0);
  CHECK(pthread_mutex_lock(mutex) == 0);
  CHECK(pthread_mutex_trylock(mutex) == 0);
  std::thread([&] { CHECK(pthread_mutex_trylock(mutex) == EBUSY); }).join();
  for (int i = 0; i < 3; ++i) CHECK(pthread_mutex_unlock(mutex) == 0);
  std::thread([&] {
    CHECK(pthread_mutex_trylock(mutex) == 0);
    CHECK(pthread_mutex_unlock(mutex) == 0);
  }).join();
}

void contended_recursive() {
  std::recursive_mutex mutex;
  int count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        const std::scoped_lock outer(mutex);
        const int before = count;
        std::this_thread::yield();
        const std::scoped_lock inner(mutex);
        count = before + 1;
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(count == 40);
}

// `strict`: without what POSIX calls undefined, which the explored machine reports.
void errorcheck(bool strict) {
  mutex_of_kind mutex(PTHREAD_MUTEX_ERRORCHECK);
  CHECK(pthread_mutex_unlock(mutex) == EPERM);
  CHECK(pthread_mutex_lock(mutex) == 0);
  CHECK(pthread_mutex_lock(mutex) == EDEADLK);
  std::thread([&] { CHECK(pthread_mutex_unlock(mutex) == EPERM); }).join();
  if (!strict) CHECK(pthread_mutex_destroy(mutex) == EBUSY);
  CHECK(pthread_mutex_unlock(mutex) == 0);
}

void normal() {
  mutex_of_kind mutex(PTHREAD_MUTEX_NORMAL);
  CHECK(pthread_mutex_lock(mutex) == 0);
  CHECK(pthread_mutex_trylock(mutex) == EBUSY);
  CHECK(pthread_mutex_unlock(mutex) == 0);
  int count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        CHECK(pthread_mutex_lock(mutex) == 0);
        const int before = count;
        if (i % 8 == 0) std::this_thread::yield();
        count = before + 1;
        CHECK(pthread_mutex_unlock(mutex) == 0);
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(count == 200);
}

void spinning() {
  pthread_spinlock_t lock;
  CHECK(pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE) == 0);
  CHECK(pthread_spin_lock(&lock) == 0);
  CHECK(pthread_spin_trylock(&lock) == EBUSY);
  CHECK(pthread_spin_unlock(&lock) == 0);
  int count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        pthread_spin_lock(&lock);
        ++count;
        pthread_spin_unlock(&lock);
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(count == 150);
  CHECK(pthread_spin_destroy(&lock) == 0);
}

}  // namespace

int main(int argc, char**) {
  recursive();
  contended_recursive();
  normal();
  spinning();
  errorcheck(argc > 1);
}
