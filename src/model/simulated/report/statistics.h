// statistics.h -- everything that one run of the simulated machine found out, as plain numbers.
//
// The memory system's part is memory_statistics.h; the engine fills in the rest while the program
// runs (gather.h); report.cpp turns it into text, JSON or a timeline. Times are cycles of simulated
// time; places are return addresses (src/model/front/names/names.h names them and the addresses).
#pragma once

#include "model/front/libc/native_time.h"
#include "model/simulated/memory/memory_statistics.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace syncopate::simulated {

// What a thread or a processor does with its time.
enum class activity : unsigned char {
  idle,       // processor: nothing to run
  running,    // computes or accesses memory
  spinning,   // polls: await(), a loop recognized as one, relax()
  light,      // monitor-wait, light
  deep,       // monitor-wait, deep
  kernel,     // system calls, wake-ups
  switching,  // context switches and migrations
  ready,      // thread: could run, has no processor
  parked,     // thread: futex
  sleeping,   // thread: until a time only
  foreign,    // processor: taken by other programs' load
  off,        // processor: never used
};
inline constexpr std::size_t activities = 12;
const char* name(activity) noexcept;

// A distribution: counts of durations by power of two. bucket[i] counts those in [2^(i-1), 2^i),
// bucket[0] zeros.
struct histogram {
  std::array<std::uint64_t, 64> bucket{};
  std::array<std::uint64_t, 64> sum_of{};  // by bucket
  std::uint64_t count = 0, sum = 0, longest = 0;

  void add(std::uint64_t duration) noexcept {
    unsigned i = duration == 0 ? 0 : 64u - static_cast<unsigned>(__builtin_clzll(duration));
    if (i > 63) i = 63;
    ++bucket[i];
    sum_of[i] += duration;
    ++count;
    sum += duration;
    if (duration > longest) longest = duration;
  }
};

enum class wait_kind : unsigned char {
  await,    // machine::wait_until
  monitor,  // machine::monitor_wait
  loop,     // a loop of the program's own that was recognized
  futex,
};
const char* name(wait_kind) noexcept;

// Waiting at one address in one way.
struct wait_statistics {
  std::uintptr_t address = 0;
  wait_kind kind{};
  const void* first_place = nullptr;  // of the first wait
  std::uint64_t waits = 0;            // that really waited: the first look was in vain
  std::uint64_t timeouts = 0;
  std::uint64_t looks = 0;  // re-reads after the line was written; futex: threads woken
  histogram waited;
  // From the end of a wait to the same thread's next atomic write of the word: for most locks the
  // time for which a thread that had to wait then held it. Empty for words that only others write.
  histogram held;
  std::size_t most_waiters = 0;
  std::vector<std::uint64_t> waited_by_thread;  // cycles, by thread index; may be short
};

enum class abort_cause : unsigned char {
  conflict,
  write_capacity,
  read_capacity,
  explicit_,
  interrupt,     // timer or other interrupt, at the description's rate
  preempted,     // context switch
  unfriendly,    // system call, park, relax, fault, ...
  always_abort,  // reached its commit, in always-abort mode
  predicted,     // aborted at its begin by the learning predictor
};
inline constexpr std::size_t abort_causes = 9;
const char* name(abort_cause) noexcept;

// Aborts that have everything up to `line` in common.
struct abort_statistics {
  abort_cause cause{};
  unsigned char code = 0;       // explicit_
  const void* begin = nullptr;  // where the transaction began
  const void* by = nullptr;     // the place of the access or call that ended it, if known
  std::uintptr_t line = 0;      // conflict, capacity: address of the line
  std::uint64_t count = 0;
  std::uint64_t wasted = 0;  // cycles
};

// Transactions that began at one place.
struct transaction_statistics {
  const void* begin = nullptr;
  std::uint64_t begins = 0, commits = 0;
  std::array<std::uint64_t, abort_causes> aborts{};
  std::uint64_t committed_cycles = 0, wasted_cycles = 0;
  std::size_t most_read_lines = 0, most_written_lines = 0;  // of those that committed
};

// Work done: the calls of syncopate_mark(name, count).
struct mark_statistics {
  std::string name;
  std::vector<std::uint64_t> by_thread;  // by thread index; may be short
  std::vector<std::uint64_t> calls;      // likewise
  std::uint64_t first = 0, last = 0;     // times of the first and the last call
  std::uint64_t before = 0;  // the counts of each thread's first call: what was done until then

  [[nodiscard]] std::uint64_t total() const noexcept;
  // The fairness factor: the share that the busier half of the threads that marked did. 0.5 is
  // fair, 1 is starvation of the other half. 0 when fewer than two threads marked.
  [[nodiscard]] double fairness() const;
  // What was done in a second. From the first call to the last, less what a thread had done by its
  // own first call, as nobody knows since when; where no thread called twice, all of it, from the
  // program's start to the last call. 0 where no time passed.
  [[nodiscard]] double per_second(double hertz) const;
};

struct thread_statistics {
  unsigned index = 0;
  const void* entry = nullptr;    // the function that it ran, as spawn was given it
  const void* made_at = nullptr;  // place
  std::uint64_t begin = 0, end = 0;
  std::array<std::uint64_t, activities> cycles{};  // by activity
  std::uint64_t accesses = 0;                      // plain and atomic, as the program made them
  std::uint64_t atomics = 0;                       // of these
  std::uint64_t slow = 0;                          // of these, not served at the cost of a hit
  std::uint64_t stalled = 0;                       // cycles they took beyond a hit's
  std::uint64_t switches = 0;                      // times it gave its processor up
  std::uint64_t preemptions = 0;                   // times it lost it
  std::uint64_t migrations = 0;
  std::uint64_t parks = 0, wakes = 0, system_calls = 0;
};

// A stretch of a thread's life, for the timeline (only when it is asked for).
struct stretch {
  unsigned thread = 0;
  unsigned processor = 0;
  activity what{};
  std::uint64_t from = 0, to = 0;
  std::uintptr_t address = 0;  // what it waited for
};

// A stretch of a thread's life beside those, which it was in something.
enum class span_kind : unsigned char {
  held,       // from the end of a wait for `address` to the thread's next write of it
  committed,  // a transaction that began at `place`
  aborted,    // the same; `cause` says why
};
struct span {
  unsigned thread = 0;
  span_kind kind{};
  abort_cause cause{};
  std::uint64_t from = 0, to = 0;
  std::uintptr_t address = 0;
  const void* place = nullptr;
};

struct processor_statistics {
  std::array<std::uint64_t, activities> cycles{};
  access_totals memory;
};

struct energy_statistics {
  double joules = 0;      // all
  double processors = 0;  // joules of cores
  double transfers = 0;   // joules of lines moved
  double base = 0;        // joules of the rest, at rest
};

struct statistics {
  std::string machine;
  double hertz = 0;  // cycles per second
  std::uint64_t line_bytes = 64;
  std::uint64_t cycles = 0;  // simulated time from start to end
  bool finished = false;     // the program ended by itself
  int exit_status = 0;

  std::vector<thread_statistics> threads;  // by thread index
  std::vector<processor_statistics> processors;
  std::vector<wait_statistics> waits;                // most waited first
  std::vector<transaction_statistics> transactions;  // in the order of their first begin
  std::vector<abort_statistics> aborts;              // most frequent first
  std::vector<line_statistics> lines;                // most waited first
  std::vector<mark_statistics> marks;                // in the order of their first use
  std::vector<stretch> timeline;
  std::vector<span> spans;    // of the timeline
  bool timeline_cut = false;  // it reached its limit
  energy_statistics energy;
  instrument::native_time native;   // of this run, not simulated; only if it is going to be shown
  instrument::native_time unseen;   // the same, for the line that says that much was not seen
  std::uint64_t native_cycles = 0;  // charged as measured

  [[nodiscard]] double seconds() const noexcept {
    return hertz > 0 ? static_cast<double>(cycles) / hertz : 0;
  }
};

// Writes the report that SYNCOPATE_STATS asks for (report.cpp). Called once, at the end, also after
// a deadlock or Ctrl-C. Weak: without it a run ends with its one line.
// Returns: whether it was written; a line has said why not.
[[gnu::weak]] bool report(const statistics&);

// Whether the report will have native times. They need a profiling timer, and differ from run to
// run: so tables have them, JSON only with SYNCOPATE_NATIVE_TIME=yes.
[[gnu::weak]] bool shows_native_time();

}  // namespace syncopate::simulated
