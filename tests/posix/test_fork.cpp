// test_fork.cpp -- fork in a threaded program: atfork handlers hold the locks, the child goes on
// using them.
//
// In the child the threads that were waiting do not exist: a lock handed to one of them is lost
// for ever.
#include "thread.h"

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t remade = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
volatile long counter = 0;
int handler_errors = 0;

void note(int error) {
  if (error != 0) add_int(&handler_errors, 1);
}

void before() {
  note(pthread_mutex_lock(&mutex));
  note(pthread_mutex_lock(&remade));
  note(pthread_rwlock_wrlock(&rwlock));
}

void in_parent() {
  note(pthread_rwlock_unlock(&rwlock));
  note(pthread_mutex_unlock(&remade));
  note(pthread_mutex_unlock(&mutex));
}

// The two ways of real programs: release what was taken (most), or make it anew (jemalloc, Python).
void in_child() {
  note(pthread_rwlock_init(&rwlock, nullptr));
  note(pthread_mutex_init(&remade, nullptr));
  note(pthread_mutex_unlock(&mutex));
}

int use_all() {
  int bad = pthread_mutex_lock(&mutex);
  counter = counter + 1;
  bad |= pthread_mutex_unlock(&mutex);
  bad |= pthread_mutex_lock(&remade) | pthread_mutex_unlock(&remade);
  bad |= pthread_rwlock_rdlock(&rwlock) | pthread_rwlock_unlock(&rwlock);
  bad |= pthread_rwlock_wrlock(&rwlock) | pthread_rwlock_unlock(&rwlock);
  return bad;
}

void child_of_a_busy_program() {
  for (int i = 0; i < 5; ++i) CHECK_OK(use_all());
  // Threads of the child, contending on the inherited locks.
  run_threads(3, [](int) {
    int bad = 0;
    for (int i = 0; i < 200; ++i) bad |= use_all();
    CHECK_EQ(bad, 0);
  });
  // New objects, and a condition variable among them.
  pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  int turn = 0;
  run_threads(2, [&](int self) {
    CHECK_OK(pthread_mutex_lock(&fresh));
    for (int i = 0; i < 20; ++i) {
      while (turn != self) CHECK_OK(pthread_cond_wait(&cond, &fresh));
      turn = 1 - self;
      CHECK_OK(pthread_cond_signal(&cond));
    }
    CHECK_OK(pthread_mutex_unlock(&fresh));
  });
  CHECK_EQ(get_int(&handler_errors), 0);
}

void while_others_contend() {
  int stop = 0;
  {
    std::deque<Thread> busy;
    for (int i = 0; i < 3; ++i) {
      busy.emplace_back([&] {
        int bad = 0;
        while (get_int(&stop) == 0) bad |= use_all();
        CHECK_EQ(bad, 0);
      });
    }
    for (int round = 0; round < 12; ++round) {
      const pid_t child = check_fork();
      if (child == 0) {
        child_of_a_busy_program();
        _exit(0);
      }
      CHECK_CHILD(child);
    }
    set_int(&stop, 1);
  }
  CHECK_EQ(handler_errors, 0);
}

// fork by the holder of a mutex that others wait for, without handlers: the child holds it too.
void held_with_waiters() {
  pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
  std::deque<Thread> waiters;
  CHECK_OK(pthread_mutex_lock(&held));
  for (int i = 0; i < 3; ++i) {
    waiters.emplace_back([&] {
      CHECK_OK(pthread_mutex_lock(&held));
      CHECK_OK(pthread_mutex_unlock(&held));
    });
  }
  sleep_ms(5);
  const pid_t child = check_fork();
  if (child == 0) {
    CHECK_ERR(pthread_mutex_trylock(&held), EBUSY);
    CHECK_OK(pthread_mutex_unlock(&held));
    for (int i = 0; i < 3; ++i) {
      CHECK_OK(pthread_mutex_lock(&held));
      CHECK_OK(pthread_mutex_unlock(&held));
    }
    CHECK_OK(in_other_thread([&] { return pthread_mutex_trylock(&held); }));
    _exit(0);
  }
  CHECK_CHILD(child);
  CHECK_OK(pthread_mutex_unlock(&held));
}

// What a child has released of its parent's is free, and may be destroyed.
void destroyed_by_child() {
  pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
  CHECK_OK(pthread_mutex_lock(&held));
  const pid_t child = check_fork();
  if (child == 0) {
    CHECK_ERR(pthread_mutex_destroy(&held), EBUSY);
    CHECK_OK(pthread_mutex_unlock(&held));
    CHECK_OK(pthread_mutex_destroy(&held));
    _exit(0);
  }
  CHECK_CHILD(child);
  CHECK_OK(pthread_mutex_unlock(&held));
  CHECK_OK(pthread_mutex_destroy(&held));
}

// A recursive mutex knows its owner by thread id, and the child's thread has another: glibc refuses
// its unlock, and programs make it anew.
void recursive_is_made_anew() {
  CHECK_OK(pthread_mutex_lock(&recursive));
  const pid_t child = check_fork();
  if (child == 0) {
    CHECK_ERR(pthread_mutex_unlock(&recursive), EPERM);
    pthread_mutexattr_t attributes;
    CHECK_OK(pthread_mutexattr_init(&attributes));
    CHECK_OK(pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE));
    CHECK_OK(pthread_mutex_init(&recursive, &attributes));
    CHECK_OK(pthread_mutex_lock(&recursive));
    CHECK_OK(pthread_mutex_lock(&recursive));
    CHECK_OK(pthread_mutex_unlock(&recursive));
    CHECK_ERR(in_other_thread([] { return pthread_mutex_trylock(&recursive); }), EBUSY);
    CHECK_OK(pthread_mutex_unlock(&recursive));
    _exit(0);
  }
  CHECK_CHILD(child);
  CHECK_OK(pthread_mutex_unlock(&recursive));
  CHECK_ERR(pthread_mutex_unlock(&recursive), EPERM);
}

// Errorcheck ownership of what the child itself locks is the child's, after several generations.
void generations() {
  const pid_t child = check_fork();
  if (child == 0) {
    const pid_t grandchild = check_fork();
    if (grandchild == 0) {
      pthread_mutex_t own = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
      CHECK_OK(pthread_mutex_lock(&own));
      CHECK_ERR(pthread_mutex_lock(&own), EDEADLK);
      CHECK_ERR(in_other_thread([&] { return pthread_mutex_unlock(&own); }), EPERM);
      CHECK_OK(pthread_mutex_unlock(&own));
      _exit(0);
    }
    CHECK_CHILD(grandchild);
    _exit(0);
  }
  CHECK_CHILD(child);
}

}  // namespace

int main() {
  check_begin();
  CHECK_OK(pthread_atfork(before, in_parent, in_child));
  while_others_contend();
  held_with_waiters();
  destroyed_by_child();
  recursive_is_made_anew();
  generations();
  return check_end();
}
