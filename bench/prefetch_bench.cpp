// prefetch_bench.cpp -- lock_with_prefetch() against lock(): critical sections that write to random
// lines of a large array, whose places the thread knows before it asks for the lock.
//
// Usage: prefetch_bench [ROUNDS [MILLISECONDS [THREADS [MEGABYTES]]]]
// First what there is to win: how long one thread takes for a section on cold lines, for asking for
// the lines, and for a section on lines that it has asked for. Then all threads with both, in turn
// (A B A B), so that what else the machine does meets both: medians in sections a second, quartiles
// of the ratio prefetching / plain round by round, and the ratio of the best rounds, which were
// disturbed least. `chained` sections need each line before they know the next one; `independent`
// ones let the processor fetch several at a time by itself.

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

// The sections of one thread: where they write is chosen before each.
class sections {
 public:
  sections(std::vector<line>& array, unsigned footprint, bool chained, unsigned seed)
      : array_(array),
        random_(seed),
        any_(0, array.size() - 1),
        places_(footprint),
        chained_(chained) {}

  void choose() {
    for (std::size_t& place : places_) place = any_(random_);
  }
  void run() {
    if (chained_) run_over<true>();
    else run_over<false>();
  }
  [[nodiscard]] auto prefetch() const {
    return syncopate::prefetch_each(places_, [this](std::size_t i) { return &array_[i]; });
  }

 private:
  template <bool Chained>
  void run_over() {
    std::uint64_t before = 0;
    for (const std::size_t place : places_) {
      // Adds zero, but the processor does not know it before the line is there.
      line& here = array_[Chained ? place + (before >> 63) : place];
      before = here.value++;
    }
  }

  std::vector<line>& array_;
  std::minstd_rand random_;
  std::uniform_int_distribution<std::size_t> any_;
  std::vector<std::size_t> places_;
  bool chained_;
};

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

void time_one_thread(std::vector<line>& array, unsigned footprint, bool chained) {
  const double nanoseconds = 1e9 / static_cast<double>(machine::ticks_per_second());
  const auto time = [nanoseconds](std::vector<double>& into, auto&& work) {
    const std::uint64_t began = machine::ticks();
    work();
    into.push_back(static_cast<double>(machine::ticks() - began) * nanoseconds);
  };
  sections mine(array, footprint, chained, footprint);
  std::vector<double> cold, asking, warm;
  for (int i = 0; i < 200; ++i) {
    mine.choose();
    time(cold, [&] { mine.run(); });
    mine.choose();
    time(asking, [&] {
      auto prefetch = mine.prefetch();
      for (std::size_t step = 0; prefetch(step); ++step) {
      }
    });
    machine::spin(2000);  // until what was asked for has come
    time(warm, [&] { mine.run(); });
  }
  std::printf("%9u  %-11s %10.0f %10.0f %10.0f\n", footprint, chained ? "chained" : "independent",
              quantile(cold, 0.5), quantile(asking, 0.5), quantile(warm, 0.5));
}

// Sections a second of all threads together.
template <class Lock>
double measure(const parameters& p, std::vector<line>& array, unsigned footprint, bool chained,
               bool prefetch, unsigned seed) {
  alignas(128) Lock lock;
  std::atomic<bool> stop{false};
  std::vector<std::uint64_t> done(p.threads);
  const auto work = [&](unsigned me) {
    sections mine(array, footprint, chained, seed + me);
    for (std::uint64_t& n = done[me]; !stop.load(std::memory_order_relaxed); ++n) {
      mine.choose();
      if (prefetch) (void)syncopate::lock_with_prefetch(lock, mine.prefetch());
      else lock.lock();
      mine.run();
      lock.unlock();
    }
  };
  const std::uint64_t began = machine::now();
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < p.threads; ++i) threads.emplace_back(work, i);
    std::this_thread::sleep_for(std::chrono::milliseconds(p.milliseconds));
    stop.store(true, std::memory_order_relaxed);
  }
  const double seconds = static_cast<double>(machine::now() - began) * 1e-9;
  std::uint64_t sum = 0;
  for (const std::uint64_t n : done) sum += n;
  return static_cast<double>(sum) / seconds;
}

template <class Lock>
void compare(const parameters& p, const char* name, std::vector<line>& array, unsigned footprint,
             bool chained) {
  std::vector<double> plain, prefetching, ratio;
  for (unsigned round = 0; round < p.rounds; ++round) {
    plain.push_back(measure<Lock>(p, array, footprint, chained, false, 2 * round + 1));
    prefetching.push_back(measure<Lock>(p, array, footprint, chained, true, 2 * round + 1));
    if (plain.back() > 0) ratio.push_back(prefetching.back() / plain.back());
  }
  if (ratio.empty()) return;  // rounds too short to finish a section
  std::printf("%-8s %9u  %-11s %11.0f %11.0f   %.2f  (%.2f to %.2f)  %.2f\n", name, footprint,
              chained ? "chained" : "independent", quantile(plain, 0.5), quantile(prefetching, 0.5),
              quantile(ratio, 0.5), quantile(ratio, 0.25), quantile(ratio, 0.75),
              quantile(prefetching, 1) / quantile(plain, 1));
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
  std::printf("one thread, %u MiB, median of 200, nanoseconds\n", p.megabytes);
  std::printf("footprint  sections          cold     asking      after\n");
  for (const unsigned footprint : {100u, 1000u, 10'000u})
    for (const bool chained : {false, true}) time_one_thread(array, footprint, chained);
  std::printf("\n%u threads, %u rounds of %u ms, in turn, sections a second\n", p.threads, p.rounds,
              p.milliseconds);
  std::printf(
      "lock     footprint  sections         lock()   +prefetch   ratio (quartiles)  best\n");
  for (const unsigned footprint : {10u, 100u, 1000u})
    for (const bool chained : {false, true}) {
      compare<syncopate::tatas_lock<>>(p, "tatas", array, footprint, chained);
      compare<syncopate::ticket_lock<>>(p, "ticket", array, footprint, chained);
      compare<syncopate::futex_lock>(p, "futex", array, footprint, chained);
    }
  return 0;
}
