// barrier_phases.cpp -- pthread_barrier, std::barrier and std::latch: nobody is a phase ahead.

#include <atomic>
#include <barrier>
#include <latch>
#include <thread>
#include <vector>

#include <pthread.h>

#include "check.h"

namespace {

constexpr int threads = 5, phases = 6;

// Every thread adds one in each phase; after the barrier all have.
template <class Wait>
void phases_stay_together(Wait wait) {
  std::atomic<int> arrivals{0};
  std::vector<std::thread> team;
  for (int t = 0; t < threads; ++t)
    team.emplace_back([&] {
      for (int phase = 1; phase <= phases; ++phase) {
        arrivals.fetch_add(1);
        wait();
        CHECK(arrivals.load() >= phase * threads);
        wait();  // nobody starts the next phase before all have looked
        CHECK(arrivals.load() <= (phase + 1) * threads);
      }
    });
  for (std::thread& t : team) t.join();
  CHECK(arrivals.load() == phases * threads);
}

// One thread of each round is told that it is the serial one, and may destroy the barrier at once.
void serial_thread_destroys() {
  auto* const barrier = new pthread_barrier_t;
  CHECK(pthread_barrier_init(barrier, nullptr, threads) == 0);
  std::atomic<int> serial{0};
  std::vector<std::thread> team;
  for (int t = 0; t < threads; ++t)
    team.emplace_back([&] {
      const int result = pthread_barrier_wait(barrier);
      CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
      if (result == 0) return;
      serial.fetch_add(1);
      CHECK(pthread_barrier_destroy(barrier) == 0);
      delete barrier;
    });
  for (std::thread& t : team) t.join();
  CHECK(serial.load() == 1);
}

}  // namespace

int main() {
  pthread_barrier_t barrier;
  CHECK(pthread_barrier_init(&barrier, nullptr, 0) != 0);
  CHECK(pthread_barrier_init(&barrier, nullptr, threads) == 0);
  std::atomic<int> serial{0};
  phases_stay_together([&] {
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) serial.fetch_add(1);
  });
  CHECK(serial.load() == 2 * phases);
  CHECK(pthread_barrier_destroy(&barrier) == 0);
  serial_thread_destroys();

  int completions = 0;
  std::barrier standard(threads, [&]() noexcept { ++completions; });
  phases_stay_together([&] { standard.arrive_and_wait(); });
  CHECK(completions == 2 * phases);

  std::latch latch(3);
  std::thread first([&] { latch.count_down(); });
  std::thread second([&] { latch.count_down(); });
  latch.arrive_and_wait();
  first.join();
  second.join();
}
