// common.h -- what the workloads share: threads that start together, locks and barriers by name,
// work that takes a given time, random numbers with a seed, and the line of JSON at the end.
#pragma once

#include <syncopate/barriers/central_barrier.h>
#include <syncopate/locks/any_lock.h>
#include <syncopate/machine.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sched.h>

#include "libgomp_lock.h"
#include "options.h"
#include "published_lock.h"
#include "random_numbers.h"

// Given by a machine's runtime; absent natively. The first adds `count` to what the machine reports
// under `name` for the calling thread; the second lets processor time pass.
extern "C" [[gnu::weak]] void syncopate_mark(const char* name, std::uint64_t count);
extern "C" [[gnu::weak]] void syncopate_work(std::uint64_t cycles);

namespace workloads {

namespace machine = syncopate::machine;

// Computes for about that long, touching no shared memory.
inline void compute(std::uint64_t nanoseconds) {
  if (nanoseconds == 0) return;
  const std::uint64_t cycles = nanoseconds * (machine::ticks_per_second() / 1'000'000) / 1000;
  if (syncopate_work != nullptr) return syncopate_work(cycles);
  const std::uint64_t until = machine::ticks() + cycles;
  while (static_cast<std::int64_t>(machine::ticks() - until) < 0) machine::relax();
}

// A lock by its name in locks/all.h; `pthread`: the platform's own mutex; `libgomp`: its model;
// those of published_lock.h.
class named_lock {
 public:
  explicit named_lock(const std::string& name);
  ~named_lock();
  void lock();
  void unlock();
  [[nodiscard]] static bool is_name(const std::string& name);

 private:
  std::optional<syncopate::any_lock> ours_;
  alignas(128) const bool is_libgomp_;  // read at each use
  alignas(128) std::mutex theirs_;
  alignas(128) libgomp_lock libgomp_;
  std::optional<published_lock> published_;
};

// The same, where the option names none: ends the program with one line.
std::unique_ptr<named_lock> make_lock(const options& o, std::string_view option = "lock");

struct any_barrier {
  virtual ~any_barrier() = default;
  virtual void arrive_and_wait(std::uint32_t participant) = 0;
};

// A barrier by its name in barriers/all.h; null when there is none.
std::unique_ptr<any_barrier> make_barrier(std::string_view name, std::uint32_t count);

// What every workload has.
inline const option threads_option{"threads", "2", "how many threads"};
inline const option seed_option{"seed", "1",
                                "of the random numbers and, above 1, of when each thread starts"};
inline const option between_option{
    "between", "0",
    "nanoseconds that a thread computes after each section, beside what the program does"};
inline const option pin_option{"pin", "none",
                               "none, compact (thread i on processor i), or a stride: i * stride"};

// One thread's share of a run.
struct alignas(128) share {
  std::uint64_t operations = 0;
  std::uint64_t began = 0, ended = 0;  // nanoseconds
};

struct outcome {
  std::vector<share> shares;
  [[nodiscard]] std::uint64_t operations() const {
    std::uint64_t sum = 0;
    for (const share& s : shares) sum += s.operations;
    return sum;
  }
  // From the first thread's start to the last one's end.
  [[nodiscard]] double seconds() const {
    std::uint64_t began = ~std::uint64_t{0}, ended = 0;
    for (const share& s : shares) {
      began = std::min(began, s.began);
      ended = std::max(ended, s.ended);
    }
    return static_cast<double>(ended - began) * 1e-9;
  }
};

// The processors that --pin and --threads choose; empty for `none`.
inline std::vector<unsigned> pinning(const options& o) {
  const std::string& how = o.text("pin");
  std::vector<unsigned> result;
  if (how == "none") return result;
  const std::uint64_t stride = how == "compact" ? 1 : o.number("pin", 1);
  for (std::uint64_t i = 0; i < o.number("threads", 1); ++i)
    result.push_back(static_cast<unsigned>(i * stride));
  return result;
}

// Lets threads go at the same time, which those that wake up from a futex do not by themselves.
class starting_gun {
 public:
  explicit starting_gun(std::uint32_t threads) : threads_(threads), together_(threads) {}
  void wait() {
    together_.arrive_and_wait();
    // Time enough for the last one to wake up.
    std::uint64_t none = 0;
    const std::uint64_t now = machine::now(), then = now + threads_ * 10'000u;
    const bool first = start_.compare_exchange_strong(none, then);
    const std::uint64_t start = first ? then : none;
    if (start > now) compute(start - now);
  }

 private:
  const std::uint32_t threads_;
  syncopate::central_barrier<syncopate::waits::spin_then_park> together_;
  std::atomic<std::uint64_t> start_{0};
};

// Nanoseconds by which a thread starts after the others: under a microsecond, and none with the
// first seed. So runs of a program without random numbers differ by seed, too.
inline std::uint64_t start_delay(std::uint64_t seed, std::uint32_t thread) {
  return seed <= 1 ? 0 : random_numbers(seed, thread).below(1000);
}

// Runs work(thread) -> operations on --threads threads that start together, each where --pin says.
// A processor that does not exist leaves its thread where it is.
template <class Work>
outcome run_threads(const options& o, Work work) {
  constexpr std::uint64_t most = 4096;  // as many as modeled machines have
  if (o.number("threads", 1) > most) o.refuse("--threads needs at most " + std::to_string(most));
  const auto count = static_cast<std::uint32_t>(o.number("threads", 1));
  const std::vector<unsigned> processors = pinning(o);
  const std::uint64_t seed = o.number("seed");
  outcome result;
  result.shares.resize(count);
  starting_gun gun(count);
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      if (!processors.empty() && processors[i] < CPU_SETSIZE) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(processors[i], &set);
        (void)::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
      }
      share& mine = result.shares[i];
      gun.wait();
      compute(start_delay(seed, i));
      mine.began = machine::now();
      mine.operations = work(i);
      mine.ended = machine::now();
      if (syncopate_mark != nullptr) syncopate_mark("operations", mine.operations);
    });
  for (std::thread& thread : threads) thread.join();
  return result;
}

// Prints the line of JSON. `extra` holds further members, as `"name": value, ` each. Returns the
// program's exit status: 1 when the workload found its own data inconsistent.
inline int report(const char* workload, const options& o, const outcome& result, bool consistent,
                  const std::string& extra = "") {
  std::printf(
      "{\"workload\": \"%s\", \"threads\": %zu, \"operations\": %llu, \"seconds\": %.9f, %s",
      workload, result.shares.size(), static_cast<unsigned long long>(result.operations()),
      result.seconds(), extra.c_str());
  std::printf("\"seed\": %llu, \"consistent\": %s, \"per_thread\": [",
              static_cast<unsigned long long>(o.number("seed")), consistent ? "true" : "false");
  for (std::size_t i = 0; i < result.shares.size(); ++i)
    std::printf("%s%llu", i == 0 ? "" : ", ",
                static_cast<unsigned long long>(result.shares[i].operations));
  std::printf("]}\n");
  return consistent ? 0 : 1;
}

inline std::string member(const char* name, const std::string& value) {
  return '"' + std::string(name) + "\": \"" + value + "\", ";
}
inline std::string member(const char* name, std::uint64_t value) {
  return '"' + std::string(name) + "\": " + std::to_string(value) + ", ";
}

}  // namespace workloads
