// test_rwlock_errors.cpp -- rwlocks: who may be inside together, and the errno of every call in
// every state.
#include "thread.h"

namespace {

const timespec past = {1, 0};

struct Seen {
  int tryread, trywrite, timedread, timedwrite;
};

// What a stranger is told, without leaving a lock behind.
Seen stranger(pthread_rwlock_t* lock) {
  Seen seen{};
  const auto record = [&](int error) {
    if (error == 0) CHECK_OK(pthread_rwlock_unlock(lock));
    return error;
  };
  Thread([&] {
    seen.tryread = record(pthread_rwlock_tryrdlock(lock));
    seen.trywrite = record(pthread_rwlock_trywrlock(lock));
    seen.timedread = record(pthread_rwlock_timedrdlock(lock, &past));
    seen.timedwrite = record(pthread_rwlock_timedwrlock(lock, &past));
  }).join();
  return seen;
}

void expect_free(pthread_rwlock_t* lock) {
  const Seen seen = stranger(lock);
  CHECK_OK(seen.tryread);
  CHECK_OK(seen.trywrite);
  CHECK_OK(seen.timedread);
  CHECK_OK(seen.timedwrite);
}

void expect_read_locked(pthread_rwlock_t* lock) {
  const Seen seen = stranger(lock);
  CHECK_OK(seen.tryread);
  CHECK_ERR(seen.trywrite, EBUSY);
  CHECK_OK(seen.timedread);
  CHECK_ERR(seen.timedwrite, ETIMEDOUT);
}

void expect_write_locked(pthread_rwlock_t* lock) {
  const Seen seen = stranger(lock);
  CHECK_ERR(seen.tryread, EBUSY);
  CHECK_ERR(seen.trywrite, EBUSY);
  CHECK_ERR(seen.timedread, ETIMEDOUT);
  CHECK_ERR(seen.timedwrite, ETIMEDOUT);
}

void own_write_lock(pthread_rwlock_t* lock) {
  const timespec later = in_ms(CLOCK_REALTIME, 20000);
  const timespec later_monotonic = in_ms(CLOCK_MONOTONIC, 20000);
  CHECK_ERR(pthread_rwlock_rdlock(lock), EDEADLK);
  CHECK_ERR(pthread_rwlock_wrlock(lock), EDEADLK);
  CHECK_ERR(pthread_rwlock_tryrdlock(lock), EBUSY);
  CHECK_ERR(pthread_rwlock_trywrlock(lock), EBUSY);
  CHECK_ERR(pthread_rwlock_timedrdlock(lock, &later), EDEADLK);
  CHECK_ERR(pthread_rwlock_timedwrlock(lock, &later), EDEADLK);
  CHECK_ERR(pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &later_monotonic), EDEADLK);
  CHECK_ERR(pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &later_monotonic), EDEADLK);
}

void own_read_lock(pthread_rwlock_t* lock) {
  CHECK_OK(pthread_rwlock_rdlock(lock));
  CHECK_OK(pthread_rwlock_tryrdlock(lock));
  CHECK_OK(pthread_rwlock_timedrdlock(lock, &past));
  CHECK_ERR(pthread_rwlock_trywrlock(lock), EBUSY);
  const timespec soon = in_ms(CLOCK_MONOTONIC, 2);
  CHECK_ERR(pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &soon), ETIMEDOUT);
  for (int i = 0; i < 3; ++i) {
    CHECK_OK(pthread_rwlock_unlock(lock));
    expect_read_locked(lock);
  }
}

void table(pthread_rwlock_t* lock) {
  expect_free(lock);
  CHECK_OK(pthread_rwlock_rdlock(lock));
  expect_read_locked(lock);
  own_read_lock(lock);
  CHECK_OK(pthread_rwlock_unlock(lock));
  expect_free(lock);
  CHECK_OK(pthread_rwlock_wrlock(lock));
  expect_write_locked(lock);
  own_write_lock(lock);
  CHECK_OK(pthread_rwlock_unlock(lock));
  expect_free(lock);
  CHECK_OK(pthread_rwlock_tryrdlock(lock));
  expect_read_locked(lock);
  CHECK_OK(pthread_rwlock_unlock(lock));
  CHECK_OK(pthread_rwlock_trywrlock(lock));
  expect_write_locked(lock);
  own_write_lock(lock);
  CHECK_OK(pthread_rwlock_unlock(lock));
  expect_free(lock);
}

const int kinds[] = {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP,
                     PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP};

void make(pthread_rwlock_t* lock, int kind) {
  pthread_rwlockattr_t attributes;
  int read = -1;
  CHECK_OK(pthread_rwlockattr_init(&attributes));
  CHECK_OK(pthread_rwlockattr_setkind_np(&attributes, kind));
  CHECK_OK(pthread_rwlockattr_getkind_np(&attributes, &read));
  CHECK_EQ(read, kind);
  CHECK_OK(pthread_rwlock_init(lock, &attributes));
  CHECK_OK(pthread_rwlockattr_destroy(&attributes));
}

void reinit() {
  pthread_rwlock_t lock;
  for (const int before : kinds) {
    for (const int after : kinds) {
      memset(static_cast<void*>(&lock), 0xa5, sizeof lock);
      make(&lock, before);
      table(&lock);
      CHECK_OK(pthread_rwlock_destroy(&lock));
      make(&lock, after);
      table(&lock);
      CHECK_OK(pthread_rwlock_destroy(&lock));
    }
  }
  // Memory of a lock that is still held is used again.
  make(&lock, kinds[0]);
  CHECK_OK(pthread_rwlock_wrlock(&lock));
  make(&lock, kinds[0]);
  table(&lock);
  CHECK_OK(pthread_rwlock_rdlock(&lock));
  memset(static_cast<void*>(&lock), 0, sizeof lock);
  table(&lock);
}

// As many readers as can be counted: the first word counts them, in whatever unit.
void full_of_readers() {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  unsigned& word = *reinterpret_cast<unsigned*>(&lock);
  CHECK_OK(pthread_rwlock_rdlock(&lock));
  expect_read_locked(&lock);  // a section that was elided is not, behind another's look
  const unsigned one = word, glibc_unit = 8;
  MUST(one == 1 || one == glibc_unit);
  word = one == glibc_unit ? 0x7fff'fff8 : 0x1fff'fffe;
  const timespec later = in_ms(CLOCK_REALTIME, 20000);
  const timespec later_monotonic = in_ms(CLOCK_MONOTONIC, 20000);
  CHECK_ERR(pthread_rwlock_rdlock(&lock), EAGAIN);
  CHECK_ERR(pthread_rwlock_tryrdlock(&lock), EAGAIN);
  CHECK_ERR(pthread_rwlock_timedrdlock(&lock, &later), EAGAIN);
  CHECK_ERR(pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &later_monotonic), EAGAIN);
  CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
  CHECK_OK(pthread_rwlock_unlock(&lock));
  CHECK_OK(pthread_rwlock_tryrdlock(&lock));
  CHECK_OK(pthread_rwlock_unlock(&lock));
  word = 0;
  expect_free(&lock);
}

// A try that is refused holds nothing, also while it is made: nobody else is refused for it.
void tries_in_vain() {
  constexpr int rounds = 2000;
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  int ready = 0, round = 0, reads = 0, refused_for_nobody = 0;
  Thread reader([&] {
    for (int i = 1; i <= rounds; ++i) {
      set_int(&ready, i);
      await_int(&round, i);
      if (i % 2 == 0) reads = pthread_rwlock_tryrdlock(&lock);
      else reads = pthread_rwlock_timedrdlock(&lock, &past);
      if (reads == 0) CHECK_OK(pthread_rwlock_unlock(&lock));
    }
    set_int(&ready, rounds + 1);
  });
  for (int i = 1; i <= rounds; ++i) {
    CHECK_OK(pthread_rwlock_wrlock(&lock));
    await_int(&ready, i);
    set_int(&round, i);
    for (int delay = 0; delay < i % 60; ++delay) asm volatile("");
    CHECK_OK(pthread_rwlock_unlock(&lock));
    const int writes = pthread_rwlock_trywrlock(&lock);
    if (writes == 0) CHECK_OK(pthread_rwlock_unlock(&lock));
    await_int(&ready, i + 1);
    if (writes != 0 && reads != 0) ++refused_for_nobody;
  }
  reader.join();
  CHECK_EQ(refused_for_nobody, 0);
}

}  // namespace

int main() {
  check_begin();
  full_of_readers();
  tries_in_vain();
  pthread_rwlock_t fixed = PTHREAD_RWLOCK_INITIALIZER;
  pthread_rwlock_t fixed_writer = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
  pthread_rwlock_t made;
  CHECK_OK(pthread_rwlock_init(&made, nullptr));
  auto* zeroed = static_cast<pthread_rwlock_t*>(calloc(1, sizeof(pthread_rwlock_t)));
  for (pthread_rwlock_t* lock : {&fixed, &fixed_writer, &made, zeroed}) table(lock);
  CHECK_OK(pthread_rwlock_destroy(&fixed));
  CHECK_OK(pthread_rwlock_destroy(&made));
  free(zeroed);
  reinit();
  return check_end();
}
