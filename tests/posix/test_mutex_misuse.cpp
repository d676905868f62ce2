// test_mutex_misuse.cpp -- what POSIX leaves undefined, glibc tolerates, and real programs rely on.
#include "mutex_kinds.h"
#include "thread.h"

namespace {

bool unowned(const MutexKind& kind) {
  return kind.type == PTHREAD_MUTEX_NORMAL || kind.type == PTHREAD_MUTEX_ADAPTIVE_NP;
}

void usable(pthread_mutex_t* mutex) {
  CHECK_OK(pthread_mutex_lock(mutex));
  CHECK_ERR(in_other_thread([&] { return pthread_mutex_trylock(mutex); }), EBUSY);
  CHECK_OK(pthread_mutex_unlock(mutex));
}

// A normal mutex used as a binary semaphore: locked by one thread, unlocked by another.
void unlock_by_another_thread(const MutexKind& kind) {
  pthread_mutex_t mutex;
  make_mutex(&mutex, kind, Making::attributes);
  for (int round = 0; round < 20; ++round) {
    CHECK_OK(pthread_mutex_lock(&mutex));
    int waited = 0;
    Thread waiter([&] {
      CHECK_OK(pthread_mutex_lock(&mutex));
      set_int(&waited, 1);
    });
    if (round % 2 != 0) sleep_ms(1);
    CHECK_OK(in_other_thread([&] { return pthread_mutex_unlock(&mutex); }));
    waiter.join();
    CHECK_EQ(get_int(&waited), 1);
    CHECK_OK(pthread_mutex_unlock(&mutex));
  }
  usable(&mutex);
}

// A thread that ends while holding a mutex leaves it held; another may release it.
void owner_ends(const MutexKind& kind) {
  pthread_mutex_t mutex;
  make_mutex(&mutex, kind, Making::attributes);
  CHECK_OK(in_other_thread([&] { return pthread_mutex_lock(&mutex); }));
  CHECK_ERR(pthread_mutex_trylock(&mutex), EBUSY);
  const timespec soon = in_ms(CLOCK_REALTIME, 2);
  if (unowned(kind)) {
    CHECK_ERR(pthread_mutex_timedlock(&mutex, &soon), ETIMEDOUT);
    // New threads reuse the dead owner's stack and thread-local memory.
    run_threads(4, [&](int) {
      pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
      usable(&own);
      CHECK_ERR(pthread_mutex_trylock(&mutex), EBUSY);
    });
    CHECK_OK(pthread_mutex_unlock(&mutex));
    usable(&mutex);
  } else {
    CHECK_ERR(pthread_mutex_unlock(&mutex), EPERM);
  }
}

// The owner ends while others wait; the one who releases it must still find them.
void owner_ends_with_waiters(const MutexKind& kind) {
  pthread_mutex_t mutex;
  make_mutex(&mutex, kind, Making::attributes);
  int passed = 0;
  int held = 0;
  int leave = 0;
  Thread owner([&] {
    CHECK_OK(pthread_mutex_lock(&mutex));
    set_int(&held, 1);
    await_int(&leave, 1);
  });
  await_int(&held, 1);
  std::deque<Thread> waiters;
  for (int i = 0; i < 3; ++i) {
    waiters.emplace_back([&] {
      CHECK_OK(pthread_mutex_lock(&mutex));
      add_int(&passed, 1);
      CHECK_OK(pthread_mutex_unlock(&mutex));
    });
  }
  sleep_ms(2);
  set_int(&leave, 1);
  owner.join();
  CHECK_EQ(get_int(&passed), 0);
  CHECK_OK(pthread_mutex_unlock(&mutex));
  waiters.clear();
  CHECK_EQ(passed, 3);
}

}  // namespace

int main() {
  check_begin();
  for (const MutexKind& kind : mutex_kinds) {
    owner_ends(kind);
    if (!unowned(kind)) continue;
    unlock_by_another_thread(kind);
    owner_ends_with_waiters(kind);
  }
  return check_end();
}
