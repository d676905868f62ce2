// pthread's objects that are initialized twice, used after their destruction, left while held or
// by who does not hold them, and right programs beside them. The argument names the scenario.
// Scenario: barrier_begins_twice 1 failed check: initialization of a barrier that is initialized
// Scenario: barrier_begins_in_use 1 (failed check|data race): initialization of a barrier that is
// Scenario: mutex_begins_twice 1 failed check: initialization of a mutex that is initialized
// Scenario: condition_begins_twice 1 failed check: initialization of a condition variable that
// Scenario: rwlock_begins_twice 1 failed check: initialization of a reader-writer lock that
// Scenario: semaphore_begins_twice 1 failed check: initialization of a semaphore that is
// Scenario: spin_lock_begins_twice 1 failed check: initialization of a spin lock that is
// Scenario: memory_is_used_again 0 passed:
// Scenario: static_ones_begin_once_more 0 passed:
// Scenario: mutex_ends_held 1 failed check: destruction of a mutex that is held
// Scenario: mutex_on_stack_is_left_held 0 passed:
// Scenario: mutex_is_freed_held 1 failed check: the memory of a mutex that is held is gone
// Scenario: rwlock_is_freed_held 1 failed check: the memory of a reader-writer lock that is held
// Scenario: freed_after_unlock 0 passed:
// Scenario: semaphore_used_after_its_end 1 failed check: use of a destroyed semaphore
// Scenario: semaphore_ends_with_waiter 1 (failed check|data race):
// Scenario: semaphore_ends_after_its_last_use 0 passed:
// Scenario: mutex_ends_with_waiter 1 (failed check|data race):
// Scenario: rwlock_unlocked_by_other_reader 1 failed check: unlock of a reader-writer lock that the
// Scenario: rwlock_unlocked_by_other 1 failed check: unlock of a reader-writer lock that the
// Scenario: rwlock_held_twice 0 passed:
// Scenario: spin_lock_unlocked_by_other 1 failed check: unlock of a spin lock that the thread does
// Scenario: mutex_unlocked_by_other 1 failed check: unlock of a mutex that the thread does not hold
// Scenario: recursive_says_so 0 passed:
// Scenario: errorcheck_says_so 0 passed:
// Scenario: waits_without_mutex 1 failed check: unlock of a mutex that the thread does not hold
// Scenario: two_mutexes_wait_at_once 1 failed check: wait at a condition variable while thread
// Scenario: two_mutexes_one_after_the_other 0 passed:
#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <thread>

#include <pthread.h>
#include <semaphore.h>

namespace {

pthread_barrier_t barrier;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_spinlock_t spin_lock;
sem_t semaphore;

template <class Call>
void in_other_thread(Call call) {
  std::thread(call).join();
}

void barrier_begins_twice() {
  pthread_barrier_init(&barrier, nullptr, 1);
  pthread_barrier_wait(&barrier);
  pthread_barrier_init(&barrier, nullptr, 1);
}

void barrier_begins_in_use() {
  pthread_barrier_init(&barrier, nullptr, 2);
  std::thread other([] { pthread_barrier_wait(&barrier); });
  pthread_barrier_init(&barrier, nullptr, 2);
  pthread_barrier_wait(&barrier);
  other.join();
}

void mutex_begins_twice() {
  pthread_mutex_init(&mutex, nullptr);
  pthread_mutex_init(&mutex, nullptr);
}

void condition_begins_twice() {
  pthread_cond_init(&condition, nullptr);
  pthread_cond_init(&condition, nullptr);
}

void rwlock_begins_twice() {
  pthread_rwlock_init(&rwlock, nullptr);
  pthread_rwlock_init(&rwlock, nullptr);
}

void semaphore_begins_twice() {
  sem_init(&semaphore, 0, 1);
  sem_init(&semaphore, 0, 1);
}

void spin_lock_begins_twice() {
  pthread_spin_init(&spin_lock, PTHREAD_PROCESS_PRIVATE);
  pthread_spin_init(&spin_lock, PTHREAD_PROCESS_PRIVATE);
}

// The same bytes, but not the same object: of another call, in another block, after an end, or
// since something else was there in between.
[[gnu::noinline]] void use_one_on_stack() {
  for (int i = 0; i < 2; ++i) {
    pthread_rwlock_t l;
    pthread_rwlock_init(&l, nullptr);
    pthread_rwlock_wrlock(&l);
    pthread_rwlock_unlock(&l);
  }

  pthread_mutex_t m;
  pthread_mutex_init(&m, nullptr);
  pthread_mutex_lock(&m);
  pthread_mutex_unlock(&m);
}

void memory_is_used_again() {
  use_one_on_stack();
  use_one_on_stack();
  for (int i = 0; i < 2; ++i) {
    auto* const m = static_cast<pthread_mutex_t*>(std::malloc(sizeof(pthread_mutex_t)));
    pthread_mutex_init(m, nullptr);
    std::free(m);
  }
  for (int i = 0; i < 2; ++i) {
    sem_init(&semaphore, 0, 1);
    sem_destroy(&semaphore);
  }
  for (int i = 0; i < 2; ++i) {
    std::memset(&barrier, 0, sizeof barrier);
    pthread_barrier_init(&barrier, nullptr, 1);
  }
}

void static_ones_begin_once_more() {
  pthread_mutex_init(&mutex, nullptr);
  pthread_cond_init(&condition, nullptr);
  pthread_rwlock_init(&rwlock, nullptr);
}

void mutex_ends_held() {
  pthread_mutex_lock(&mutex);
  pthread_mutex_destroy(&mutex);
}

[[gnu::noinline]] void leave_one_held() {
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&m);
}
void mutex_on_stack_is_left_held() { leave_one_held(); }

void mutex_is_freed_held() {
  auto* const m = new pthread_mutex_t(PTHREAD_MUTEX_INITIALIZER);
  pthread_mutex_lock(m);
  delete m;
}

void rwlock_is_freed_held() {
  auto* const l = new pthread_rwlock_t(PTHREAD_RWLOCK_INITIALIZER);
  pthread_rwlock_rdlock(l);
  pthread_rwlock_rdlock(l);
  pthread_rwlock_unlock(l);
  delete l;
}

// Who takes it last frees it.
void freed_after_unlock() {
  struct shared {
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    int users = 2;
  };
  auto* const s = new shared;
  const auto leave = [s] {
    pthread_mutex_lock(&s->m);
    const bool last = --s->users == 0;
    pthread_mutex_unlock(&s->m);
    if (!last) return;
    pthread_mutex_destroy(&s->m);
    delete s;
  };
  std::thread other(leave);
  leave();
  other.join();
}

void semaphore_used_after_its_end() {
  sem_init(&semaphore, 0, 1);
  sem_destroy(&semaphore);
  sem_wait(&semaphore);
}

void semaphore_ends_with_waiter() {
  sem_init(&semaphore, 0, 0);
  std::thread([] { sem_wait(&semaphore); }).detach();
  sem_destroy(&semaphore);
}

void semaphore_ends_after_its_last_use() {
  sem_init(&semaphore, 0, 0);
  std::thread other([] { sem_post(&semaphore); });
  sem_wait(&semaphore);
  sem_destroy(&semaphore);
  other.join();
}

void mutex_ends_with_waiter() {
  pthread_mutex_lock(&mutex);
  std::thread([] { pthread_mutex_lock(&mutex); }).detach();
  pthread_mutex_unlock(&mutex);
  pthread_mutex_destroy(&mutex);
}

void rwlock_unlocked_by_other_reader() {
  pthread_rwlock_rdlock(&rwlock);
  in_other_thread([] { pthread_rwlock_unlock(&rwlock); });
}

void rwlock_unlocked_by_other() {
  pthread_rwlock_wrlock(&rwlock);
  in_other_thread([] { pthread_rwlock_unlock(&rwlock); });
}

void rwlock_held_twice() {
  pthread_rwlock_rdlock(&rwlock);
  pthread_rwlock_rdlock(&rwlock);
  in_other_thread([] {
    assert(pthread_rwlock_tryrdlock(&rwlock) == 0);
    pthread_rwlock_unlock(&rwlock);
    assert(pthread_rwlock_trywrlock(&rwlock) == EBUSY);
  });
  pthread_rwlock_unlock(&rwlock);
  pthread_rwlock_unlock(&rwlock);
  assert(pthread_rwlock_wrlock(&rwlock) == 0);
  assert(pthread_rwlock_unlock(&rwlock) == 0);
}

void spin_lock_unlocked_by_other() {
  pthread_spin_init(&spin_lock, PTHREAD_PROCESS_PRIVATE);
  pthread_spin_lock(&spin_lock);
  in_other_thread([] { pthread_spin_unlock(&spin_lock); });
}

void mutex_unlocked_by_other() {
  pthread_mutex_lock(&mutex);
  in_other_thread([] { pthread_mutex_unlock(&mutex); });
}

void of_type(int type) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, type);
  pthread_mutex_init(&mutex, &attributes);
}

void recursive_says_so() {
  of_type(PTHREAD_MUTEX_RECURSIVE);
  assert(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_lock(&mutex) == 0);
  assert(pthread_mutex_unlock(&mutex) == 0);
  in_other_thread([] { assert(pthread_mutex_unlock(&mutex) == EPERM); });
  assert(pthread_mutex_unlock(&mutex) == 0);
}

void errorcheck_says_so() {
  of_type(PTHREAD_MUTEX_ERRORCHECK);
  assert(pthread_mutex_lock(&mutex) == 0);
  assert(pthread_mutex_lock(&mutex) == EDEADLK);
  in_other_thread([] { assert(pthread_mutex_unlock(&mutex) == EPERM); });
  assert(pthread_mutex_unlock(&mutex) == 0);
  assert(pthread_mutex_unlock(&mutex) == EPERM);
}

pthread_mutex_t other_mutex = PTHREAD_MUTEX_INITIALIZER;

void wait_a_moment(pthread_mutex_t& with) {
  const timespec past{};
  pthread_mutex_lock(&with);
  pthread_cond_timedwait(&condition, &with, &past);
  pthread_mutex_unlock(&with);
}

void two_mutexes_wait_at_once() {
  std::thread other([] { wait_a_moment(other_mutex); });
  wait_a_moment(mutex);
  other.join();
}

void two_mutexes_one_after_the_other() {
  in_other_thread([] { wait_a_moment(other_mutex); });
  wait_a_moment(mutex);
}

void waits_without_mutex() { pthread_cond_wait(&condition, &mutex); }

}  // namespace

#define RUN(scenario) \
  if (std::strcmp(given[1], #scenario) == 0) return scenario(), 0

int main(int, char** given) {
  RUN(barrier_begins_twice);
  RUN(barrier_begins_in_use);
  RUN(mutex_begins_twice);
  RUN(condition_begins_twice);
  RUN(rwlock_begins_twice);
  RUN(semaphore_begins_twice);
  RUN(spin_lock_begins_twice);
  RUN(memory_is_used_again);
  RUN(static_ones_begin_once_more);
  RUN(mutex_ends_held);
  RUN(mutex_on_stack_is_left_held);
  RUN(mutex_is_freed_held);
  RUN(rwlock_is_freed_held);
  RUN(freed_after_unlock);
  RUN(semaphore_used_after_its_end);
  RUN(semaphore_ends_with_waiter);
  RUN(semaphore_ends_after_its_last_use);
  RUN(mutex_ends_with_waiter);
  RUN(rwlock_unlocked_by_other_reader);
  RUN(rwlock_unlocked_by_other);
  RUN(rwlock_held_twice);
  RUN(spin_lock_unlocked_by_other);
  RUN(mutex_unlocked_by_other);
  RUN(recursive_says_so);
  RUN(errorcheck_says_so);
  RUN(waits_without_mutex);
  RUN(two_mutexes_wait_at_once);
  RUN(two_mutexes_one_after_the_other);
  return 2;
}
