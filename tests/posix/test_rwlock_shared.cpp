// test_rwlock_shared.cpp -- process-shared rwlocks between forked processes, in both directions.
#include "thread.h"

namespace {

struct Page {
  pthread_rwlock_t lock;
  volatile long first;
  volatile long second;
  int step;
};

void read_and_write(Page* page) {
  int bad = 0;
  for (int i = 0; i < 2000; ++i) {
    if (i % 4 == 0) {
      bad |= pthread_rwlock_wrlock(&page->lock);
      page->first = page->first + 1;
      page->second = page->second + 1;
    } else {
      bad |= pthread_rwlock_rdlock(&page->lock);
      if (page->first != page->second) bad = -1;
    }
    bad |= pthread_rwlock_unlock(&page->lock);
  }
  CHECK_EQ(bad, 0);
}

void between_processes(int kind) {
  auto* page = static_cast<Page*>(shared_memory(sizeof(Page)));
  pthread_rwlockattr_t attributes;
  CHECK_OK(pthread_rwlockattr_init(&attributes));
  CHECK_OK(pthread_rwlockattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED));
  CHECK_OK(pthread_rwlockattr_setkind_np(&attributes, kind));
  CHECK_OK(pthread_rwlock_init(&page->lock, &attributes));
  CHECK_OK(pthread_rwlock_wrlock(&page->lock));
  const pid_t child = check_fork();
  if (child == 0) {
    CHECK_ERR(pthread_rwlock_tryrdlock(&page->lock), EBUSY);
    CHECK_ERR(pthread_rwlock_trywrlock(&page->lock), EBUSY);
    set_int(&page->step, 1);
    CHECK_OK(pthread_rwlock_rdlock(&page->lock));  // blocks until the parent releases
    set_int(&page->step, 2);
    await_int(&page->step, 3);
    CHECK_OK(pthread_rwlock_unlock(&page->lock));
    read_and_write(page);
    _exit(0);
  }
  await_int(&page->step, 1);
  sleep_ms(2);
  CHECK_OK(pthread_rwlock_unlock(&page->lock));
  await_int(&page->step, 2);
  CHECK_ERR(pthread_rwlock_trywrlock(&page->lock), EBUSY);
  CHECK_OK(pthread_rwlock_tryrdlock(&page->lock));
  CHECK_OK(pthread_rwlock_unlock(&page->lock));
  set_int(&page->step, 3);
  run_threads(2, [&](int) { read_and_write(page); });
  CHECK_CHILD(child);
  CHECK_EQ(page->first, 1500);
  CHECK_EQ(page->second, 1500);
  CHECK_OK(pthread_rwlock_destroy(&page->lock));
  CHECK_EQ(munmap(page, sizeof(Page)), 0);
}

}  // namespace

int main() {
  check_begin();
  between_processes(PTHREAD_RWLOCK_PREFER_READER_NP);
  between_processes(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  return check_end();
}
