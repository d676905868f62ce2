// tm_bench.cpp -- nanoseconds per transaction, for whichever libitm.so.1 the program finds.
//
// Usage: tm_bench [MILLISECONDS]     prints "name nanoseconds" lines, one for each shape. The time
// for two threads is that of one transaction of one thread while the other runs its own.
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

struct alignas(256) cell {
  long words[128];
};
cell cells[2];
volatile bool stop;
volatile long sink;
volatile bool never = false;
long milliseconds = 60;

[[gnu::transaction_pure]] inline bool unlikely() { return never; }
[[gnu::noinline]] void empty(cell& c) {
  __transaction_atomic {
    if (unlikely()) ++c.words[0];
  }
}
[[gnu::noinline]] void write_1(cell& c) {
  __transaction_atomic { c.words[0] = 1; }
}
[[gnu::noinline]] void increment(cell& c) {
  __transaction_atomic { ++c.words[0]; }
}
template <int N>
[[gnu::noinline]] long read_n(cell& c) {
  long sum = 0;
  __transaction_atomic {
    for (int i = 0; i < N; ++i) sum += c.words[i];
  }
  return sum;
}
template <int N>
[[gnu::noinline]] void write_n(cell& c) {
  __transaction_atomic {
    for (int i = 0; i < N; ++i) c.words[i] = i;
  }
}
[[gnu::noinline]] void cancelable(cell& c) {
  __transaction_atomic {
    ++c.words[0];
    if (c.words[1] != 0) __transaction_cancel;
  }
}

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

struct work {
  void (*run)(cell&);
  cell* on;
  double nanoseconds;
  long count = 0;
};

// The best of a few rounds for one thread: what disturbs only adds.
void measure(work& w) {
  const double end = now() + static_cast<double>(milliseconds) * 1e6;
  double best = 1e18;
  do {
    constexpr int batch = 2000;
    const double t = now();
    for (int i = 0; i < batch; ++i) w.run(*w.on);
    const double each = (now() - t) / batch;
    if (each < best) best = each;
  } while (now() < end);
  w.nanoseconds = best;
}

void one(const char* name, void (*run)(cell&)) {
  work w{run, &cells[0], 0};
  measure(w);
  std::printf("%s %.1f\n", name, w.nanoseconds);
}

// Threads disturb each other: here it is the mean that counts.
void* count_until_stop(void* argument) {
  auto& w = *static_cast<work*>(argument);
  long n = 0;
  const double t = now();
  while (!stop) {
    for (int i = 0; i < 100; ++i) w.run(*w.on);
    n += 100;
  }
  w.nanoseconds = now() - t;
  w.count = n;
  return nullptr;
}

void two(const char* name, void (*run)(cell&), cell& second) {
  work w[2] = {{run, &cells[0], 0}, {run, &second, 0}};
  pthread_t threads[2];
  stop = false;
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], nullptr, count_until_stop, &w[i]);
  timespec pause{milliseconds / 1000, milliseconds % 1000 * 1'000'000};
  nanosleep(&pause, nullptr);
  stop = true;
  for (pthread_t t : threads) pthread_join(t, nullptr);
  std::printf("%s %.1f\n", name,
              (w[0].nanoseconds + w[1].nanoseconds) / static_cast<double>(w[0].count + w[1].count));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) milliseconds = std::atol(argv[1]);
  one("empty", empty);
  one("write_1", write_1);
  one("increment", increment);
  one("cancelable", cancelable);
  one("read_10", [](cell& c) { sink = read_n<10>(c); });
  one("write_10", [](cell& c) { write_n<10>(c); });
  one("read_100", [](cell& c) { sink = read_n<100>(c); });
  two("two_disjoint", write_1, cells[1]);
  two("two_same", increment, cells[0]);
}
