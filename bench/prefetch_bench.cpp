// prefetch_bench.cpp -- lock_with_prefetch() against lock(): critical sections that write to random
// lines of a large array, whose places the thread knows before it asks for the lock.
//
// Usage: prefetch_bench [ROUNDS [MILLISECONDS [THREADS [MEGABYTES [LINES]]]]]
// LINES: only the second part, with so many lines a section (unless told: 10, 100, 1000).
// First what there is to win: how long one thread takes for a section on cold lines, for asking for
// the lines, and for a section on lines that it has asked for. Then all threads with both, many
// short rounds in turn (A B B A), so that what else the machine does meets both: how long a section
// holds the lock (medians), sections a second, the median of their ratio prefetching / plain round
// by round with its 95 % interval, and the ratio of the best rounds, which were disturbed least.
// `chained` sections need each line before they know the next one; `independent` ones let the
// processor fetch several at a time by itself. Processors read the clock before the last misses
// have come: `held` of less than a microsecond is too short. Throughput needs a processor for each
// thread and no other work: a waiter whose processor is wanted elsewhere has no time to ask for
// lines in.

#include <syncopate/locks/futex_lock.h>
#include <syncopate/locks/lock_with_prefetch.h>
#include <syncopate/locks/tatas_lock.h>
#include <syncopate/locks/ticket_lock.h>
#include <syncopate/machine.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
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
  unsigned rounds = 41, milliseconds = 40, threads = 2, megabytes = 1024, lines = 0;
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
  return values[static_cast<std::size_t>(std::lround(q * static_cast<double>(values.size() - 1)))];
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

struct outcome {
  double per_second;  // sections of all threads together
  double held;        // nanoseconds that a section holds the lock; the median
};

template <class Lock>
outcome measure(const parameters& p, std::vector<line>& array, unsigned footprint, bool chained,
                bool prefetch, unsigned seed) {
  alignas(128) Lock lock;
  std::atomic<bool> stop{false};
  std::vector<std::vector<double>> held(p.threads);
  const auto work = [&](unsigned me) {
    sections mine(array, footprint, chained, seed + me);
    while (!stop.load(std::memory_order_relaxed)) {
      mine.choose();
      if (prefetch) (void)syncopate::lock_with_prefetch(lock, mine.prefetch());
      else lock.lock();
      const std::uint64_t taken = machine::ticks();
      mine.run();
      const std::uint64_t ticks = machine::ticks() - taken;
      lock.unlock();
      held[me].push_back(static_cast<double>(ticks));
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
  std::vector<double> all;
  for (const std::vector<double>& each : held) all.insert(all.end(), each.begin(), each.end());
  if (all.empty()) return {0, 0};  // the round was too short to finish a section
  const double nanoseconds = 1e9 / static_cast<double>(machine::ticks_per_second());
  return {static_cast<double>(all.size()) / seconds, quantile(all, 0.5) * nanoseconds};
}

// Of the median, by order statistics: the ranks that it lies between in 95 of 100 samples.
struct interval {
  double low, high;
};
interval of_median(const std::vector<double>& values) {
  const double n = static_cast<double>(values.size());
  const double half_width = n < 2 ? 0.5 : std::min(0.5, 0.98 / std::sqrt(n));
  return {quantile(values, 0.5 - half_width), quantile(values, 0.5 + half_width)};
}

template <class Lock>
void compare(const parameters& p, const char* name, std::vector<line>& array, unsigned footprint,
             bool chained) {
  std::vector<double> speed[2], held[2], ratio;  // without and with prefetching
  for (unsigned round = 0; round < p.rounds; ++round) {
    outcome both[2];
    for (const bool second : {false, true}) {
      const bool prefetch = second == (round % 2 == 0);
      both[prefetch ? 1 : 0] = measure<Lock>(p, array, footprint, chained, prefetch, 2 * round + 1);
    }
    if (both[0].per_second == 0 || both[1].per_second == 0) continue;
    for (const int i : {0, 1}) {
      speed[i].push_back(both[i].per_second);
      held[i].push_back(both[i].held);
    }
    ratio.push_back(both[1].per_second / both[0].per_second);
  }
  if (ratio.empty()) return;
  const interval sure = of_median(ratio);
  std::printf("%-7s %9u  %-11s %9.0f %9.0f %10.0f %10.0f  %.2f (%.2f to %.2f)  %.2f\n", name,
              footprint, chained ? "chained" : "independent", quantile(held[0], 0.5),
              quantile(held[1], 0.5), quantile(speed[0], 0.5), quantile(speed[1], 0.5),
              quantile(ratio, 0.5), sure.low, sure.high,
              quantile(speed[1], 1) / quantile(speed[0], 1));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  parameters p;
  unsigned* const fields[] = {&p.rounds, &p.milliseconds, &p.threads, &p.megabytes, &p.lines};
  for (int i = 1; i < argc && i <= 5; ++i) {
    *fields[i - 1] = static_cast<unsigned>(std::strtoul(argv[i], nullptr, 10));
    if (*fields[i - 1] == 0) {
      std::fprintf(stderr, "usage: %s [ROUNDS [MILLISECONDS [THREADS [MEGABYTES [LINES]]]]]\n",
                   argv[0]);
      return 2;
    }
  }
  std::vector<line> array(std::size_t{p.megabytes} * 1024 * 1024 / sizeof(line));
  if (p.lines == 0) {
    std::printf("one thread, %u MiB, median of 200, nanoseconds\n", p.megabytes);
    std::printf("footprint  sections          cold     asking      after\n");
    for (const unsigned footprint : {100u, 1000u, 10'000u})
      for (const bool chained : {false, true}) time_one_thread(array, footprint, chained);
    std::printf("\n");
  }
  std::printf("%u threads, %u rounds of %u ms, in turn\n", p.threads, p.rounds, p.milliseconds);
  std::printf("lock    footprint  sections    held, ns +prefetch  sections/s  +prefetch");
  std::printf("  ratio (95 %%)         best\n");
  std::vector<unsigned> footprints{10, 100, 1000};
  if (p.lines != 0) footprints = {p.lines};
  for (const unsigned footprint : footprints)
    for (const bool chained : {false, true}) {
      compare<syncopate::tatas_lock<>>(p, "tatas", array, footprint, chained);
      compare<syncopate::ticket_lock<>>(p, "ticket", array, footprint, chained);
      compare<syncopate::futex_lock>(p, "futex", array, footprint, chained);
    }
  return 0;
}
