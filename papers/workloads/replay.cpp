// replay.cpp -- runs again what a record says of one lock: each thread works, takes the lock, holds
// it, releases it. `syncopate simulate --from` writes the trace and asks what changes would bring.
//
// A trace is text, one item a line:
//     syncopate-trace 3
//     hold LOW HIGH COUNT              COUNT holds took LOW to HIGH nanoseconds
//     asleep LOW HIGH COUNT            ... that their thread slept, or waited for input or output
//     runs PERMILLE                    so much of these the thread ran first (0 without this line)
//     thread OUTSIDE CHANCE AWAY       a thread works OUTSIDE nanoseconds between two sections, and
//                                      in CHANCE of a million cases sleeps AWAY nanoseconds (means)
//     outside LOW HIGH COUNT           COUNT times the thread of the line above worked so long
// Times within a line of `hold`, `asleep`, `outside` are spread evenly; AWAY, and OUTSIDE where no
// lengths follow, exponentially. Thread i does what line i of `thread` says, and begins anew at the
// first when there are fewer lines.
#include <syncopate/rwlocks/auto_rwlock.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <memory>
#include <sstream>

#include "common.h"

namespace {
using namespace workloads;

constexpr std::uint64_t million = 1'000'000;
constexpr std::uint64_t private_lines = 64;  // of a shard: what sections touch that do not conflict

struct range {
  std::uint64_t low, high, upto;  // upto: samples in this range and all before
  bool sleeps;
};
using ranges = std::vector<range>;

struct thread_kind {
  double outside = 0, away = 0;
  std::uint64_t chance = 0;
  ranges lengths;  // of the work outside
};

struct trace {
  ranges holds;
  std::uint64_t runs = 0;  // of a thousand parts of holds asleep
  std::vector<thread_kind> threads;
};

bool read_range(std::istringstream& words, ranges& into, bool sleeps = false) {
  range r{.low = 0, .high = 0, .upto = 0, .sleeps = sleeps};
  std::uint64_t count = 0;
  if (!(words >> r.low >> r.high >> count) || r.high < r.low || count == 0) return false;
  r.upto = count + (into.empty() ? 0 : into.back().upto);
  into.push_back(r);
  return true;
}

// Adds one line of a trace. Returns whether it was understood.
bool read_line(const std::string& line, trace& into) {
  std::istringstream words(line);
  std::string what;
  words >> what;
  if (what == "hold" || what == "asleep") return read_range(words, into.holds, what == "asleep");
  if (what == "runs") return (words >> into.runs) && into.runs <= 1000;
  if (what == "outside")
    return !into.threads.empty() && read_range(words, into.threads.back().lengths);
  thread_kind kind;
  if (what != "thread" || !(words >> kind.outside >> kind.chance >> kind.away)) return false;
  into.threads.push_back(kind);
  return true;
}

// A time that passes, first on a processor, then asleep.
struct length {
  std::uint64_t nanoseconds = 0, asleep = 0;  // asleep: of all these

  [[nodiscard]] length part(std::uint64_t percent) const {
    return {.nanoseconds = nanoseconds * percent / 100, .asleep = asleep * percent / 100};
  }
};

void spend(length time) {
  compute(time.nanoseconds - time.asleep);
  if (time.asleep != 0) std::this_thread::sleep_for(std::chrono::nanoseconds(time.asleep));
}

trace read_trace(const options& o) {
  const std::string& path = o.text("trace");
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || line != "syncopate-trace 3")
    o.refuse("--trace " + path + ": this is no trace");
  trace result;
  while (std::getline(file, line))
    if (!read_line(line, result)) o.refuse("--trace " + path + ": '" + line + "'");
  if (result.holds.empty() || result.threads.empty())
    o.refuse("--trace " + path + ": it has no holds or no threads");
  return result;
}

// What the change under question does to every section.
struct change {
  std::uint64_t length, moved, reads, conflicts;  // percent
};

struct alignas(128) data_line {
  std::uint64_t value = 0;
};

// One lock and what it protects. With a reader-writer lock, that alone is used.
class shard {
 public:
  shard(const options& o, bool reader_writer)
      : lock_(reader_writer ? nullptr : make_lock(o)), lines_(private_lines) {}

  void run(bool reads, bool conflicts, std::uint64_t mine, length hold) {
    data_line& line = conflicts ? common_ : lines_[mine % private_lines];
    if (lock_ != nullptr) {
      lock_->lock();
      touch(line, reads, hold);
      lock_->unlock();
    } else if (reads) {
      rwlock_.lock_shared();
      touch(line, reads, hold);
      rwlock_.unlock_shared();
    } else {
      rwlock_.lock();
      touch(line, reads, hold);
      rwlock_.unlock();
    }
  }

  // How many sections wrote.
  [[nodiscard]] std::uint64_t writes() const {
    std::uint64_t sum = common_.value;
    for (const data_line& line : lines_) sum += line.value;
    return sum;
  }

 private:
  static void touch(data_line& line, bool reads, length hold) {
    const std::uint64_t value = *static_cast<volatile std::uint64_t*>(&line.value);
    spend(hold);
    if (!reads) line.value = value + 1;
  }

  std::unique_ptr<named_lock> lock_;
  alignas(128) syncopate::auto_rwlock rwlock_;
  data_line common_;
  std::vector<data_line> lines_;
};

class player {
 public:
  player(const trace& from, const change& what, std::uint64_t seed, std::uint32_t me)
      : trace_(from),
        change_(what),
        kind_(from.threads[me % from.threads.size()]),
        random_(seed, me),
        me_(me) {}

  // One round: a section, then the work outside. Returns whether the section wrote.
  bool round(const std::vector<std::unique_ptr<shard>>& shards) {
    const length hold = draw(trace_.holds);
    const bool reads = random_.below(100) < change_.reads;
    const bool conflicts = random_.below(100) < change_.conflicts;
    shards[random_.below(shards.size())]->run(reads, conflicts, me_, hold.part(change_.length));
    spend(hold.part(change_.moved));
    compute(outside());
    if (random_.below(million) < kind_.chance)
      std::this_thread::sleep_for(std::chrono::nanoseconds(exponential(kind_.away)));
    return !reads;
  }

  // Threads are not in step when they begin.
  void stagger() { compute(random_.below(static_cast<std::uint64_t>(kind_.outside) + 100)); }

 private:
  length draw(const ranges& from) {
    const std::uint64_t place = random_.below(from.back().upto);
    const auto found =
        std::upper_bound(from.begin(), from.end(), place,
                         [](std::uint64_t value, const range& r) { return value < r.upto; });
    const std::uint64_t all = found->low + random_.below(found->high - found->low + 1);
    return {.nanoseconds = all, .asleep = found->sleeps ? all * (1000 - trace_.runs) / 1000 : 0};
  }
  std::uint64_t outside() {
    return kind_.lengths.empty() ? exponential(kind_.outside) : draw(kind_.lengths).nanoseconds;
  }
  std::uint64_t exponential(double mean) {
    const double uniform = static_cast<double>(random_.below(million) + 1) / million;
    return static_cast<std::uint64_t>(-std::log(uniform) * mean);
  }

  const trace& trace_;
  const change change_;
  const thread_kind kind_;
  random_numbers random_;
  const std::uint32_t me_;
};

std::uint64_t percent(const options& o, std::string_view name) {
  const std::uint64_t value = o.number(name);
  if (value > 100) o.refuse("--" + std::string(name) + " is in percent");
  return value;
}
}  // namespace

int main(int argc, char** argv) {
  const options o(argc, argv,
                  "Threads take and hold a lock as a trace of a program says. The trace is its\n"
                  "size: it has no --preset.",
                  {{"trace", "", "the trace's file"},
                   {"lock", "auto", "a lock of `syncopate list`, pthread, or rwlock"},
                   threads_option,
                   {"length", "100", "percent of their length that sections keep"},
                   {"moved", "0", "percent of their length that comes after the release instead"},
                   {"shards", "1", "so many locks, each with its share of the data"},
                   {"reads", "0", "percent of sections that only read"},
                   {"conflicts", "100", "percent of sections that touch a common line"},
                   {"microseconds", "1000", "how long"},
                   pin_option,
                   seed_option});
  const trace played = read_trace(o);
  const change what{percent(o, "length"), percent(o, "moved"), percent(o, "reads"),
                    percent(o, "conflicts")};
  const std::uint64_t microseconds = o.number("microseconds", 1), seed = o.number("seed");
  std::vector<std::unique_ptr<shard>> shards;
  for (std::uint64_t i = 0; i < o.number("shards", 1); ++i)
    shards.push_back(std::make_unique<shard>(o, o.text("lock") == "rwlock"));
  std::atomic<std::uint64_t> writes{0};
  const outcome result = run_threads(o, [&](std::uint32_t me) {
    player mine(played, what, seed, me);
    mine.stagger();
    const std::uint64_t until = machine::now() + microseconds * 1000;
    std::uint64_t rounds = 0, wrote = 0;
    do {
      wrote += mine.round(shards) ? 1 : 0;
      ++rounds;
    } while (machine::now() < until);
    writes.fetch_add(wrote, std::memory_order_relaxed);
    return rounds;
  });
  std::uint64_t kept = 0;
  for (const auto& each : shards) kept += each->writes();
  return report("replay", o, result, kept == writes.load(std::memory_order_relaxed),
                member("lock", o.text("lock")));
}
