// simulator_speed.cpp -- how fast the simulated machine simulates: accesses per second of real
// time.
//
// Runs on the simulated machine (SYNCOPATE_MACHINE; one with 64 processors or more, such as
// opteron-6272). Real time is this process's processor time: getrusage is not simulated.
#include <syncopate/locks/mcs_lock.h>
#include <syncopate/locks/tatas_lock.h>
#include <syncopate/machine.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include <sys/resource.h>

namespace {

double real_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

void print(const char* what, std::uint64_t accesses, double seconds) {
  std::printf("%-58s %7.2f million accesses/s\n", what,
              static_cast<double>(accesses) / seconds / 1e6);
  std::fflush(stdout);
}

// One thread that reads and writes an array of `bytes`.
void plain(const char* what, std::size_t bytes, unsigned accesses) {
  std::vector<std::uint64_t> array(bytes / sizeof(std::uint64_t));
  std::uint64_t* const values = array.data();
  const std::size_t mask = array.size() - 1;
  const double before = real_seconds();
  for (unsigned i = 0; i < accesses / 2; ++i) values[i * 8 & mask] += i;  // a read and a write
  print(what, accesses, real_seconds() - before);
}

// A convoy: every thread wants the lock all the time, and touches shared memory while it has it.
template <class Lock>
void convoy(const char* what, unsigned threads, unsigned rounds, unsigned accesses) {
  struct alignas(128) shared {
    Lock lock;
    alignas(128) std::atomic<unsigned> arrived{0};
    alignas(128) std::array<std::uint64_t, 128> values{};
  };
  const auto s = std::make_unique<shared>();
  const double before = real_seconds();
  std::vector<std::thread> all;
  for (unsigned t = 0; t < threads; ++t) {
    all.emplace_back([&] {
      s->arrived.fetch_add(1, std::memory_order_release);
      syncopate::machine::wait_until(s->arrived, std::memory_order_acquire,
                                     [threads](unsigned n) { return n == threads; });
      for (unsigned i = 0; i < rounds; ++i) {
        s->lock.lock();
        for (unsigned k = 0; k < accesses / 2; ++k) ++s->values[k % 128];
        s->lock.unlock();
      }
    });
  }
  for (std::thread& t : all) t.join();
  print(what, std::uint64_t{threads} * rounds * accesses, real_seconds() - before);
}

}  // namespace

int main() {
  plain("one thread, array of 16 KiB (hits)", 16 << 10, 40'000'000);
  plain("one thread, array of 4 MiB (misses)", 4 << 20, 10'000'000);
  convoy<syncopate::tatas_lock<>>("64 threads, tatas, 10 accesses in each critical section", 64,
                                  500, 10);
  convoy<syncopate::tatas_lock<>>("64 threads, tatas, 100 accesses in each critical section", 64,
                                  500, 100);
  convoy<syncopate::mcs_lock<>>("64 threads, mcs, 10 accesses in each critical section", 64, 500,
                                10);
}
