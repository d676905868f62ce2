// known_locks.cpp -- pthread programs of known truth: threads that work, take a lock, hold it,
// release it, by lengths that are drawn from a distribution and so known exactly.
//
//   known_locks [--threads N] [--inside NS] [--outside NS] [--spread fixed|uniform|exponential|two]
//               [--locks N] [--length PERCENT] [--second NS] [--rest CHANCE] [--rest-ns NS]
//               [--signal N] [--first-works PERCENT] [--seconds S]
//
//   --locks    sections take one of so many locks at random
//   --length   sections do so much of their work; the rest is gone
//   --second   after each section, one of such length under another lock, common to all threads
//   --rest     in so many of a thousand cases a thread sleeps --rest-ns after a section
//   --signal   every so many sections a thread wakes one that waits at a condition of the lock, or
//              of another one, and waits there itself: at most half of the threads do at a time
//   --first-works  the first thread works so much of --outside, the others all of it
//
// Work is an amount (steps of a chain of multiplications), not a time, so that a thread that is
// interrupted works as much. One line of JSON: sections and seconds, and what is true of sections
// and of the work between them, by drawing: means in nanoseconds of an undisturbed processor.
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "random_lengths.h"

namespace {

using clock_type = std::chrono::steady_clock;

[[noreturn]] void refuse(const std::string& what) {
  std::fprintf(stderr, "known_locks: %s\n", what.c_str());
  std::exit(2);
}

struct options {
  long threads = 2, inside = 1000, outside = 1000, locks = 1, length = 100, second = 0, rest = 0;
  long rest_ns = 50'000, signal = 0, first_works = 100;
  double seconds = 0.4;
  std::string spread = "exponential";
};

options parse(int argc, char** argv) {
  options o;
  const std::vector<std::pair<std::string, long*>> numbers = {
      {"--threads", &o.threads}, {"--inside", &o.inside},
      {"--outside", &o.outside}, {"--locks", &o.locks},
      {"--length", &o.length},   {"--second", &o.second},
      {"--rest", &o.rest},       {"--rest-ns", &o.rest_ns},
      {"--signal", &o.signal},   {"--first-works", &o.first_works}};
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) refuse(name + " needs a value");
    const auto number = std::find_if(numbers.begin(), numbers.end(),
                                     [&](const auto& each) { return each.first == name; });
    if (number != numbers.end()) *number->second = std::max(0L, std::atol(argv[i + 1]));
    else if (name == "--spread") o.spread = argv[i + 1];
    else if (name == "--seconds") o.seconds = std::atof(argv[i + 1]);
    else refuse("unknown option " + name);
  }
  if (o.threads < 1 || o.locks < 1) refuse("--threads and --locks are at least 1");
  if (o.spread != "fixed" && o.spread != "uniform" && o.spread != "exponential" &&
      o.spread != "two")
    refuse("--spread is fixed, uniform, exponential or two");
  return o;
}

// ---- work -----------------------------------------------------------------------------------

std::uint64_t steps(std::uint64_t state, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    asm volatile("" : "+r"(state));
  }
  return state;
}

// Steps in a nanosecond: of the fastest of several tries, the one that nothing disturbed.
double steps_per_ns() {
  constexpr std::uint64_t count = 200'000;
  double best = 0;
  for (int i = 0; i < 30; ++i) {
    const auto began = clock_type::now();
    steps(static_cast<std::uint64_t>(i), count);
    const std::chrono::duration<double, std::nano> took = clock_type::now() - began;
    best = std::max(best, count / took.count());
  }
  return best;
}
double speed = 1;

double draw(random_numbers& random, double mean, const std::string& named) {
  spread how = spread::exponential;
  if (named == "fixed") how = spread::fixed;
  else if (named == "uniform") how = spread::uniform;
  else if (named == "two") how = spread::two;
  return draw(random, mean, how);
}

// ---- threads ----------------------------------------------------------------------------------

struct alignas(128) shared_lock {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
  std::atomic<long> waiting{0};
  std::uint64_t sections = 0;
};

struct alignas(128) worker {
  std::uint64_t sections = 0, state = 0;
  double outside_ns = 0;  // worked between sections, the second lock's included
};

struct program {
  options o;
  std::vector<shared_lock> locks;
  shared_lock second;
  std::vector<worker> workers;
  std::atomic<bool> stop{false};
  std::atomic<long> waiting{0};  // at conditions of all locks

  explicit program(const options& given)
      : o(given),
        locks(static_cast<std::size_t>(given.locks)),
        workers(static_cast<std::size_t>(given.threads)) {}

  void work(worker& me, double ns) {
    me.state = steps(me.state, static_cast<std::uint64_t>(ns * speed));
  }

  void signal_and_wait(shared_lock& of, worker& me) {
    if (o.signal == 0 || me.sections % static_cast<std::uint64_t>(o.signal) != 0) return;
    wake_one(of);
    if (2 * ++waiting <= o.threads && !stop.load()) {
      ++of.waiting;
      pthread_cond_wait(&of.changed, &of.lock);
      --of.waiting;
    }
    --waiting;
  }

  void wake_one(shared_lock& of) {
    if (of.waiting == 0)
      for (shared_lock& each : locks)
        if (each.waiting != 0) return void(pthread_cond_signal(&each.changed));
    pthread_cond_signal(&of.changed);
  }

  void section(random_numbers& random, worker& me) {
    shared_lock& of = locks[random.next() % locks.size()];
    const double length = draw(random, static_cast<double>(o.inside), o.spread);
    pthread_mutex_lock(&of.lock);
    ++of.sections;
    work(me, length * static_cast<double>(o.length) / 100);
    ++me.sections;
    signal_and_wait(of, me);
    pthread_mutex_unlock(&of.lock);
  }

  void between(random_numbers& random, worker& me, double mean) {
    if (o.second != 0) {
      pthread_mutex_lock(&second.lock);
      ++second.sections;
      work(me, static_cast<double>(o.second));
      pthread_mutex_unlock(&second.lock);
    }
    const double length = draw(random, mean, o.spread);
    work(me, length);
    me.outside_ns += length + static_cast<double>(o.second);
    if (o.rest != 0 && random.next() % 1000 < static_cast<std::uint64_t>(o.rest))
      std::this_thread::sleep_for(std::chrono::nanoseconds(o.rest_ns));
  }

  void run(std::size_t number) {
    worker& me = workers[number];
    random_numbers random{0x9e3779b97f4a7c15u * (number + 1)};
    const double share = number == 0 ? static_cast<double>(o.first_works) / 100 : 1;
    const double mean = static_cast<double>(o.outside) * share;
    while (!stop.load(std::memory_order_relaxed)) {
      section(random, me);
      between(random, me, mean);
    }
  }

  void wake_all() {
    for (shared_lock& of : locks) {
      pthread_mutex_lock(&of.lock);
      pthread_cond_broadcast(&of.changed);
      pthread_mutex_unlock(&of.lock);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  program p(parse(argc, argv));
  speed = steps_per_ns();
  std::vector<std::thread> threads;
  const auto began = clock_type::now();
  for (std::size_t i = 0; i < p.workers.size(); ++i) threads.emplace_back([&p, i] { p.run(i); });
  std::this_thread::sleep_for(std::chrono::duration<double>(p.o.seconds));
  p.stop.store(true);
  p.wake_all();
  for (std::thread& each : threads) each.join();
  const std::chrono::duration<double> lasted = clock_type::now() - began;
  std::uint64_t sections = 0, counted = 0;
  double outside = 0;
  for (const worker& each : p.workers) {
    sections += each.sections;
    outside += each.outside_ns;
  }
  for (const shared_lock& each : p.locks) counted += each.sections;
  if (counted != sections) {
    std::fprintf(stderr, "known_locks: two threads were in a section at once\n");
    return 1;
  }
  std::printf("{\"operations\":%llu,\"seconds\":%.6f,\"inside_ns\":%.1f,\"outside_ns\":%.1f}\n",
              static_cast<unsigned long long>(sections), lasted.count(),
              static_cast<double>(p.o.inside) * static_cast<double>(p.o.length) / 100,
              sections != 0 ? outside / static_cast<double>(sections) : 0.0);
  return 0;
}
