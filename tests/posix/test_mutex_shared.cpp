// test_mutex_shared.cpp -- process-shared mutexes between forked processes, in both directions.
#include "mutex_kinds.h"
#include "thread.h"

namespace {

struct Page {
  pthread_mutex_t mutex;
  volatile long counter;
  int child_ready;
  int parent_done;
};

void make_shared(pthread_mutex_t* mutex, int type) {
  pthread_mutexattr_t attributes;
  CHECK_OK(pthread_mutexattr_init(&attributes));
  CHECK_OK(pthread_mutexattr_settype(&attributes, type));
  CHECK_OK(pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED));
  CHECK_OK(pthread_mutex_init(mutex, &attributes));
}

void add_under_lock(Page* page) {
  int errors = 0;
  for (int i = 0; i < 5000; ++i) {
    errors += pthread_mutex_lock(&page->mutex) != 0;
    page->counter = page->counter + 1;
    errors += pthread_mutex_unlock(&page->mutex) != 0;
  }
  CHECK_EQ(errors, 0);
}

void both_directions(const MutexKind& kind) {
  auto* page = static_cast<Page*>(shared_memory(sizeof(Page)));
  make_shared(&page->mutex, kind.type);
  CHECK_OK(pthread_mutex_lock(&page->mutex));
  const pid_t child = check_fork();
  if (child == 0) {
    // Held by the parent.
    CHECK_ERR(pthread_mutex_trylock(&page->mutex), EBUSY);
    const timespec soon = in_ms(CLOCK_MONOTONIC, 2);
    CHECK_ERR(pthread_mutex_clocklock(&page->mutex, CLOCK_MONOTONIC, &soon), ETIMEDOUT);
    if (kind.type == PTHREAD_MUTEX_RECURSIVE || kind.type == PTHREAD_MUTEX_ERRORCHECK)
      CHECK_ERR(pthread_mutex_unlock(&page->mutex), EPERM);
    set_int(&page->child_ready, 1);
    CHECK_OK(pthread_mutex_lock(&page->mutex));  // blocks until the parent releases
    set_int(&page->child_ready, 2);
    await_int(&page->parent_done, 1);
    CHECK_OK(pthread_mutex_unlock(&page->mutex));
    run_threads(2, [&](int) { add_under_lock(page); });
    _exit(0);
  }
  await_int(&page->child_ready, 1);
  sleep_ms(2);
  CHECK_OK(pthread_mutex_unlock(&page->mutex));
  await_int(&page->child_ready, 2);
  // Held by the child.
  CHECK_ERR(pthread_mutex_trylock(&page->mutex), EBUSY);
  CHECK_ERR(pthread_mutex_destroy(&page->mutex), EBUSY);
  set_int(&page->parent_done, 1);
  run_threads(2, [&](int) { add_under_lock(page); });
  CHECK_CHILD(child);
  CHECK_EQ(page->counter, 20000);
  CHECK_OK(pthread_mutex_destroy(&page->mutex));
  CHECK_EQ(munmap(page, sizeof(Page)), 0);
}

}  // namespace

int main() {
  check_begin();
  for (const MutexKind& kind : mutex_kinds) both_directions(kind);
  return check_end();
}
