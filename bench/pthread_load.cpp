// pthread_load.cpp -- what a POSIX lock costs, as any program sees it: a plain pthread program that
// knows nothing of Syncopate, so that the same binary measures glibc (no preload), our library, or
// anybody else's.
//
//   pthread_load uncontended [--what W] [--null] [--mutexes N] [--batches N] [--single-threaded]
//       one thread at work: cycles per lock + unlock. A second thread sleeps, because glibc leaves
//       out its atomic operations in a program that has one thread only.
//   pthread_load contended --threads N [--seconds S] [--work-in C] [--work-out C] [--vary]
//   [--waits]
//       throughput, shares, context switches; with --waits also how long threads waited. --vary:
//       work outside is drawn evenly from none to twice C; thread_work_out: its mean in each thread
//   pthread_load memory [--mutexes N]
//       resident memory before and after locking each mutex once
//
// W is one of: null mutex recursive errorcheck adaptive rwlock-read rwlock-write spin cond.
// One line of JSON goes to standard output. Cycles are those of the time-stamp counter.

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t cycles() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
#endif
}

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "pthread_load: %s\n", message.c_str());
  std::exit(2);
}

void expect_zero(int error, const char* call) {
  if (error != 0) fail(std::string(call) + ": " + std::strerror(error));
}

// ---- what is measured ----
// Each target is one POSIX object with a `lock` and an `unlock`. Their results are ignored in the
// measured loops, as programs mostly do.

struct Null {
  void lock() { std::atomic_signal_fence(std::memory_order_seq_cst); }
  void unlock() { std::atomic_signal_fence(std::memory_order_seq_cst); }
};

template <int kind>
struct Mutex {
  Mutex() {
    pthread_mutexattr_t attributes;
    expect_zero(pthread_mutexattr_init(&attributes), "pthread_mutexattr_init");
    expect_zero(pthread_mutexattr_settype(&attributes, kind), "pthread_mutexattr_settype");
    expect_zero(pthread_mutex_init(&object, &attributes), "pthread_mutex_init");
    pthread_mutexattr_destroy(&attributes);
  }
  void lock() { pthread_mutex_lock(&object); }
  void unlock() { pthread_mutex_unlock(&object); }
  pthread_mutex_t object;
};

template <bool shared>
struct ReaderWriter {
  void lock() { shared ? pthread_rwlock_rdlock(&object) : pthread_rwlock_wrlock(&object); }
  void unlock() { pthread_rwlock_unlock(&object); }
  pthread_rwlock_t object = PTHREAD_RWLOCK_INITIALIZER;
};

struct Spin {
  Spin() { expect_zero(pthread_spin_init(&object, PTHREAD_PROCESS_PRIVATE), "pthread_spin_init"); }
  void lock() { pthread_spin_lock(&object); }
  void unlock() { pthread_spin_unlock(&object); }
  pthread_spinlock_t object;
};

struct SignalNobody {
  void lock() { pthread_cond_signal(&object); }
  void unlock() {}
  pthread_cond_t object = PTHREAD_COND_INITIALIZER;
};

// ---- options ----

struct Options {
  std::string mode, what = "mutex";
  std::size_t mutexes = 0;  // 0: the mode's own default
  int batches = 2001, threads = 2;
  double seconds = 1.0;
  long work_in = 100, work_out = 100;
  bool single_threaded = false, vary = false, waits = false;
};

Options parse(int argc, char** argv) {
  if (argc < 2) fail("usage: pthread_load uncontended|contended|memory [options]; see its source");
  Options options;
  options.mode = argv[1];
  const auto positive = [](const char* text) { return std::max(1, std::atoi(text)); };
  const std::map<std::string_view, std::function<void(const char*)>> with_value = {
      {"--what", [&](const char* text) { options.what = text; }},
      {"--mutexes", [&](const char* text) { options.mutexes = std::strtoul(text, nullptr, 10); }},
      {"--batches", [&](const char* text) { options.batches = positive(text); }},
      {"--threads", [&](const char* text) { options.threads = positive(text); }},
      {"--seconds", [&](const char* text) { options.seconds = std::atof(text); }},
      {"--work-in", [&](const char* text) { options.work_in = std::atol(text); }},
      {"--work-out", [&](const char* text) { options.work_out = std::atol(text); }},
  };
  const std::map<std::string_view, std::function<void()>> flags = {
      {"--null", [&] { options.what = "null"; }},
      {"--single-threaded", [&] { options.single_threaded = true; }},
      {"--vary", [&] { options.vary = true; }},
      {"--waits", [&] { options.waits = true; }},
  };
  for (int i = 2; i < argc; ++i) {
    const auto option = with_value.find(argv[i]);
    const auto flag = flags.find(argv[i]);
    if (flag != flags.end()) {
      flag->second();
    } else if (option == with_value.end()) {
      fail("unknown option " + std::string(argv[i]));
    } else if (i + 1 == argc) {
      fail(std::string(argv[i]) + " needs a value");
    } else {
      option->second(argv[++i]);
    }
  }
  return options;
}

// ---- uncontended ----

template <typename Target>
void uncontended(const Options& options) {
  const std::size_t count = std::max<std::size_t>(1, options.mutexes);
  const auto targets = std::make_unique<Target[]>(count);
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), std::mt19937(1));

  std::thread idle;
  std::atomic<bool> done{false};
  if (!options.single_threaded) idle = std::thread([&done] { done.wait(false); });
  constexpr std::size_t pairs = 1000;  // the counter's own ~20 cycles vanish in a batch
  std::vector<double> samples;
  std::size_t position = 0;
  const int warm_up =
      static_cast<int>(2 * count / pairs) + 20;  // every object touched twice before we measure
  for (int batch = -warm_up; batch < options.batches; ++batch) {
    const std::uint64_t start = cycles();
    for (std::size_t i = 0; i < pairs; ++i) {
      Target& target = targets[order[position]];
      if (++position == count) position = 0;
      target.lock();
      target.unlock();
    }
    if (batch >= 0) samples.push_back(static_cast<double>(cycles() - start) / pairs);
  }
  done.store(true);
  done.notify_all();
  if (idle.joinable()) idle.join();
  std::sort(samples.begin(), samples.end());
  const auto quantile = [&](double q) {
    return samples[static_cast<std::size_t>(q * (samples.size() - 1))];
  };
  std::printf(
      "{\"mode\":\"uncontended\",\"what\":\"%s\",\"mutexes\":%zu,\"cycles\":%.2f,\"cycles_min\":%."
      "2f,"
      "\"cycles_p90\":%.2f}\n",
      options.what.c_str(), count, quantile(0.5), samples.front(), quantile(0.9));
}

// ---- contended ----

// Spends about `length` cycles in a chain of dependent multiply-adds (4 cycles a step on current
// x86). An amount of work, not of time: being preempted in the middle does not shorten it.
std::uint64_t work(std::uint64_t state, long length) {
  for (long i = 0; i < length; i += 4) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    asm volatile("" : "+r"(state));
  }
  return state;
}

// Waits in buckets an eighth of a power of two wide, so that a quantile is right to 12.5 %.
struct Histogram {
  static std::size_t bucket(std::uint64_t value) {
    if (value < 8) return value;
    const int exponent = std::bit_width(value) - 4;
    return static_cast<std::size_t>(exponent + 1) * 8 + ((value >> exponent) & 7);
  }
  static double upper_end(std::size_t bucket) {
    if (bucket < 8) return static_cast<double>(bucket);
    return static_cast<double>((bucket % 8 + 9) << (bucket / 8 - 1));
  }
  double quantile(double q) const {
    const double total =
        static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
    double seen = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      seen += static_cast<double>(counts[i]);
      if (seen > 0 && seen >= q * total) return upper_end(i);
    }
    return 0;
  }
  std::vector<std::uint64_t> counts = std::vector<std::uint64_t>(62 * 8);
};

struct alignas(128) Worker {
  std::atomic<std::uint64_t> operations{0};
  std::uint64_t cycles_outside = 0;  // as drawn, of all operations
  std::uint64_t longest_wait = 0;
  Histogram waits;
  pthread_t thread{};
};

template <typename Target>
struct Shared {
  alignas(128) Target target;
  alignas(128) std::uint64_t counter =
      0;  // plain: a lost update shows that the lock did not exclude
  alignas(128) std::atomic<int> phase{0};  // 0 wait, 1 run, 2 stop
  const Options* options = nullptr;
};

template <typename Target, bool timed>
void work_until_stopped(Shared<Target>& shared, Worker& self) {
  const long inside = shared.options->work_in, outside = shared.options->work_out;
  const bool vary = shared.options->vary;
  std::uint64_t state = reinterpret_cast<std::uintptr_t>(&self), operations = 0;
  std::minstd_rand lengths(static_cast<std::uint32_t>(state >> 7));
  lengths.discard(16);  // near seeds begin alike
  std::uint64_t cycles_outside = 0;
  shared.phase.wait(0);
  while (shared.phase.load(std::memory_order_relaxed) == 1) {
    const std::uint64_t asked = timed ? cycles() : 0;
    shared.target.lock();
    if (timed) {
      const std::uint64_t wait = cycles() - asked;
      self.longest_wait = std::max(self.longest_wait, wait);
      ++self.waits.counts[Histogram::bucket(wait)];
    }
    shared.counter = shared.counter + 1;
    state = work(state, inside);
    shared.target.unlock();
    self.operations.store(++operations, std::memory_order_relaxed);
    // Of numbers of their own: they would stay 0 for good if the work that they are the length of
    // made the next ones.
    const long length = vary ? static_cast<long>(lengths() % (2 * outside + 1)) : outside;
    cycles_outside += static_cast<std::uint64_t>(length);
    state = work(state, length);
  }
  self.cycles_outside = cycles_outside;
}

struct Usage {
  double cpu_seconds;
  long voluntary, involuntary;
  static Usage now() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + 1e-6 * t.tv_usec;
    };
    return {seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_nvcsw, usage.ru_nivcsw};
  }
};

void print_list(const char* name, const std::vector<double>& values, const char* format) {
  std::printf(",\"%s\":[", name);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != 0) std::printf(",");
    std::printf(format, values[i]);
  }
  std::printf("]");
}

void print_waits(const std::vector<std::unique_ptr<Worker>>& workers, double cycles_per_ms) {
  std::vector<double> longest;
  Histogram all;
  for (const auto& worker : workers) {
    longest.push_back(static_cast<double>(worker->longest_wait) / cycles_per_ms);
    for (std::size_t i = 0; i < all.counts.size(); ++i) all.counts[i] += worker->waits.counts[i];
  }
  std::printf(
      ",\"longest_wait_ms\":%.3f,\"p50_wait_us\":%.3f,\"p99_wait_us\":%.3f,\"p999_wait_us\":%.3f",
      *std::max_element(longest.begin(), longest.end()), 1e3 * all.quantile(0.5) / cycles_per_ms,
      1e3 * all.quantile(0.99) / cycles_per_ms, 1e3 * all.quantile(0.999) / cycles_per_ms);
  print_list("thread_longest_wait_ms", longest, "%.3f");
}

template <typename Target, bool timed>
void contended(const Options& options) {
  Shared<Target> shared;
  shared.options = &options;
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::jthread> threads;
  for (int i = 0; i < options.threads; ++i) {
    Worker& self = *workers.emplace_back(std::make_unique<Worker>());
    threads.emplace_back([&shared, &self] { work_until_stopped<Target, timed>(shared, self); });
  }
  std::this_thread::sleep_for(
      std::chrono::milliseconds(20 + options.threads));  // let every thread reach its start
  const Usage usage_before = Usage::now();
  const auto begin = Clock::now();
  const std::uint64_t first_cycle = cycles();
  shared.phase.store(1);
  shared.phase.notify_all();
  std::this_thread::sleep_for(std::chrono::duration<double>(options.seconds));
  std::vector<double> operations;
  for (const auto& worker : workers)
    operations.push_back(static_cast<double>(worker->operations.load()));
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const double cycles_per_ms = static_cast<double>(cycles() - first_cycle) / (seconds * 1e3);
  const Usage usage_after = Usage::now();
  shared.phase.store(2);
  threads.clear();  // joins

  std::uint64_t at_end = 0;
  for (const auto& worker : workers) at_end += worker->operations.load();
  const bool excluded = at_end == shared.counter;
  const double total = std::accumulate(operations.begin(), operations.end(), 0.0);
  const auto [least, most] = std::minmax_element(operations.begin(), operations.end());
  std::printf(
      "{\"mode\":\"contended\",\"what\":\"%s\",\"threads\":%d,\"work_in\":%ld,\"work_out\":%ld,"
      "\"seconds\":%.4f,"
      "\"throughput\":%.0f,\"share\":%.4f,\"excluded\":%s,\"voluntary\":%ld,\"involuntary\":%ld,"
      "\"cpu_seconds\":%.3f",
      options.what.c_str(), options.threads, options.work_in, options.work_out, seconds,
      total / seconds, *most > 0 ? *least / *most : 0.0, excluded ? "true" : "false",
      usage_after.voluntary - usage_before.voluntary,
      usage_after.involuntary - usage_before.involuntary,
      usage_after.cpu_seconds - usage_before.cpu_seconds);
  print_list("thread_operations", operations, "%.0f");
  std::vector<double> outside;
  for (const auto& worker : workers)
    outside.push_back(static_cast<double>(worker->cycles_outside) /
                      static_cast<double>(std::max<std::uint64_t>(1, worker->operations.load())));
  print_list("thread_work_out", outside, "%.1f");
  if (timed) print_waits(workers, cycles_per_ms);
  std::printf("}\n");
  if (!excluded && options.what != "null" && options.what != "rwlock-read" &&
      options.what != "cond") {
    fail("lost updates: two threads were in the critical section at once");
  }
}

// ---- memory ----

long resident_kib() {
  long pages_total = 0, pages_resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld %ld", &pages_total, &pages_resident) != 2)
    fail("cannot read statm");
  std::fclose(file);
  return pages_resident * (sysconf(_SC_PAGESIZE) / 1024);
}

void memory(const Options& options) {
  const std::size_t count = options.mutexes != 0 ? options.mutexes : 1'000'000;
  void* pages = mmap(nullptr, count * sizeof(pthread_mutex_t), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1,
                     0);  // populated: the objects count before
  if (pages == MAP_FAILED) fail("mmap failed");
  auto* mutexes = static_cast<pthread_mutex_t*>(pages);  // zeros are PTHREAD_MUTEX_INITIALIZER
  pthread_mutex_t first =
      PTHREAD_MUTEX_INITIALIZER;  // whatever one lock costs once is not "per mutex"
  pthread_mutex_lock(&first);
  pthread_mutex_unlock(&first);
  resident_kib();  // the C library's buffers for reading statm
  const long before = resident_kib();
  for (std::size_t i = 0; i < count; ++i) {
    expect_zero(pthread_mutex_lock(&mutexes[i]), "pthread_mutex_lock");
    expect_zero(pthread_mutex_unlock(&mutexes[i]), "pthread_mutex_unlock");
  }
  const long after = resident_kib();
  std::printf(
      "{\"mode\":\"memory\",\"mutexes\":%zu,\"rss_before_kib\":%ld,\"rss_after_kib\":%ld,\"bytes_"
      "per_mutex\":%.3f}\n",
      count, before, after,
      1024.0 * static_cast<double>(after - before) / static_cast<double>(count));
}

template <typename Target>
void run(const Options& options) {
  if (options.mode == "uncontended") {
    uncontended<Target>(options);
  } else if (options.mode == "contended") {
    options.waits ? contended<Target, true>(options) : contended<Target, false>(options);
  } else if (options.mode == "memory") {
    memory(options);
  } else {
    fail("unknown mode " + options.mode);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const std::map<std::string_view, void (*)(const Options&)> targets = {
      {"null", run<Null>},
      {"mutex", run<Mutex<PTHREAD_MUTEX_NORMAL>>},
      {"recursive", run<Mutex<PTHREAD_MUTEX_RECURSIVE>>},
      {"errorcheck", run<Mutex<PTHREAD_MUTEX_ERRORCHECK>>},
      {"adaptive", run<Mutex<PTHREAD_MUTEX_ADAPTIVE_NP>>},
      {"rwlock-read", run<ReaderWriter<true>>},
      {"rwlock-write", run<ReaderWriter<false>>},
      {"spin", run<Spin>},
      {"cond", run<SignalNobody>},
  };
  const auto target = targets.find(options.what);
  if (target == targets.end()) fail("unknown --what " + options.what);
  target->second(options);
  return 0;
}
