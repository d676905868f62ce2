// validate_memory.cpp -- memory bandwidth of a modeled machine: what bench/validate.py holds
// against published measurements.
//
//   validate_memory read THREADS
//       gigabytes a second that threads spread evenly over all processors read, each of an array of
//       its own, from the memory of its node
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

namespace machine = syncopate::machine;

namespace {

constexpr std::size_t line_words = 8;

double read_rate(unsigned threads) {
  constexpr std::size_t words = std::size_t{1} << 19;  // 4 MiB each
  const unsigned cores = machine::processors();
  std::vector<std::vector<std::uint64_t>> arrays(threads);
  std::vector<std::thread> pool;
  std::vector<std::uint64_t> took(threads * 32);
  for (unsigned i = 0; i < threads; ++i)
    pool.emplace_back([&, i] {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(i * (cores / threads), &set);
      pthread_setaffinity_np(pthread_self(), sizeof set, &set);
      arrays[i].resize(words);  // its pages are the node's
      const std::uint64_t* array = arrays[i].data();
      std::uint64_t sum = 0;
      const std::uint64_t began = machine::now();
      for (std::size_t word = 0; word < words / 8; word += line_words)
        sum += *static_cast<const volatile std::uint64_t*>(array + word);
      took[i * 32] = machine::now() - began + (sum & 0);
    });
  double rate = 0;
  for (unsigned i = 0; i < threads; ++i) {
    pool[i].join();
    rate += static_cast<double>(words) / static_cast<double>(took[i * 32]);
  }
  return rate;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 2 && words[0] == "read") {
    const auto threads = static_cast<unsigned>(std::strtoul(words[1].c_str(), nullptr, 10));
    if (threads > 0) {
      std::printf("%.2f\n", read_rate(threads));
      return 0;
    }
  }
  std::fprintf(stderr, "usage: validate_memory read THREADS\n");
  return 2;
}
