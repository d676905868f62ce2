// How many executions objects of pthread cost: only orders that somebody can tell apart are run.
// Takers of one lock: each order of them. Threads at a barrier: none, unless there are more of them
// than it counts, or the program looks which is told that it is the one. The argument names the
// scenario.
// Scenario: mutex_2 0 passed: 2 executions .0 redundant
// Scenario: mutex_3 0 passed: 6 executions .0 redundant
// Scenario: mutex_4 0 passed: 24 executions .0 redundant
// Scenario: mutex_5 0 passed: 120 executions .0 redundant
// Scenario: mutex_6 0 passed: 720 executions .0 redundant
// Scenario: std_mutex_4 0 passed: 24 executions .0 redundant
// Scenario: c11_mutex_4 0 passed: 24 executions .0 redundant
// Scenario: recursive_mutex_4 0 passed: 24 executions .0 redundant
// Scenario: rwlock_writers_4 0 passed: 24 executions .0 redundant
// Scenario: spin_lock_4 0 passed: 24 executions .0 redundant
// Scenario: readers_2 0 passed: 1 executions .0 redundant
// Scenario: readers_5 0 passed: 1 executions .0 redundant
// Scenario: readers_and_a_writer_2 0 passed: 4 executions .0 redundant
// Scenario: readers_and_a_writer_3 0 passed: 8 executions .0 redundant
// Scenario: readers_and_two_writers_2 0 passed: 18 executions .0 redundant
// Scenario: shared_mutex_readers_4 0 passed: 1 executions .0 redundant
// Scenario: readers_that_try_2 0 passed: 7 executions .1 redundant
// Scenario: readers_are_no_order 1 data race: .*by thread . are not ordered
// Scenario: a_writer_comes_between 1 failed check: .*unseen
// Scenario: a_reader_keeps_the_lock 1 waits to have .*shared
// Scenario: joins_4 0 passed: 1 executions .0 redundant
// Scenario: semaphore_4 0 passed: 24 executions .0 redundant
// Scenario: barrier_2 0 passed: 1 executions .0 redundant
// Scenario: barrier_3 0 passed: 1 executions .0 redundant
// Scenario: barrier_4 0 passed: 1 executions .0 redundant
// Scenario: barrier_5 0 passed: 1 executions .0 redundant
// Scenario: barrier_6 0 passed: 1 executions .0 redundant
// Scenario: serial_thread_4 0 passed: 4 executions .0 redundant
// Scenario: serial_thread_may_be_any_4 1 failed check: .*serial_thread != last
// Scenario: barrier_of_2_meets_4 0 passed: 7 executions .1 redundant
// Scenario: groups_of_barrier_of_2_4 1 failed check: .*groups differ
// Scenario: two_consumers 0 passed: 72,798 executions .0 redundant
// Scenario: who_is_blocked_could_have_come_first 1 failed check: .*came first
// Scenario: posted_in_time_4 0 passed: 1 executions .0 redundant
#include <cassert>
#include <cstdlib>
#include <cstring>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

namespace {

unsigned value = 0;  // not atomic

void run(unsigned threads, const std::function<void(unsigned)>& body) {
  std::vector<std::thread> all;
  for (unsigned i = 0; i < threads; ++i) all.emplace_back(body, i);
  for (std::thread& each : all) each.join();
}

template <class Lock, class Unlock>
void increment(unsigned threads, Lock lock, Unlock unlock) {
  run(threads, [&](unsigned) {
    lock();
    ++value;
    unlock();
  });
  assert(value == threads);
}

void mutex(unsigned threads) {
  static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  increment(
      threads, [] { pthread_mutex_lock(&m); }, [] { pthread_mutex_unlock(&m); });
}

void std_mutex(unsigned threads) {
  static std::mutex m;
  increment(
      threads, [] { m.lock(); }, [] { m.unlock(); });
}

void c11_mutex(unsigned threads) {
  static mtx_t m;
  mtx_init(&m, mtx_plain);
  increment(
      threads, [] { mtx_lock(&m); }, [] { mtx_unlock(&m); });
}

void recursive_mutex(unsigned threads) {
  static std::recursive_mutex m;
  increment(
      threads, [] { m.lock(), m.lock(); }, [] { m.unlock(), m.unlock(); });
}

void rwlock_writers(unsigned threads) {
  static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
  increment(
      threads, [] { pthread_rwlock_wrlock(&l); }, [] { pthread_rwlock_unlock(&l); });
}

void spin_lock(unsigned threads) {
  static pthread_spinlock_t l;
  pthread_spin_init(&l, PTHREAD_PROCESS_PRIVATE);
  increment(
      threads, [] { pthread_spin_lock(&l); }, [] { pthread_spin_unlock(&l); });
}

void semaphore(unsigned threads) {
  static sem_t s;
  sem_init(&s, 0, 1);
  increment(
      threads, [] { sem_wait(&s); }, [] { sem_post(&s); });
}

pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;

unsigned read_shared() {
  pthread_rwlock_rdlock(&shared);
  const unsigned read = value;
  pthread_rwlock_unlock(&shared);
  return read;
}
void write_shared() {
  pthread_rwlock_wrlock(&shared);
  ++value;
  pthread_rwlock_unlock(&shared);
}

void readers(unsigned threads) {
  run(threads, [](unsigned) { assert(read_shared() == 0); });
}

// Each reader comes before or after each writer.
void readers_and_a_writer(unsigned readers) {
  run(readers + 1, [&](unsigned i) {
    if (i == readers) write_shared();
    else assert(read_shared() <= 1);
  });
}
void readers_and_two_writers(unsigned readers) {
  run(readers + 2, [&](unsigned i) {
    if (i >= readers) write_shared();
    else assert(read_shared() <= 2);
  });
}

void shared_mutex_readers(unsigned threads) {
  std::shared_mutex m;
  run(threads, [&](unsigned) {
    const std::shared_lock lock(m);
    assert(value == 0);
  });
}

// Who tries may see a reader more or less.
void readers_that_try(unsigned threads) {
  run(threads, [](unsigned) {
    if (pthread_rwlock_tryrdlock(&shared) == 0) pthread_rwlock_unlock(&shared);
  });
}

// A reader's section tells later readers nothing.
void readers_are_no_order(unsigned) {
  run(2, [](unsigned) {
    pthread_rwlock_rdlock(&shared);
    ++value;
    pthread_rwlock_unlock(&shared);
  });
}

void a_writer_comes_between(unsigned) {
  run(3, [](unsigned i) {
    if (i == 2) return write_shared();
    const unsigned first = read_shared(), second = read_shared();
    assert((i == 0 || first == second) && "unseen");
  });
}

void a_reader_keeps_the_lock(unsigned) {
  run(2, [](unsigned i) {
    if (i == 0) write_shared();
    else pthread_rwlock_rdlock(&shared);
  });
}

void joins(unsigned threads) {
  run(threads, [](unsigned) {});
}

pthread_barrier_t barrier;

// What one thread has written before the barrier, all others see behind it.
void barrier_of_all(unsigned threads) {
  static std::vector<int> written;
  written.assign(threads, 0);
  pthread_barrier_init(&barrier, nullptr, threads);
  run(threads, [](unsigned i) {
    written[i] = 1;
    pthread_barrier_wait(&barrier);
    for (const int each : written) assert(each == 1);
  });
  pthread_barrier_destroy(&barrier);
}

unsigned serial_thread;
void find_serial_thread(unsigned threads) {
  static unsigned serial_threads;
  pthread_barrier_init(&barrier, nullptr, threads);
  run(threads, [](unsigned i) {
    if (pthread_barrier_wait(&barrier) != PTHREAD_BARRIER_SERIAL_THREAD) return;
    serial_thread = i;
    ++serial_threads;
  });
  assert(serial_threads == 1);
}

void serial_thread_may_be_any(unsigned threads) {
  find_serial_thread(threads);
  const unsigned last = threads - 1;
  assert(serial_thread != last);
}

// Who is in the first group with thread 0 sees what it has written; the others need not.
void barrier_of_2(unsigned threads) {
  pthread_barrier_init(&barrier, nullptr, 2);
  run(threads, [](unsigned) { pthread_barrier_wait(&barrier); });
}

void groups_of_barrier_of_2(unsigned threads) {
  static std::atomic<unsigned> order{0};
  static unsigned places[16];
  pthread_barrier_init(&barrier, nullptr, 2);
  run(threads, [](unsigned i) {
    pthread_barrier_wait(&barrier);
    places[i] = order.fetch_add(1);
  });
  // Threads 0 and 3 can have met while 1 and 2 had not come.
  assert((places[0] + places[3] != 1) && "groups differ");
}

void two_consumers(unsigned) {
  static std::mutex m;
  static std::condition_variable changed;
  static int items = 0, taken = 0;
  run(3, [](unsigned i) {
    for (int n = 0; i == 2 && n < 4; ++n) {
      const std::scoped_lock lock(m);
      ++items;
      changed.notify_one();
    }
    for (int n = 0; i != 2 && n < 2; ++n) {
      std::unique_lock lock(m);
      changed.wait(lock, [] { return items > 0; });
      --items;
      ++taken;
    }
  });
  assert(taken == 4);
}

// The first thread keeps the mutex for good, so that the other one never gets it: or did before.
void who_is_blocked_could_have_come_first(unsigned) {
  static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  std::thread([] { pthread_mutex_lock(&m); }).detach();
  std::thread([] {
    pthread_mutex_lock(&m);
    assert(false && "came first");
  }).detach();
}

// A semaphore that nobody else takes from: who comes before whom cannot be told.
void posted_in_time(unsigned threads) {
  static sem_t posted[16];
  for (unsigned i = 0; i < threads; ++i) sem_init(&posted[i], 0, 0);
  std::vector<std::thread> all;
  for (unsigned i = 0; i < threads; ++i) all.emplace_back([i] { sem_post(&posted[i]); });
  for (unsigned i = 0; i < threads; ++i) sem_wait(&posted[i]);
  for (std::thread& each : all) each.join();
}

struct {
  const char* name;
  void (*run)(unsigned threads);
} const cases[] = {
    {"mutex", mutex},
    {"std_mutex", std_mutex},
    {"c11_mutex", c11_mutex},
    {"recursive_mutex", recursive_mutex},
    {"rwlock_writers", rwlock_writers},
    {"spin_lock", spin_lock},
    {"readers", readers},
    {"readers_and_a_writer", readers_and_a_writer},
    {"readers_and_two_writers", readers_and_two_writers},
    {"shared_mutex_readers", shared_mutex_readers},
    {"readers_that_try", readers_that_try},
    {"readers_are_no_order", readers_are_no_order},
    {"a_writer_comes_between", a_writer_comes_between},
    {"a_reader_keeps_the_lock", a_reader_keeps_the_lock},
    {"joins", joins},
    {"semaphore", semaphore},
    {"barrier", barrier_of_all},
    {"serial_thread", find_serial_thread},
    {"serial_thread_may_be_any", serial_thread_may_be_any},
    {"barrier_of_2_meets", barrier_of_2},
    {"groups_of_barrier_of_2", groups_of_barrier_of_2},
    {"two_consumers", two_consumers},
    {"who_is_blocked_could_have_come_first", who_is_blocked_could_have_come_first},
    {"posted_in_time", posted_in_time},
};

}  // namespace

// NAME or NAME_THREADS
int main(int argc, char** argv) {
  std::string name = argc == 2 ? argv[1] : "";
  unsigned threads = 0;
  if (!name.empty() && name.back() >= '2' && name.back() <= '9') {
    threads = static_cast<unsigned>(name.back() - '0');
    name.resize(name.size() - 2);
  }
  for (const auto& one : cases) {
    if (name != one.name) continue;
    one.run(threads);
    return 0;
  }
  return 2;
}
