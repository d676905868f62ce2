// papers_locks.cpp -- a program that knows nothing of transactions, with all that threads do with
// mutexes, condition variables and reader-writer locks; its own counts say whether it went right.
//
// One section in eight calls the system, which no transaction survives and which makes the others
// wait. The record says what the locks did.
//
//   papers_locks [ROUNDS [THREADS]]
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sched.h>
#include <time.h>

pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, outer = PTHREAD_MUTEX_INITIALIZER,
                inner = PTHREAD_MUTEX_INITIALIZER, tried = PTHREAD_MUTEX_INITIALIZER,
                timed = PTHREAD_MUTEX_INITIALIZER, queue_lock = PTHREAD_MUTEX_INITIALIZER,
                again = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t filled = PTHREAD_COND_INITIALIZER;

namespace {

constexpr int cells = 64;
int threads = 6, rounds = 1500;
struct table {
  long cell[cells];
  // A section of some length: on what another holder has half changed it would end wrong.
  void add(int round) {
    const long all = cell[0] + 1;
    for (long& each : cell) each = all;
    if (round % 8 == 0) sched_yield();
  }
  [[nodiscard]] bool is(long count) const {
    for (const long each : cell)
      if (each != count) return false;
    return true;
  }
};
table by_plain, by_both, by_tried, by_timed, by_again, by_writers;
long queued = 0, taken = 0, wrong_reads = 0, refused = 0, ended = 0;
bool done = false;

timespec in(long seconds) {
  timespec at{};
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_sec += seconds;
  return at;
}

void nest(int round) {
  pthread_mutex_lock(&outer);
  pthread_mutex_lock(&inner);
  by_both.add(round);
  pthread_mutex_unlock(&inner);
  pthread_mutex_unlock(&outer);
}

void try_and_time(int round) {
  while (pthread_mutex_trylock(&tried) != 0) {
    __atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED);
    sched_yield();
  }
  by_tried.add(round);
  pthread_mutex_unlock(&tried);
  const timespec late = in(60), past{1, 0};
  const int at_once = pthread_mutex_timedlock(&timed, &past);
  if (at_once == ETIMEDOUT) {
    __atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
    if (pthread_mutex_timedlock(&timed, &late) != 0) std::abort();
  }
  by_timed.add(round);
  pthread_mutex_unlock(&timed);
}

void relock_and_share(int round) {
  pthread_mutex_lock(&again);
  pthread_mutex_lock(&again);
  by_again.add(round);
  pthread_mutex_unlock(&again);
  pthread_mutex_unlock(&again);
  pthread_rwlock_rdlock(&shared);
  const bool right = by_writers.is(by_writers.cell[0]);
  pthread_rwlock_unlock(&shared);
  if (!right) __atomic_fetch_add(&wrong_reads, 1, __ATOMIC_RELAXED);
  pthread_rwlock_wrlock(&shared);
  by_writers.add(round);
  pthread_rwlock_unlock(&shared);
}

void work() {
  for (int round = 0; round < rounds; ++round) {
    pthread_mutex_lock(&plain);
    by_plain.add(round);
    pthread_mutex_unlock(&plain);
    nest(round);
    try_and_time(round);
    relock_and_share(round);
    pthread_mutex_lock(&queue_lock);
    ++queued;
    pthread_cond_signal(&filled);
    if (round % 8 == 0) sched_yield();
    pthread_mutex_unlock(&queue_lock);
  }
}

// Two of these wait for what work() queues, one of them with a limit.
void consume(bool limited) {
  pthread_mutex_lock(&queue_lock);
  for (;;) {
    while (queued == 0 && !done) {
      const timespec soon = in(1);
      if (limited) pthread_cond_timedwait(&filled, &queue_lock, &soon);
      else pthread_cond_wait(&filled, &queue_lock);
    }
    if (queued == 0) break;
    --queued;
    ++taken;
  }
  pthread_mutex_unlock(&queue_lock);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) rounds = std::atoi(argv[1]);
  if (argc > 2) threads = std::atoi(argv[2]);
  std::thread consumers[] = {std::thread(consume, false), std::thread(consume, true)};
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) workers.emplace_back(work);
  for (std::thread& each : workers) each.join();
  pthread_mutex_lock(&queue_lock);
  done = true;
  pthread_cond_broadcast(&filled);
  pthread_mutex_unlock(&queue_lock);
  for (std::thread& each : consumers) each.join();
  const long all = static_cast<long>(threads) * rounds;
  for (const table* each : {&by_plain, &by_both, &by_tried, &by_timed, &by_again, &by_writers})
    if (!each->is(all)) return std::printf("a table is wrong: %ld\n", each->cell[0]), 1;
  if (taken != all || wrong_reads != 0) return std::printf("taken %ld\n", taken), 1;
  std::puts("ok");
}
