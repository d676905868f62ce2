// support.h -- what the conformance tests share: seeds, threads, and knowing that a thread sleeps.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <sys/syscall.h>
#include <unistd.h>

#include <syncopate/machine.h>

namespace conformance {

namespace machine = syncopate::machine;

inline constexpr std::int64_t millisecond = 1'000'000;  // in nanoseconds

// Sanitizers cost a factor; a run under one does less of the same.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr int sanitizer_divisor = 4;
#else
inline constexpr int sanitizer_divisor = 1;
#endif

inline void sleep_ms(long ms) {
  const timespec t{ms / 1000, ms % 1000 * millisecond};
  ::nanosleep(&t, nullptr);
}

// The seed of a test that uses random numbers: from the environment variable SEED, else fresh.
// Prints the line that replays the run.
inline std::uint32_t test_seed() {
  const char* const given = std::getenv("SEED");
  const std::uint32_t seed = given != nullptr
                                 ? static_cast<std::uint32_t>(std::strtoul(given, nullptr, 0))
                                 : std::random_device{}();
  const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
  std::cout << "replay: SEED=" << seed
            << " test_conformance --gtest_filter=" << info->test_suite_name() << '.' << info->name()
            << std::endl;
  return seed;
}

using random_source = std::minstd_rand;

inline random_source random_of(std::uint32_t seed, int thread) {
  std::seed_seq sequence{seed, static_cast<std::uint32_t>(thread)};
  return random_source(sequence);
}

// A number in [0, bound).
inline std::uint32_t below(random_source& random, std::uint32_t bound) {
  return static_cast<std::uint32_t>(random() % bound);
}

// Runs work(0) ... work(count - 1), each on a thread of its own, and joins them.
template <class Work>
void on_threads(int count, Work work) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&work, i] { work(i); });
}

// Yields until the condition holds. A test whose condition never comes true ends by its time limit.
template <class Condition>
void await(Condition condition) {
  while (!condition()) machine::yield();
}

// A thread that says which one it is for the kernel, so that others can tell whether it sleeps.
class observed_thread {
 public:
  template <class Work>
  explicit observed_thread(Work work)
      : thread_([this, work] {
          id_.store(static_cast<int>(::syscall(SYS_gettid)), std::memory_order_release);
          work();
          done_.store(true, std::memory_order_release);
        }) {}

  // Waits until the thread has begun its work and sleeps in the kernel (or has ended).
  void await_sleep() const {
    await([this] { return id_.load(std::memory_order_acquire) != 0; });
    // Twice in a row, some time apart: a sanitizer's runtime may sleep for a moment of its own.
    for (int seen = 0; seen < 2 && !is_done(); sleep_ms(1)) seen = state() == 'S' ? seen + 1 : 0;
  }
  [[nodiscard]] bool is_done() const { return done_.load(std::memory_order_acquire); }
  void join() { thread_.join(); }
  ~observed_thread() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  // The kernel's letter for the state of the thread: R running, S sleeping.
  [[nodiscard]] char state() const {
    std::ifstream file("/proc/self/task/" + std::to_string(id_.load()) + "/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t name_end = text.rfind(')');
    return name_end + 2 < text.size() ? text[name_end + 2] : '?';
  }

  std::atomic<int> id_{0};
  std::atomic<bool> done_{false};
  std::thread thread_;  // last: the thread uses the members above
};

// The state of an object as 32-bit words, read while others may change it.
template <class T>
auto words_of(const T& object) {
  using word [[gnu::may_alias]] = std::uint32_t;
  static_assert(alignof(T) % alignof(std::uint32_t) == 0);
  std::array<std::uint32_t, sizeof(T) / sizeof(std::uint32_t)> result;
  const auto* const words = reinterpret_cast<const word*>(&object);
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = __atomic_load_n(words + i, __ATOMIC_RELAXED);
  return result;
}

// `nanoseconds` from now on the given clock.
inline machine::deadline in(std::int64_t nanoseconds, clockid_t clock = CLOCK_MONOTONIC) {
  timespec t;
  ::clock_gettime(clock, &t);
  const std::int64_t sum = t.tv_sec * 1'000'000'000LL + t.tv_nsec + nanoseconds;
  return {{static_cast<time_t>(sum / 1'000'000'000), static_cast<long>(sum % 1'000'000'000)},
          clock};
}

inline constexpr clockid_t both_clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME};

}  // namespace conformance
