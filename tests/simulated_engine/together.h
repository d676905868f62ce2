// together.h -- threads that start at the same moment, for the programs of this folder.
#pragma once

#include <syncopate/machine.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

// Runs work(index) in `count` threads that wait for each other first. Returns: cycles from the
// arrival of the last one to the end of the last one.
template <class Work>
std::uint64_t run_together(unsigned count, Work work) {
  using namespace syncopate;
  alignas(128) std::atomic<unsigned> arrived{0};
  alignas(128) std::atomic<std::uint64_t> begun{0}, ended{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      if (arrived.fetch_add(1) + 1 == count) begun = machine::ticks();
      machine::wait_until(arrived, std::memory_order_acquire,
                          [count](unsigned n) { return n == count; });
      work(i);
      const std::uint64_t now = machine::ticks();
      std::uint64_t latest = ended.load();
      while (latest < now && !ended.compare_exchange_weak(latest, now)) {
      }
    });
  }
  for (std::thread& t : threads) t.join();
  return ended - begun;
}
