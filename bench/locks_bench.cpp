// locks_bench.cpp -- every lock of <syncopate/locks/all.h> used directly as a C++ object, without
// the preload library: one thread alone, and two threads with short sections. The null lock (in the
// list) shows what the loop itself costs, std::mutex what the platform gives. What
// unmodified programs see of the same locks is bench/pthread_load.cpp's job.

#include <benchmark/benchmark.h>
#include <syncopate/locks/all.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace {

// Lock and data on lines of their own: what is measured is the lock, not false sharing.
template <class Lock>
struct guarded {
  alignas(128) Lock lock;
  alignas(128) std::uint64_t counter = 0;
};

// About 4 cycles a step, on data of the calling thread only.
void work(std::uint64_t& state, int steps) {
  for (; steps != 0; --steps) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    benchmark::DoNotOptimize(state);
  }
}

template <class Lock>
void register_lock(const std::string& name) {
  const auto shared = std::make_shared<guarded<Lock>>();
  const auto uncontended = [shared](benchmark::State& state) {
    for (auto _ : state) {
      shared->lock.lock();
      benchmark::ClobberMemory();
      shared->lock.unlock();
    }
  };
  const auto contended = [shared](benchmark::State& state) {
    std::uint64_t own = static_cast<std::uint64_t>(state.thread_index());
    for (auto _ : state) {
      shared->lock.lock();
      ++shared->counter;  // loses updates under the null lock, and only there
      work(own, 25);
      shared->lock.unlock();
      work(own, 25);
    }
    state.SetItemsProcessed(state.iterations());
  };
  benchmark::RegisterBenchmark(("uncontended/" + name).c_str(), uncontended);
  benchmark::RegisterBenchmark(("contended/" + name).c_str(), contended)->Threads(2)->UseRealTime();
}

void register_all() {
  register_lock<std::mutex>("std::mutex");
  syncopate::for_each_lock([]<class Lock>(const syncopate::lock_entry<Lock>& entry) {
    std::string name(entry.name);
    if (!entry.wait.empty()) name += ":" + std::string(entry.wait);
    register_lock<Lock>(name);
  });
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  // glibc's mutex leaves out its atomic operations while a process has one thread only; a sleeping
  // second thread makes "uncontended" mean the same for every lock.
  std::atomic<bool> done{false};
  std::jthread idle([&done] { done.wait(false); });
  register_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  done.store(true);
  done.notify_all();
  return 0;
}
