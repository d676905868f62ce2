// validate_contended.cpp -- what threads get done on a modeled machine that all want one word, one
// lock or one barrier: what bench/validate.py holds against published measurements.
//
//   validate_contended WHAT THREADS PLACES MICROSECONDS
//       nanoseconds between two operations, of all threads together, each on a processor of its
//       own: `packed`, 0, 1, ..., or `spread` evenly over all cores
//
//   add             fetch-and-add of one word
//   cas             a load, then compare-exchanges until one holds
//   pause_spin      a counter under a flag: polled with PAUSE, taken by an exchange
//   ticket_spin     a counter under a ticket lock: polled without a pause, released by a store
//   ticket_yield    an empty section under a ticket lock: polled with sched_yield, released by a
//                   fetch-and-add
//   mutex           a counter under a std::mutex
//   barrier         a central barrier that polls; nanoseconds of one episode
//   false_sharing   plain additions to words of the threads' own, in one line
//
// The locks are those that were measured, written anew after their sources (validate_points.toml).
#include <syncopate/machine.h>

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr unsigned batch = 20;  // operations between two looks at the clock

struct alignas(256) padded {
  std::atomic<std::uint64_t> word{0};
};

padded shared, flag, arrived, episode;
// Both words in one line, as they were in what was measured.
struct alignas(256) {
  std::atomic<std::uint64_t> next{0}, serving{0};
} ticket;
alignas(256) std::uint64_t counter;
alignas(256) std::mutex mutex;
alignas(256) volatile std::uint64_t neighbors[8];
unsigned threads;

void add(unsigned) { shared.word.fetch_add(1, std::memory_order_relaxed); }

void cas(unsigned) {
  std::uint64_t seen = shared.word.load(std::memory_order_relaxed);
  while (!shared.word.compare_exchange_weak(seen, seen + 1)) {
  }
}

void pause_spin(unsigned) {
  do {
    while (flag.word.load(std::memory_order_relaxed) != 0) syncopate::machine::relax();
  } while (flag.word.exchange(1, std::memory_order_acquire) != 0);
  ++counter;
  flag.word.store(0, std::memory_order_release);
}

void ticket_spin(unsigned) {
  const std::uint64_t mine = ticket.next.fetch_add(1, std::memory_order_relaxed);
  while (ticket.serving.load(std::memory_order_acquire) != mine) {
  }
  ++counter;
  ticket.serving.store(ticket.serving.load() + 1, std::memory_order_release);
}

void ticket_yield(unsigned) {
  const std::uint64_t mine = ticket.next.fetch_add(1);
  while (ticket.serving.load() != mine) sched_yield();
  ticket.serving.fetch_add(1);
}

void with_mutex(unsigned) {
  const std::scoped_lock held(mutex);
  ++counter;
}

void barrier(unsigned) {
  const std::uint64_t now = episode.word.load(std::memory_order_acquire);
  if (arrived.word.fetch_add(1, std::memory_order_acq_rel) + 1 == threads) {
    arrived.word.store(0, std::memory_order_relaxed);
    episode.word.store(now + 1, std::memory_order_release);
    return;
  }
  while (episode.word.load(std::memory_order_acquire) == now) syncopate::machine::relax();
}

void false_sharing(unsigned me) { neighbors[me % 8] = neighbors[me % 8] + 1; }

struct operation {
  std::string_view name;
  void (*run)(unsigned thread);
};
constexpr operation operations[] = {
    {"add", add},
    {"cas", cas},
    {"pause_spin", pause_spin},
    {"ticket_spin", ticket_spin},
    {"ticket_yield", ticket_yield},
    {"mutex", with_mutex},
    {"barrier", barrier},
    {"false_sharing", false_sharing},
};

void pin(unsigned processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0) {
    std::fprintf(stderr, "validate_contended: no such processor\n");
    std::exit(2);
  }
}

// Nanoseconds between operations, from when all threads are there: the sum of what each of them
// does in its time, which ends with the operations that it has begun. All do as many at a barrier.
double between(const operation& what, bool spread, std::uint64_t nanoseconds) {
  const unsigned cores = syncopate::machine::processors();
  const bool counted = what.run == barrier;
  std::atomic<unsigned> ready{0};
  std::atomic<std::uint64_t> begins{0};
  std::vector<double> rates(threads * 32);
  std::vector<std::thread> pool;
  for (unsigned i = 0; i < threads; ++i)
    pool.emplace_back([&, i, run = what.run] {
      pin(spread ? i * (cores / threads) : i);
      ready.fetch_add(1);
      std::uint64_t began = 0;
      while ((began = begins.load()) == 0) syncopate::machine::relax();
      const std::uint64_t end = began + nanoseconds;
      const auto call = run;  // in a register: the loop itself touches no memory
      std::uint64_t count = 0;
      while (counted ? count < 5 * batch : syncopate::machine::now() < end) {
        for (unsigned turn = 0; turn < batch; ++turn) call(i);
        count += batch;
      }
      rates[i * 32] =
          static_cast<double>(count) / static_cast<double>(syncopate::machine::now() - began);
    });
  while (ready.load() != threads) std::this_thread::sleep_for(std::chrono::microseconds(1));
  begins.store(syncopate::machine::now() + 1);
  double rate = 0;
  for (unsigned i = 0; i < threads; ++i) {
    pool[i].join();
    rate += rates[i * 32];
  }
  return 1 / (counted ? rate / threads : rate);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 5) {
    threads = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10));
    const std::uint64_t microseconds = std::strtoull(argv[4], nullptr, 10);
    for (const operation& what : operations)
      if (what.name == argv[1] && threads > 0) {
        std::printf("%.2f\n", between(what, !std::strcmp(argv[3], "spread"), microseconds * 1000));
        return 0;
      }
  }
  std::fprintf(stderr, "usage: validate_contended WHAT THREADS packed|spread MICROSECONDS\n");
  return 2;
}
