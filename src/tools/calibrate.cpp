// calibrate.cpp -- microbenchmarks of the machine at hand: caches, coherence, atomics, the kernel.
// Those of two processors are in calibrate_pairs.cpp.
//
// Each experiment is one number in cycles of the time stamp counter, repeated many times in turns
// with all the others, so that a disturbance of the machine hits all of them alike; the median
// counts. Where two processors are needed, the first two that this process may use are taken.
//
// Memory order (each tag stands at its site below)
//   [M]  what is measured: a relaxed RMW, and a store with a full fence behind it.
//   [S]  relaxed: only an end; join() orders the rest.
#include "calibrate.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <numeric>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

#include <hwloc.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <syncopate/machine.h>

#include "base/json.h"
#include "calibrate_parts.h"

namespace syncopate::tools {
namespace {

std::vector<int> usable_processors() {
  cpu_set_t set;
  std::vector<int> result;
  if (::sched_getaffinity(0, sizeof set, &set) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set)) result.push_back(cpu);
  if (result.empty()) result.push_back(0);
  return result;
}

// A cycle through all lines of `bytes` bytes in random order. In huge pages, where the system gives
// them: the simulated machine knows no address translation, so latencies have to be without it.
class pointer_chase {
 public:
  explicit pointer_chase(std::size_t bytes)
      : lines_(bytes / line_bytes), next_(allocate(lines_ * line_bytes)) {
    const std::vector<std::uint32_t> cycle = random_cycle(lines_);
    for (std::size_t i = 0; i < lines_; ++i)
      next_[i * stride] = cycle[i] * static_cast<std::uint32_t>(stride);
  }
  // Every line is touched first, so that what fits into a cache is in it.
  double run(int steps) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < lines_ * stride; i += stride) sum += next_[i];
    asm volatile("" : : "r"(sum));
    std::uint32_t at = position_;
    const double cycles = cycles_per(steps, [&](int n) {
      for (; n != 0; --n) at = next_[at];
    });
    position_ = at;
    return cycles;
  }

 private:
  struct deleter {
    void operator()(std::uint32_t* p) const { std::free(p); }
  };
  using memory = std::unique_ptr<std::uint32_t[], deleter>;

  static memory allocate(std::size_t bytes) {
    constexpr std::size_t huge_page = std::size_t{2} << 20;
    const std::size_t rounded = (bytes + huge_page - 1) / huge_page * huge_page;
    memory result(static_cast<std::uint32_t*>(std::aligned_alloc(huge_page, rounded)));
    if (!result) throw std::bad_alloc();
    ::madvise(result.get(), rounded, MADV_HUGEPAGE);  // a wish: small pages measure, too
    return result;
  }

  static constexpr std::size_t stride = line_bytes / sizeof(std::uint32_t);
  std::size_t lines_;
  memory next_;
  std::uint32_t position_ = 0;
};

double atomic_add() {
  padded counter;
  return cycles_per(20'000, [&](int n) {
    for (; n != 0; --n) counter.word.fetch_add(1, std::memory_order_relaxed);  // [M]
  });
}

double full_fence() {
  padded counter;
  return cycles_per(20'000, [&](int n) {
    for (; n != 0; --n) {
      counter.word.store(static_cast<std::uint32_t>(n), std::memory_order_relaxed);  // [M]
      std::atomic_thread_fence(std::memory_order_seq_cst);                           // [M]
    }
  });
}

double relax_step() {
  return cycles_per(5'000, [](int n) {
    for (; n != 0; --n) machine::relax();
  });
}

double system_call() {
  padded word;
  return cycles_per(2'000, [&](int n) {
    for (; n != 0; --n) machine::wake(&word.word, 1);  // nobody sleeps there
  });
}

// Two threads on one processor give it to each other.
double context_switch(int cpu) {
  constexpr int rounds = 100;  // beside other programs each may last a time slice
  stay_on(cpu);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    stay_on(cpu);
    while (!stop.load(std::memory_order_relaxed)) machine::yield();  // [S]
  });
  machine::yield();
  const double cycles = cycles_per(rounds, [](int n) {
    for (; n != 0; --n) machine::yield();
  });
  stop.store(true, std::memory_order_relaxed);  // [S]
  other.join();
  return cycles / 2;  // there and back
}

// Bytes a second that one processor reads from memory, in order.
double stream_cycles_per_line(const std::vector<std::uint64_t>& data) {
  std::uint64_t sum = 0;
  constexpr std::size_t words = line_bytes / sizeof(std::uint64_t);
  const int lines = static_cast<int>(data.size() / words);
  const double cycles = cycles_per(lines, [&](int n) {
    for (int i = 0; i < n; ++i) sum += data[static_cast<std::size_t>(i) * words];
  });
  asm volatile("" : : "r"(sum));
  return cycles;
}

struct experiment {
  std::string_view name;
  std::function<double()> run;
  std::vector<double> results{};
};

struct cache_level {
  unsigned level = 0;
  std::uint64_t size = 0, line = 0;
  int ways = 0;
  unsigned shared_by = 0;  // processors
};

struct shape {
  unsigned sockets = 1, nodes = 1, cores = 1, processors = 1;
  std::string model = "this machine";
  std::vector<cache_level> caches;
};

unsigned count(hwloc_topology_t t, hwloc_obj_type_t type) {
  const int n = hwloc_get_nbobjs_by_type(t, type);
  return n > 0 ? static_cast<unsigned>(n) : 1;
}

shape read_shape() {
  shape result;
  hwloc_topology_t t = nullptr;
  if (hwloc_topology_init(&t) != 0) return result;
  if (hwloc_topology_load(t) == 0) {
    result.sockets = count(t, HWLOC_OBJ_PACKAGE);
    result.nodes = count(t, HWLOC_OBJ_NUMANODE);
    result.cores = count(t, HWLOC_OBJ_CORE);
    result.processors = count(t, HWLOC_OBJ_PU);
    if (const hwloc_obj_t package = hwloc_get_obj_by_type(t, HWLOC_OBJ_PACKAGE, 0))
      if (const char* name = hwloc_obj_get_info_by_name(package, "CPUModel")) result.model = name;
    constexpr hwloc_obj_type_t types[] = {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE};
    for (unsigned level = 1; level <= 3; ++level)
      if (const hwloc_obj_t cache = hwloc_get_obj_by_type(t, types[level - 1], 0))
        result.caches.push_back(
            {level, cache->attr->cache.size, cache->attr->cache.linesize,
             cache->attr->cache.associativity,
             static_cast<unsigned>(std::max(1, hwloc_bitmap_weight(cache->cpuset)))});
  }
  hwloc_topology_destroy(t);
  return result;
}

std::uint64_t size_of_level(const shape& s, unsigned level, std::uint64_t otherwise) {
  for (const cache_level& c : s.caches)
    if (c.level == level && c.size != 0) return c.size;
  return otherwise;
}

void write_shape(json_writer& json, const shape& s) {
  json.member("processor", s.model);
  json.key("topology");
  json.begin_object();
  json.member("sockets", s.sockets);
  json.member("nodes", s.nodes);
  json.member("cores", s.cores);
  json.member("processors", s.processors);
  json.member("frequency_hz", machine::ticks_per_second());
  json.end_object();
  json.key("caches");
  json.begin_array();
  for (const cache_level& c : s.caches) {
    json.begin_object();
    json.member("level", c.level);
    json.member("size", c.size);
    json.member("line", c.line);
    json.member("ways", c.ways);
    json.member("shared_by", c.shared_by);
    json.end_object();
  }
  json.end_array();
}

// Values are rounded to a tenth of a cycle, and written in tenths.
void write_results(json_writer& json, std::vector<experiment>& all) {
  json.key("measured");
  json.begin_array();
  for (experiment& e : all) {
    std::sort(e.results.begin(), e.results.end());
    const auto at = [&e](double part) {
      const auto index = static_cast<std::size_t>(part * static_cast<double>(e.results.size()));
      return std::llround(e.results[std::min(index, e.results.size() - 1)] * 10);
    };
    json.begin_object();
    json.member("name", e.name);
    json.member("unit", "tenths of a cycle");
    json.member("value", at(0.5));
    json.member("low", at(0.25));
    json.member("high", at(0.75));
    json.member("runs", e.results.size());
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string calibrate_json(double seconds) {
  const shape s = read_shape();
  const std::vector<int> cpus = usable_processors();
  const int here = cpus.front(), there = cpus.back();
  const std::uint64_t l1 = size_of_level(s, 1, 32 << 10), l2 = size_of_level(s, 2, 1 << 20),
                      l3 = size_of_level(s, 3, 16 << 20);
  // Half of L1 and L2; well above L2 and inside L3; far above L3, within reason.
  pointer_chase in_l1(l1 / 2), in_l2(std::max(l1 * 2, l2 / 2)),
      in_llc(std::clamp(l3 / 4, l2 * 2, std::max<std::uint64_t>(l2 * 2, 16 << 20))),
      in_memory(std::clamp<std::uint64_t>(l3 * 3, 128 << 20, 1ull << 30));
  const std::vector<std::uint64_t> stream(std::size_t{16} << 20);

  std::vector<experiment> all;
  all.push_back({"l1_latency", [&] { return in_l1.run(20'000); }});
  all.push_back({"l2_latency", [&] { return in_l2.run(20'000); }});
  all.push_back({"llc_latency", [&] { return in_llc.run(20'000); }});
  all.push_back({"memory_latency", [&] { return in_memory.run(5'000); }});
  all.push_back({"memory_cycles_per_line", [&] { return stream_cycles_per_line(stream); }});
  all.push_back({"atomic_rmw", atomic_add});
  all.push_back({"fence", full_fence});
  all.push_back({"relax", relax_step});
  all.push_back({"system_call", system_call});
  all.push_back({"context_switch", [&] { return context_switch(here); }});
  if (here != there) {
    all.push_back({"line_transfer", [&] { return visit_modified_lines(here, there).read; }});
    all.push_back({"write_after_read", [&] { return visit_modified_lines(here, there).write; }});
    all.push_back({"contended_add", [&] { return add_from_two(here, there).addition; }});
    all.push_back({"contended_hand_over", [&] { return add_from_two(here, there).hand_over; }});
    all.push_back({"futex_wake_call", [&] { return futex_handover(here, there).wake_call; }});
    all.push_back({"futex_wake_latency", [&] { return futex_handover(here, there).latency; }});
  }

  cpu_set_t before;
  const bool restore = ::sched_getaffinity(0, sizeof before, &before) == 0;
  const std::uint64_t start = machine::now();
  const auto limit = static_cast<std::uint64_t>(seconds * 1e9);
  constexpr int least = 5;
  for (int round = 0; round < least || machine::now() - start < limit; ++round) {
    stay_on(here);
    for (experiment& e : all) e.results.push_back(e.run());
    if (::isatty(2) != 0) std::fprintf(stderr, "\rcalibrating: round %d", round + 1);
  }
  if (::isatty(2) != 0) std::fprintf(stderr, "\r\033[K");
  if (restore) ::sched_setaffinity(0, sizeof before, &before);

  json_writer json;
  json.begin_object();
  write_shape(json, s);
  write_results(json, all);
  json.end_object();
  return json.text();
}

}  // namespace syncopate::tools
