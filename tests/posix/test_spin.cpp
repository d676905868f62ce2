// test_spin.cpp -- spin locks: errno, exclusion, hand-over between threads and between processes.
#include "thread.h"

namespace {

void table(int shared) {
  pthread_spinlock_t lock;
  memset(const_cast<int*>(&lock), 0x5a, sizeof lock);
  CHECK_OK(pthread_spin_init(&lock, shared));
  for (int round = 0; round < 3; ++round) {
    CHECK_OK(pthread_spin_lock(&lock));
    CHECK_ERR(pthread_spin_trylock(&lock), EBUSY);
    CHECK_ERR(in_other_thread([&] { return pthread_spin_trylock(&lock); }), EBUSY);
    CHECK_OK(pthread_spin_unlock(&lock));
    CHECK_OK(pthread_spin_trylock(&lock));
    CHECK_ERR(in_other_thread([&] { return pthread_spin_trylock(&lock); }), EBUSY);
    // Spin locks have no owner: another thread may release them.
    CHECK_OK(in_other_thread([&] { return pthread_spin_unlock(&lock); }));
  }
  CHECK_OK(pthread_spin_destroy(&lock));
  CHECK_OK(pthread_spin_init(&lock, shared));
  CHECK_OK(pthread_spin_trylock(&lock));
  CHECK_OK(pthread_spin_unlock(&lock));
  CHECK_OK(pthread_spin_destroy(&lock));
}

struct Page {
  pthread_spinlock_t lock;
  volatile long counter;
  int child_tried;
};

void add(Page* page, int rounds) {
  int bad = 0;
  for (int i = 0; i < rounds; ++i) {
    if (i % 8 == 0) {
      while (pthread_spin_trylock(&page->lock) != 0) sched_yield();
    } else {
      bad |= pthread_spin_lock(&page->lock);
    }
    page->counter = page->counter + 1;
    bad |= pthread_spin_unlock(&page->lock);
  }
  CHECK_EQ(bad, 0);
}

void exclusion_between_threads() {
  Page page{};
  CHECK_OK(pthread_spin_init(&page.lock, PTHREAD_PROCESS_PRIVATE));
  run_threads(4, [&](int) { add(&page, 5000); });
  CHECK_EQ(page.counter, 20000);
  CHECK_OK(pthread_spin_destroy(&page.lock));
}

void exclusion_between_processes() {
  auto* page = static_cast<Page*>(shared_memory(sizeof(Page)));
  CHECK_OK(pthread_spin_init(&page->lock, PTHREAD_PROCESS_SHARED));
  CHECK_OK(pthread_spin_lock(&page->lock));
  const pid_t child = check_fork();
  if (child == 0) {
    CHECK_ERR(pthread_spin_trylock(&page->lock), EBUSY);
    set_int(&page->child_tried, 1);
    add(page, 5000);
    _exit(0);
  }
  await_int(&page->child_tried, 1);
  CHECK_OK(pthread_spin_unlock(&page->lock));
  add(page, 5000);
  CHECK_CHILD(child);
  CHECK_EQ(page->counter, 10000);
  CHECK_OK(pthread_spin_destroy(&page->lock));
}

}  // namespace

int main() {
  check_begin();
  table(PTHREAD_PROCESS_PRIVATE);
  table(PTHREAD_PROCESS_SHARED);
  exclusion_between_threads();
  exclusion_between_processes();
  return check_end();
}
