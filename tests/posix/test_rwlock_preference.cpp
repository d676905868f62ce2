// test_rwlock_preference.cpp -- recursive reading beside a waiting writer; writers that are not
// starved.
#include "thread.h"

namespace {

// Starts a writer that waits for `lock` (held for reading by the caller).
struct WaitingWriter {
  explicit WaitingWriter(pthread_rwlock_t* lock)
      : thread_([this, lock] {
          set_int(&about_to_wait_, 1);
          CHECK_OK(pthread_rwlock_wrlock(lock));
          set_int(&inside, 1);
          CHECK_OK(pthread_rwlock_unlock(lock));
        }) {
    await_int(&about_to_wait_, 1);
    sleep_ms(5);
  }
  int inside = 0;

 private:
  int about_to_wait_ = 0;
  Thread thread_;
};

// The default kind must let a reader in again though a writer waits: else programs deadlock.
void reading_again_beside_a_writer(pthread_rwlock_t* lock) {
  CHECK_OK(pthread_rwlock_rdlock(lock));
  {
    WaitingWriter writer(lock);
    CHECK_OK(pthread_rwlock_rdlock(lock));
    CHECK_OK(pthread_rwlock_tryrdlock(lock));
    const timespec later = in_ms(CLOCK_MONOTONIC, 20000);
    CHECK_OK(pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &later));
    // Another thread that reads twice, too.
    CHECK_OK(in_other_thread([&] {
      int error = pthread_rwlock_rdlock(lock) | pthread_rwlock_rdlock(lock);
      return error | pthread_rwlock_unlock(lock) | pthread_rwlock_unlock(lock);
    }));
    CHECK_EQ(get_int(&writer.inside), 0);
    for (int i = 0; i < 4; ++i) CHECK_OK(pthread_rwlock_unlock(lock));
    await_int(&writer.inside, 1);
  }
}

// A reader that holds the lock may wait for another reader, even one that came after a writer. (Its
// place in line is likely, not certain; wherever it stands, it gets in.)
void readers_go_on_together() {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  int second_inside = 0;
  CHECK_OK(pthread_rwlock_wrlock(&lock));
  Thread first([&] {
    CHECK_OK(pthread_rwlock_rdlock(&lock));
    await_int(&second_inside, 1);
    CHECK_OK(pthread_rwlock_unlock(&lock));
  });
  sleep_ms(5);
  {
    WaitingWriter writer(&lock);
    Thread second([&] {
      CHECK_OK(pthread_rwlock_rdlock(&lock));
      set_int(&second_inside, 1);
      CHECK_OK(pthread_rwlock_unlock(&lock));
    });
    sleep_ms(5);
    CHECK_OK(pthread_rwlock_unlock(&lock));
  }
}

// The non-recursive writer-preferring kind holds new readers back while a writer waits.
void new_readers_wait_behind_a_writer() {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
  CHECK_OK(pthread_rwlock_rdlock(&lock));
  {
    WaitingWriter writer(&lock);
    // The writer may not have got as far as waiting; once it has, no reader gets in any more.
    Thread([&] {
      while (pthread_rwlock_tryrdlock(&lock) == 0) {
        CHECK_OK(pthread_rwlock_unlock(&lock));
        usleep(200);
      }
      CHECK_ERR(pthread_rwlock_tryrdlock(&lock), EBUSY);
    }).join();
    const timespec soon = in_ms(CLOCK_REALTIME, 3);
    CHECK_ERR(in_other_thread([&] { return pthread_rwlock_timedrdlock(&lock, &soon); }), ETIMEDOUT);
    CHECK_OK(pthread_rwlock_unlock(&lock));
    await_int(&writer.inside, 1);
  }
  CHECK_OK(pthread_rwlock_destroy(&lock));
}

// Readers that overlap for ever must not keep a preferred writer out.
void writers_are_not_starved() {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
  int stop = 0;
  long reads = 0;
  {
    std::deque<Thread> readers;
    for (int i = 0; i < 4; ++i) {
      readers.emplace_back([&] {
        while (get_int(&stop) == 0) {
          if (pthread_rwlock_rdlock(&lock) != 0) abort();
          usleep(50);
          __atomic_add_fetch(&reads, 1, __ATOMIC_RELAXED);
          if (pthread_rwlock_unlock(&lock) != 0) abort();
        }
      });
    }
    for (int i = 0; i < 50; ++i) {
      CHECK_OK(pthread_rwlock_wrlock(&lock));
      CHECK_OK(pthread_rwlock_unlock(&lock));
      usleep(100);
    }
    set_int(&stop, 1);
  }
  CHECK(reads > 0);
  CHECK_OK(pthread_rwlock_destroy(&lock));
}

// All waiting readers enter together once the writer leaves: they meet inside.
void readers_enter_together() {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  constexpr int readers = 6;
  int inside = 0;
  CHECK_OK(pthread_rwlock_wrlock(&lock));
  {
    std::deque<Thread> threads;
    for (int i = 0; i < readers; ++i) {
      threads.emplace_back([&] {
        CHECK_OK(pthread_rwlock_rdlock(&lock));
        add_int(&inside, 1);
        await_int(&inside, readers);
        CHECK_OK(pthread_rwlock_unlock(&lock));
      });
    }
    sleep_ms(3);
    CHECK_EQ(get_int(&inside), 0);
    CHECK_OK(pthread_rwlock_unlock(&lock));
  }
  CHECK_OK(pthread_rwlock_destroy(&lock));
}

}  // namespace

int main() {
  check_begin();
  pthread_rwlock_t fixed = PTHREAD_RWLOCK_INITIALIZER;
  reading_again_beside_a_writer(&fixed);
  // glibc treats PREFER_WRITER_NP as preferring readers, so that recursive reading is safe.
  for (const int kind : {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP}) {
    pthread_rwlockattr_t attributes;
    pthread_rwlock_t lock;
    CHECK_OK(pthread_rwlockattr_init(&attributes));
    CHECK_OK(pthread_rwlockattr_setkind_np(&attributes, kind));
    CHECK_OK(pthread_rwlock_init(&lock, &attributes));
    reading_again_beside_a_writer(&lock);
    CHECK_OK(pthread_rwlock_destroy(&lock));
  }
  for (int i = 0; i < 5; ++i) readers_go_on_together();
  new_readers_wait_behind_a_writer();
  writers_are_not_starved();
  readers_enter_together();
  return check_end();
}
