// test_barrier.cpp -- barriers: one serial thread a round, reuse, destroy by the first to leave,
// processes.
#include "thread.h"

namespace {

void arguments() {
  pthread_barrier_t barrier;
  CHECK_ERR(pthread_barrier_init(&barrier, nullptr, 0), EINVAL);
  CHECK_OK(pthread_barrier_init(&barrier, nullptr, 1));
  for (int i = 0; i < 5; ++i)
    CHECK_EQ(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);
  CHECK_OK(pthread_barrier_destroy(&barrier));
}

// Nobody leaves round r before all have entered it; exactly one is told to be the serial thread.
void rounds_of(int threads, int rounds) {
  pthread_barrier_t barrier;
  memset(static_cast<void*>(&barrier), 0xa5, sizeof barrier);
  CHECK_OK(pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(threads)));
  int entered = 0;
  int serials = 0;
  int bad = 0;
  run_threads(threads, [&](int) {
    for (int round = 1; round <= rounds; ++round) {
      add_int(&entered, 1);
      const int result = pthread_barrier_wait(&barrier);
      if (get_int(&entered) < round * threads) add_int(&bad, 1);
      if (result == PTHREAD_BARRIER_SERIAL_THREAD) add_int(&serials, 1);
      else if (result != 0) add_int(&bad, 1);
    }
  });
  CHECK_EQ(bad, 0);
  CHECK_EQ(serials, rounds);
  CHECK_EQ(entered, rounds * threads);
  CHECK_OK(pthread_barrier_destroy(&barrier));
}

// The serial thread destroys and unmaps the barrier at once; the others may still be leaving it.
void destroyed_by_the_first_to_leave() {
  constexpr int threads = 4;
  constexpr int rounds = 200;
  static pthread_barrier_t* barriers[rounds];
  for (pthread_barrier_t*& barrier : barriers) {
    void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) abort();
    barrier = static_cast<pthread_barrier_t*>(memory);
    CHECK_OK(pthread_barrier_init(barrier, nullptr, threads));
  }
  run_threads(threads, [&](int) {
    for (pthread_barrier_t* barrier : barriers) {
      if (pthread_barrier_wait(barrier) != PTHREAD_BARRIER_SERIAL_THREAD) continue;
      CHECK_OK(pthread_barrier_destroy(barrier));
      CHECK_EQ(munmap(barrier, 4096), 0);
    }
  });
}

struct Page {
  pthread_barrier_t barrier;
  int entered;
  int serials;
};

void between_processes() {
  constexpr int processes = 3;
  constexpr int rounds = 100;
  auto* page = static_cast<Page*>(shared_memory(sizeof(Page)));
  pthread_barrierattr_t attributes;
  CHECK_OK(pthread_barrierattr_init(&attributes));
  CHECK_OK(pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED));
  CHECK_OK(pthread_barrier_init(&page->barrier, &attributes, processes));
  const auto run = [=] {
    int bad = 0;
    for (int round = 1; round <= rounds; ++round) {
      add_int(&page->entered, 1);
      const int result = pthread_barrier_wait(&page->barrier);
      if (get_int(&page->entered) < round * processes) bad = 1;
      if (result == PTHREAD_BARRIER_SERIAL_THREAD) add_int(&page->serials, 1);
    }
    CHECK_EQ(bad, 0);
  };
  pid_t children[processes - 1];
  for (pid_t& child : children) {
    child = check_fork();
    if (child == 0) {
      run();
      _exit(0);
    }
  }
  run();
  for (const pid_t child : children) CHECK_CHILD(child);
  CHECK_EQ(page->serials, rounds);
  CHECK_OK(pthread_barrier_destroy(&page->barrier));
}

}  // namespace

int main() {
  check_begin();
  arguments();
  rounds_of(2, 2000);
  rounds_of(5, 800);
  rounds_of(16, 100);
  destroyed_by_the_first_to_leave();
  between_processes();
  return check_end();
}
