// test_no_memory.cpp -- a program that has used up its memory: what needs none works, and what
// needs some says so.
#include <sys/resource.h>

#include "check.h"

namespace {

constexpr size_t stack_size = size_t{1} << 18;
alignas(4096) unsigned char stacks[2][stack_size];

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

// By one thread at a time.
void* use_all(void* result) {
  const timespec past = {1, 0};
  CHECK_OK(pthread_mutex_lock(&mutex));
  int error;
  do error = pthread_cond_timedwait(&cond, &mutex, &past);
  while (error == 0);  // nobody signals: a spurious wake-up
  CHECK_ERR(error, ETIMEDOUT);
  CHECK_OK(pthread_mutex_unlock(&mutex));
  CHECK_OK(pthread_rwlock_wrlock(&rwlock));
  CHECK_OK(pthread_rwlock_unlock(&rwlock));
  CHECK_OK(pthread_rwlock_rdlock(&rwlock));
  CHECK_OK(pthread_rwlock_unlock(&rwlock));
  return result;
}

}  // namespace

int main() {
  check_begin();
  use_all(nullptr);
  void* volatile room = malloc(1 << 15);  // of which the C library may give to threads
  free(room);
  memset(stacks, 1, sizeof stacks);
  const rlimit none = {4096, RLIM_INFINITY};
  MUST(setrlimit(RLIMIT_AS, &none) == 0);

  pthread_t thread;
  CHECK_ERR(pthread_create(&thread, nullptr, use_all, nullptr), EAGAIN);
  for (unsigned char(&stack)[stack_size] : stacks) {
    pthread_attr_t attributes;
    CHECK_OK(pthread_attr_init(&attributes));
    CHECK_OK(pthread_attr_setstack(&attributes, stack, stack_size));
    MUST(pthread_create(&thread, &attributes, use_all, stack) == 0);
    void* result = nullptr;
    CHECK_OK(pthread_join(thread, &result));
    CHECK(result == stack);
  }
  use_all(nullptr);
  return check_end();
}
