// calibrate_pairs.cpp -- microbenchmarks of two processors that want the same lines.
//
// Memory order (each tag stands at its site below)
//   [M]  what is measured: a load, and a read-modify-write.
//   [T]  release store, acquire load: whose turn it is, and what was done in the turn before.
//   [B]  relaxed: before the other thread begins.
#include "calibrate_parts.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <thread>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

namespace syncopate::tools {

void stay_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
}

double median(std::vector<double>& v) {
  std::nth_element(v.begin(), v.begin() + static_cast<long>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

std::vector<std::uint32_t> random_cycle(std::size_t count) {
  std::vector<std::uint32_t> order(count), next(count);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  for (std::size_t i = 0; i < count; ++i) next[order[i]] = order[(i + 1) % count];
  return next;
}

line_visit visit_modified_lines(int owner, int visitor) {
  // More lines than a processor reads ahead of the turn that it guesses to come.
  constexpr std::uint32_t lines = 256, rounds = 12;
  const std::vector<std::uint32_t> cycle = random_cycle(lines);
  std::vector<padded> data(lines);
  for (std::uint32_t i = 0; i < lines; ++i)
    data[i].word.store(cycle[i], std::memory_order_relaxed);  // [B]
  const auto along = [&data](auto access) {
    return cycles_per(lines, [&](int n) {
      for (std::uint32_t at = 0; n != 0; --n) at = access(data[at].word);
    });
  };
  const auto read = [](auto& word) { return word.load(std::memory_order_acquire); };  // [M]
  const auto write = [](auto& word) {
    return word.fetch_add(0, std::memory_order_acq_rel);  // [M]
  };
  std::atomic<std::uint32_t> turn{0};
  std::vector<double> reads, writes;
  std::thread other([&] {
    stay_on(visitor);
    for (std::uint32_t i = 0; i < rounds; ++i) {
      while (turn.load(std::memory_order_acquire) != 2 * i + 1) machine::relax();  // [T]
      reads.push_back(along(read));
      writes.push_back(along(write));
      turn.store(2 * i + 2, std::memory_order_release);  // [T]
    }
  });
  stay_on(owner);
  for (std::uint32_t i = 0; i < rounds; ++i) {
    along(write);
    turn.store(2 * i + 1, std::memory_order_release);                            // [T]
    while (turn.load(std::memory_order_acquire) != 2 * i + 2) machine::relax();  // [T]
  }
  other.join();
  return {median(reads), median(writes)};
}

contest add_from_two(int one, int other) {
  constexpr std::size_t count = 10'000;
  padded word, ready;
  struct side {
    std::vector<std::uint32_t> seen = std::vector<std::uint32_t>(count);
    std::uint64_t begin = 0, end = 0;
  } sides[2];
  const auto add = [&](int cpu, side& me) {
    stay_on(cpu);
    ready.word.fetch_add(1, std::memory_order_acq_rel);                        // [T]
    while (ready.word.load(std::memory_order_acquire) != 2) machine::relax();  // [T]
    me.begin = machine::ticks();
    for (std::uint32_t& one_seen : me.seen)
      one_seen = word.word.fetch_add(1, std::memory_order_relaxed);  // [M]
    me.end = machine::ticks();
  };
  std::thread second(add, other, std::ref(sides[1]));
  add(one, sides[0]);
  second.join();

  // Only while both were at it.
  const auto first = std::max(sides[0].seen.front(), sides[1].seen.front());
  const auto last = std::min(sides[0].seen.back(), sides[1].seen.back());
  double additions = 0, hand_overs = 0;
  for (const side& s : sides)
    for (std::size_t i = 1; i < count; ++i)
      if (s.seen[i] > first && s.seen[i] < last) {
        ++additions;
        hand_overs += s.seen[i] != s.seen[i - 1] + 1;
      }
  if (additions == 0 || hand_overs == 0) return {};
  const double cycles = static_cast<double>(std::min(sides[0].end, sides[1].end) -
                                            std::max(sides[0].begin, sides[1].begin));
  return {cycles / additions, cycles / hand_overs};
}

handover futex_handover(int waker, int sleeper) {
  constexpr std::uint32_t rounds = 60;
  padded word, ready;
  std::atomic<std::uint64_t> woke{0};
  std::vector<double> calls, latencies;
  stay_on(waker);
  std::thread other([&] {
    stay_on(sleeper);
    for (std::uint32_t i = 0; i < rounds; ++i) {
      ready.word.store(i + 1, std::memory_order_release);                                  // [T]
      while (word.word.load(std::memory_order_acquire) == i) machine::park(word.word, i);  // [T]
      woke.store(machine::ticks(), std::memory_order_release);                             // [T]
      ready.word.store(0, std::memory_order_release);                                      // [T]
    }
  });
  for (std::uint32_t i = 0; i < rounds; ++i) {
    while (ready.word.load(std::memory_order_acquire) != i + 1)  // [T]
      if (waker == sleeper) machine::yield();
    if (waker != sleeper) ::usleep(60);  // until it sleeps
    else machine::yield();
    const std::uint64_t before = machine::ticks();
    word.word.store(i + 1, std::memory_order_release);  // [T]
    machine::wake(&word.word, 1);
    const std::uint64_t after = machine::ticks();
    while (ready.word.load(std::memory_order_acquire) == i + 1)  // [T]
      if (waker == sleeper) machine::yield();
    calls.push_back(static_cast<double>(after - before));
    latencies.push_back(static_cast<double>(woke.load(std::memory_order_acquire) - before));  // [T]
  }
  other.join();
  return {median(calls), median(latencies)};
}

}  // namespace syncopate::tools
