// gil_replay.cpp -- runs again what threads did inside an interpreter lock, as a trace recorded by
// include/syncopate/elide/gil_recording.h says: each thread touches the same lines in the same
// stretches, and yields between them to a lock that works as --gil says.
//
// The trace's format is told there. A line is where it was within its page; pages lie next to each
// other. What is left out: the values, the accesses to stacks (their number is kept), and what a
// thread waited for while it was outside, but for the ends of other threads.
#include <syncopate/elide/gil_c_interface.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <unordered_map>

#include "common.h"

namespace {
using namespace workloads;
namespace elide = syncopate::elide;

constexpr std::uint64_t line_bytes = 64, lines_of_page = 64;

struct touch {
  std::uint32_t line;  // of the arena
  bool writes;
};

struct step {
  enum class kind : unsigned char { stretch, locked, after } what;
  std::uint64_t pc;       // of the yield point; after: how many threads
  std::uint64_t work;     // accesses
  std::size_t first = 0;  // of the thread's touches
  std::size_t count = 0;
};

struct script {
  std::vector<step> steps;
  std::vector<touch> touches;
};

struct alignas(line_bytes) line {
  std::uint64_t writes = 0;
  char rest[line_bytes - sizeof(std::uint64_t)];
};
// Aligned, as some machines' lines are longer than those of the trace.
struct alignas(line_bytes* lines_of_page) page {
  line lines[lines_of_page];
};

// What the recorded addresses have become.
class arena {
 public:
  explicit arena(std::size_t pages) : pages_(pages) {}
  line& operator[](std::uint32_t i) { return pages_[i / lines_of_page].lines[i % lines_of_page]; }
  [[nodiscard]] std::uint64_t writes() const {
    std::uint64_t sum = 0;
    for (const page& each : pages_)
      for (const line& l : each.lines) sum += l.writes;
    return sum;
  }

 private:
  std::vector<page> pages_;
};

struct trace {
  std::vector<script> threads;
  std::unordered_map<std::uint64_t, std::uint32_t> pages;  // recorded -> of the arena
  std::uint64_t stretches = 0, writes = 0;

  std::uint32_t place_of(std::uint64_t number) {
    const auto next = static_cast<std::uint32_t>(pages.size());
    const std::uint32_t page = pages.try_emplace(number / lines_of_page, next).first->second;
    return static_cast<std::uint32_t>(page * lines_of_page + number % lines_of_page);
  }
};

// "1fd6b50b7d0+" -> a line that was written.
bool read_touch(const std::string& word, trace& into, script& thread) {
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(word.c_str(), &end, 16);
  const bool writes = *end == '+';
  if (end == word.c_str() || end[writes ? 1 : 0] != '\0') return false;
  thread.touches.push_back({into.place_of(number), writes});
  into.writes += writes ? 1 : 0;
  return true;
}

// Adds one item of a trace. Returns whether it was understood.
bool read_item(const std::string& text, trace& into) {
  std::istringstream words(text);
  std::string what, word;
  words >> what;
  if (what == "thread") {
    into.threads.emplace_back();
    return true;
  }
  if (into.threads.empty()) return false;
  script& thread = into.threads.back();
  step s{step::kind::after, 0, 0, thread.touches.size(), 0};
  if (what == "after") {
    if (!(words >> s.pc)) return false;
  } else if (what == "s" || what == "l") {
    s.what = what == "s" ? step::kind::stretch : step::kind::locked;
    if (!(words >> std::hex >> s.pc >> std::dec >> s.work)) return false;
    while (words >> word)
      if (!read_touch(word, into, thread)) return false;
    s.count = thread.touches.size() - s.first;
    ++into.stretches;
  } else {
    return false;
  }
  thread.steps.push_back(s);
  return true;
}

trace read_trace(const options& o) {
  const std::string& path = o.text("trace");
  std::ifstream file(path);
  std::string text;
  if (!std::getline(file, text) || text != "syncopate-gil-trace 1")
    o.refuse("--trace " + path + ": this is no trace of an interpreter lock");
  trace result;
  for (std::uint64_t number = 2; std::getline(file, text); ++number)
    if (!read_item(text, result))
      o.refuse("--trace " + path + ": line " + std::to_string(number) + " is not understood");
  if (result.stretches == 0) o.refuse("--trace " + path + ": it has no stretches");
  return result;
}

class player {
 public:
  player(const script& s, arena& lines, std::atomic<std::uint64_t>& ended)
      : script_(s), lines_(lines), ended_(ended) {}

  // Returns how many stretches there were.
  std::uint64_t run() {
    std::size_t i = 0;
    for (; i < script_.steps.size() && script_.steps[i].what == step::kind::after; ++i)
      await(script_.steps[i].pc);
    if (syncopate_gil_attach() != 0) std::abort();
    syncopate_gil_enter(place_of(i < script_.steps.size() ? script_.steps[i].pc : 0));
    std::uint64_t stretches = 0;
    for (; i < script_.steps.size(); ++i) {
      const step& s = script_.steps[i];
      if (s.what == step::kind::after) {
        syncopate_gil_block_begin();
        await(s.pc);
        syncopate_gil_block_end(place_of(s.pc));
        continue;
      }
      if (stretches++ != 0) syncopate_gil_yield(place_of(s.pc));
      play(s);
    }
    syncopate_gil_leave();
    syncopate_gil_detach();
    ended_.fetch_add(1, std::memory_order_release);
    ended_.notify_all();
    return stretches;
  }

 private:
  static const void* place_of(std::uint64_t pc) { return reinterpret_cast<const void*>(pc); }

  void await(std::uint64_t count) {
    for (std::uint64_t seen; (seen = ended_.load(std::memory_order_acquire)) < count;)
      ended_.wait(seen, std::memory_order_acquire);
  }

  // All lines once, then further accesses to them until there were as many as recorded.
  void play(const step& s) {
    if (s.what == step::kind::locked) syncopate_gil_needs_lock();
    const touch* const touches = script_.touches.data() + s.first;
    for (std::size_t i = 0; i < s.count; ++i) {
      line& l = lines_[touches[i].line];
      const std::uint64_t value = read(l);
      if (touches[i].writes) l.writes = value + 1;
    }
    const line* const own = s.count != 0 ? nullptr : &idle_;
    for (std::uint64_t i = s.count; i < s.work; ++i)
      (void)read(own != nullptr ? *own : lines_[touches[i % s.count].line]);
  }

  static std::uint64_t read(const line& l) {
    return *static_cast<const volatile std::uint64_t*>(&l.writes);
  }

  const script& script_;
  arena& lines_;
  std::atomic<std::uint64_t>& ended_;
  line idle_;
};

std::string statistics_member() {
  const auto& lock = elide::c_interface::lock();
  const elide::detail::gil_sums s = elide::detail::sums_of(lock);
  return "\"lock\": {" + member("transactions", s.begins) + member("aborts", s.aborts) +
         "\"fallbacks\": " + std::to_string(s.fallbacks) + "}, ";
}
}  // namespace

int main(int argc, char** argv) {
  const options o(argc, argv,
                  "Threads do again what a trace of an interpreter lock says. The trace is its\n"
                  "size: it has no --preset.",
                  {{"trace", "", "the trace's file (SYNCOPATE_GIL_TRACE)"},
                   {"gil", "balance", "how the lock works, as SYNCOPATE_GIL"},
                   seed_option});
  if (!elide::parse_gil_options(o.text("gil")))
    o.refuse("no lock works as '" + o.text("gil") + "'");
  ::setenv("SYNCOPATE_GIL", o.text("gil").c_str(), 1);
  const trace played = read_trace(o);
  arena lines(played.pages.size());
  std::atomic<std::uint64_t> ended{0};
  outcome result;
  result.shares.resize(played.threads.size());
  starting_gun gun(static_cast<std::uint32_t>(played.threads.size()));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < played.threads.size(); ++i)
    threads.emplace_back([&, i] {
      share& mine = result.shares[i];
      gun.wait();
      mine.began = machine::now();
      mine.operations = player(played.threads[i], lines, ended).run();
      mine.ended = machine::now();
    });
  for (std::thread& thread : threads) thread.join();
  return report("gil_replay", o, result, lines.writes() == played.writes,
                member("gil", o.text("gil")) + statistics_member());
}
