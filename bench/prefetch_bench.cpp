// prefetch_bench.cpp -- lock_with_prefetch() against lock(): critical sections that write to random
// lines of a large array, whose places the thread knows before it asks for the lock.
//
// Usage: prefetch_bench [ROUNDS [MILLISECONDS [THREADS [MEGABYTES]]]]
// Runs both in turn (A B A B), so that what else the machine does meets both; prints for each lock,
// footprint and kind of section the medians in sections a second and the quartiles of the ratio
// prefetching / plain, round by round. `chained` sections need each line before they know the next
// one, `independent` ones let the processor fetch several at a time by itself.

#include <syncopate/locks/futex_lock.h>
#include <syncopate/locks/lock_with_prefetch.h>
#include <syncopate/locks/tatas_lock.h>
#include <syncopate/locks/ticket_lock.h>
#include <syncopate/machine.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

namespace {

namespace machine = syncopate::machine;

struct alignas(64) line {
  std::uint64_t value = 0;
};

struct parameters {
  unsigned rounds = 9, milliseconds = 100, threads = 2, megabytes = 1024;
};

// One thread's sections until `stop`; returns how many.
template <class Lock>
std::uint64_t run_sections(Lock& lock, std::vector<line>& array, unsigned footprint, bool chained,
                           bool prefetch, unsigned seed, const std::atomic<bool>& stop) {
  std::minstd_rand random(seed);
  std::uniform_int_distribution<std::size_t> any(0, array.size() - 1);
  std::vector<std::size_t> places(footprint);
  std::uint64_t sections = 0;
  while (!stop.load(std::memory_order_relaxed)) {
    for (std::size_t& place : places) place = any(random);
    if (prefetch)
      (void)syncopate::lock_with_prefetch(
          lock, syncopate::prefetch_each(places, [&](std::size_t i) { return &array[i]; }));
    else lock.lock();
    std::uint64_t before = 0;
    for (const std::size_t place : places) {
      // Adds zero, but the processor does not know it before the line is there.
      line& here = array[chained ? place + (before >> 63) : place];
      before = here.value++;
    }
    lock.unlock();
    ++sections;
  }
  return sections;
}

// Sections a second of all threads together.
template <class Lock>
double measure(const parameters& p, std::vector<line>& array, unsigned footprint, bool chained,
               bool prefetch, unsigned seed) {
  alignas(128) Lock lock;
  std::atomic<bool> stop{false};
  std::vector<std::uint64_t> done(p.threads);
  const std::uint64_t began = machine::now();
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < p.threads; ++i)
      threads.emplace_back([&, i] {
        done[i] = run_sections(lock, array, footprint, chained, prefetch, seed + i, stop);
      });
    std::this_thread::sleep_for(std::chrono::milliseconds(p.milliseconds));
    stop.store(true, std::memory_order_relaxed);
  }
  const double seconds = static_cast<double>(machine::now() - began) * 1e-9;
  std::uint64_t sections = 0;
  for (const std::uint64_t n : done) sections += n;
  return static_cast<double>(sections) / seconds;
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

template <class Lock>
void compare(const parameters& p, const char* name, std::vector<line>& array, unsigned footprint,
             bool chained) {
  std::vector<double> plain, prefetching, ratio;
  for (unsigned round = 0; round < p.rounds; ++round) {
    plain.push_back(measure<Lock>(p, array, footprint, chained, false, 2 * round + 1));
    prefetching.push_back(measure<Lock>(p, array, footprint, chained, true, 2 * round + 1));
    ratio.push_back(prefetching.back() / plain.back());
  }
  std::printf("%-8s %9u  %-11s  %12.0f %12.0f   %.2f  (%.2f to %.2f)\n", name, footprint,
              chained ? "chained" : "independent", quantile(plain, 0.5), quantile(prefetching, 0.5),
              quantile(ratio, 0.5), quantile(ratio, 0.25), quantile(ratio, 0.75));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  parameters p;
  unsigned* const fields[] = {&p.rounds, &p.milliseconds, &p.threads, &p.megabytes};
  for (int i = 1; i < argc && i <= 4; ++i) {
    *fields[i - 1] = static_cast<unsigned>(std::strtoul(argv[i], nullptr, 10));
    if (*fields[i - 1] == 0) {
      std::fprintf(stderr, "usage: %s [ROUNDS [MILLISECONDS [THREADS [MEGABYTES]]]]\n", argv[0]);
      return 2;
    }
  }
  std::vector<line> array(std::size_t{p.megabytes} * 1024 * 1024 / sizeof(line));
  std::printf("%u threads, %u MiB, %u rounds of %u ms, in turn\n", p.threads, p.megabytes, p.rounds,
              p.milliseconds);
  std::printf("lock     footprint  sections            lock()  +prefetch     ratio (quartiles)\n");
  for (const unsigned footprint : {10u, 100u, 1000u})
    for (const bool chained : {false, true}) {
      compare<syncopate::tatas_lock<>>(p, "tatas", array, footprint, chained);
      compare<syncopate::ticket_lock<>>(p, "ticket", array, footprint, chained);
      compare<syncopate::futex_lock>(p, "futex", array, footprint, chained);
    }
  return 0;
}
