// validate_lines.cpp -- what lines cost on a modeled machine, by who has them and how: what
// bench/validate.py asks, which compares the answers with what was published for real machines.
//
//   validate_lines line STATE OPERATION MINE OTHER THIRD
//       cycles that the thread on processor MINE takes for one operation, load, store or atomic
//       (a compare-exchange), on a line that is `modified` by the one on OTHER, or `shared`:
//       written by OTHER, then read by THIRD
//   validate_lines contended OPERATION THREADS MICROSECONDS
//       successful operations a second, in millions, of threads on processors 0, 1, ... that do
//       nothing else to one word: add (fetch-and-add) or loop (compare-exchange until it holds)
//
// One number on standard output.
#include <syncopate/machine.h>

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr unsigned lines = 64;

struct alignas(256) padded {
  std::atomic<std::uint64_t> word{0};
};
padded all[lines];

[[noreturn]] void refuse(const char* what) {
  std::fprintf(stderr, "validate_lines: %s\n", what);
  std::exit(2);
}

template <class Work>
void on_processor(unsigned processor, Work work) {
  std::thread([&] {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0) refuse("no such processor");
    work();
  }).join();
}

void operate(const std::string& what, std::atomic<std::uint64_t>& word) {
  std::uint64_t expected = 1;
  if (what == "load") word.load(std::memory_order_relaxed);
  else if (what == "store") word.exchange(2, std::memory_order_relaxed);
  else word.compare_exchange_strong(expected, 2, std::memory_order_relaxed);
}

double line_cycles(const std::string& state, const std::string& operation, unsigned mine,
                   unsigned other, unsigned third) {
  on_processor(other, [] {
    for (padded& each : all) each.word.store(1, std::memory_order_seq_cst);
  });
  if (state == "shared")
    on_processor(third, [] {
      for (padded& each : all) each.word.load(std::memory_order_relaxed);
    });
  std::uint64_t took = 0, looking = 0;
  on_processor(mine, [&] {
    for (padded& each : all) {
      const std::uint64_t began = syncopate::machine::ticks();
      operate(operation, each.word);
      const std::uint64_t ended = syncopate::machine::ticks();
      took += ended - began;
      looking += syncopate::machine::ticks() - ended;  // what the clock itself takes
    }
  });
  return (static_cast<double>(took) - static_cast<double>(looking)) / lines;
}

double contended(const std::string& operation, unsigned threads, std::uint64_t microseconds) {
  std::vector<std::uint64_t> done(threads * 32);
  std::vector<std::thread> pool;
  std::atomic<std::uint64_t>& word = all[0].word;
  const std::uint64_t until = syncopate::machine::now() + microseconds * 1000;
  for (unsigned i = 0; i < threads; ++i)
    pool.emplace_back([&, i] {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(i, &set);
      pthread_setaffinity_np(pthread_self(), sizeof set, &set);
      std::uint64_t count = 0;
      while (syncopate::machine::now() < until) {
        if (operation == "add") {
          word.fetch_add(1, std::memory_order_relaxed);
        } else {
          std::uint64_t seen = word.load(std::memory_order_relaxed);
          while (!word.compare_exchange_weak(seen, seen + 1, std::memory_order_relaxed)) {
          }
        }
        ++count;
      }
      done[i * 32] = count;
    });
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < threads; ++i) {
    pool[i].join();
    sum += done[i * 32];
  }
  return static_cast<double>(sum) / static_cast<double>(microseconds);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto number = [&](std::size_t at) {
    return static_cast<unsigned>(std::strtoul(words[at].c_str(), nullptr, 10));
  };
  if (words.size() == 6 && words[0] == "line")
    std::printf("%.1f\n", line_cycles(words[1], words[2], number(3), number(4), number(5)));
  else if (words.size() == 4 && words[0] == "contended")
    std::printf("%.3f\n", contended(words[1], number(2), number(3)));
  else refuse("line STATE OPERATION MINE OTHER THIRD, or contended OPERATION THREADS MICROSECONDS");
  return 0;
}
