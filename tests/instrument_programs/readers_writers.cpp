// readers_writers.cpp -- pthread_rwlock and std::shared_mutex: writers alone, readers together.

#include <atomic>
#include <cerrno>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include <pthread.h>

#include "check.h"

namespace {

// Readers see both halves equal; writers change them one after the other.
template <class LockShared, class UnlockShared, class Lock, class Unlock>
void readers_and_writers(LockShared lock_shared, UnlockShared unlock_shared, Lock lock,
                         Unlock unlock) {
  int first = 0, second = 0;
  std::vector<std::thread> threads;
  for (int w = 0; w < 2; ++w)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        lock();
        ++first;
        std::this_thread::yield();
        ++second;
        unlock();
      }
    });
  for (int r = 0; r < 3; ++r)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        lock_shared();
        CHECK(first == second);
        unlock_shared();
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(first == 40 && second == 40);
}

// Two readers inside at once: each waits for the other before it leaves.
void readers_share() {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  std::atomic<int> inside{0};
  const auto reader = [&] {
    CHECK(pthread_rwlock_rdlock(&lock) == 0);
    inside.fetch_add(1);
    while (inside.load() < 2) std::this_thread::yield();
    CHECK(pthread_rwlock_unlock(&lock) == 0);
  };
  std::thread other(reader);
  reader();
  other.join();
  CHECK(pthread_rwlock_destroy(&lock) == 0);
}

void results() {
  pthread_rwlock_t lock;
  CHECK(pthread_rwlock_init(&lock, nullptr) == 0);
  CHECK(pthread_rwlock_wrlock(&lock) == 0);
  CHECK(pthread_rwlock_rdlock(&lock) == EDEADLK);
  CHECK(pthread_rwlock_wrlock(&lock) == EDEADLK);
  CHECK(pthread_rwlock_tryrdlock(&lock) == EBUSY);
  std::thread([&] { CHECK(pthread_rwlock_trywrlock(&lock) == EBUSY); }).join();
  CHECK(pthread_rwlock_unlock(&lock) == 0);
  CHECK(pthread_rwlock_tryrdlock(&lock) == 0);
  CHECK(pthread_rwlock_tryrdlock(&lock) == 0);
  CHECK(pthread_rwlock_trywrlock(&lock) == EBUSY);
  CHECK(pthread_rwlock_unlock(&lock) == 0);
  CHECK(pthread_rwlock_unlock(&lock) == 0);
  CHECK(pthread_rwlock_trywrlock(&lock) == 0);
  CHECK(pthread_rwlock_unlock(&lock) == 0);
  CHECK(pthread_rwlock_destroy(&lock) == 0);
}

}  // namespace

int main() {
  pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
  readers_and_writers([&] { CHECK(pthread_rwlock_rdlock(&rwlock) == 0); },
                      [&] { CHECK(pthread_rwlock_unlock(&rwlock) == 0); },
                      [&] { CHECK(pthread_rwlock_wrlock(&rwlock) == 0); },
                      [&] { CHECK(pthread_rwlock_unlock(&rwlock) == 0); });
  std::shared_mutex shared;
  readers_and_writers([&] { shared.lock_shared(); }, [&] { shared.unlock_shared(); },
                      [&] { shared.lock(); }, [&] { shared.unlock(); });
  readers_share();
  results();
}
