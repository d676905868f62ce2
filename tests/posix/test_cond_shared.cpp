// test_cond_shared.cpp -- process-shared condition variables: turns between processes, both
// directions.
#include "thread.h"

namespace {

struct Page {
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  int turn;
  int rounds;
};

void make(Page* page, clockid_t clock) {
  pthread_mutexattr_t of_mutex;
  pthread_condattr_t of_cond;
  CHECK_OK(pthread_mutexattr_init(&of_mutex));
  CHECK_OK(pthread_mutexattr_setpshared(&of_mutex, PTHREAD_PROCESS_SHARED));
  CHECK_OK(pthread_mutex_init(&page->mutex, &of_mutex));
  CHECK_OK(pthread_condattr_init(&of_cond));
  CHECK_OK(pthread_condattr_setpshared(&of_cond, PTHREAD_PROCESS_SHARED));
  CHECK_OK(pthread_condattr_setclock(&of_cond, clock));
  CHECK_OK(pthread_cond_init(&page->cond, &of_cond));
}

void take_turns(Page* page, int self, clockid_t clock) {
  int bad = pthread_mutex_lock(&page->mutex);
  for (int i = 0; i < 300; ++i) {
    while (page->turn != self) {
      const timespec deadline = in_ms(clock, 50000);
      bad |= i % 2 != 0 ? pthread_cond_wait(&page->cond, &page->mutex)
                        : pthread_cond_timedwait(&page->cond, &page->mutex, &deadline);
    }
    page->turn = (self + 1) % 3;
    ++page->rounds;
    bad |= pthread_cond_broadcast(&page->cond);
  }
  bad |= pthread_mutex_unlock(&page->mutex);
  CHECK_EQ(bad, 0);
}

void between_processes(clockid_t clock) {
  auto* page = static_cast<Page*>(shared_memory(sizeof(Page)));
  make(page, clock);
  pid_t children[2];
  for (int i = 0; i < 2; ++i) {
    children[i] = check_fork();
    if (children[i] == 0) {
      take_turns(page, i + 1, clock);
      _exit(0);
    }
  }
  take_turns(page, 0, clock);
  for (const pid_t child : children) CHECK_CHILD(child);
  CHECK_EQ(page->rounds, 900);
  CHECK_OK(pthread_cond_destroy(&page->cond));
  CHECK_OK(pthread_mutex_destroy(&page->mutex));
  CHECK_EQ(munmap(page, sizeof(Page)), 0);
}

}  // namespace

int main() {
  check_begin();
  between_processes(CLOCK_REALTIME);
  between_processes(CLOCK_MONOTONIC);
  return check_end();
}
