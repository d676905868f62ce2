// verdict.h -- what an exploration found.
#pragma once

#include "model/explored/search/trace.h"

#include <cstdint>
#include <string>
#include <vector>

namespace syncopate::explored {

enum class failure_kind : std::uint8_t {
  none,
  race,
  check,  // a failed assertion, abort(), an exit status that is not 0, an exception
  crash,
  deadlock,
  livelock,
  use_after_free,
  double_free,
  unsupported,  // the program does what this machine does not model
  divergence,   // the program did something else when it was run again
};
[[nodiscard]] const char* name(failure_kind) noexcept;

struct failure {
  failure_kind kind = failure_kind::none;
  std::string text;
  thread_index thread = 0;
  place where = nullptr, other = nullptr;
  caller_places callers{};     // of `where`
  engine::address object = 0;  // what it is about: in memory, if anywhere
  std::vector<step> steps;
  struct thread_end {  // what a thread was about to do
    bool running = false, ended = false, parked = false, spins = false, reads_nothing = false;
    operation next;
  };
  std::vector<thread_end> threads;
  std::string schedule;
};

// passed: no execution within the options fails (those that cannot be told apart were explored
// once). bounded: a limit ended the search.
enum class result : std::uint8_t { passed, failed, bounded };
[[nodiscard]] const char* name(result) noexcept;

// What could have happened beyond the options (options.h).
struct withheld_choices {
  bool timeouts = false, jumps = false, looks = false, turns = false, spurious = false;
  bool sequences = false;  // stores that break a release sequence and follow from a read in it

  void join(const withheld_choices& other) noexcept {
    timeouts |= other.timeouts;
    jumps |= other.jumps;
    looks |= other.looks;
    turns |= other.turns;
    spurious |= other.spurious;
    sequences |= other.sequences;
  }
};

struct verdict {
  result how = result::passed;
  std::string bound;  // which limit
  std::uint64_t executions = 0;
  std::uint64_t redundant = 0;  // of these, given up because explored before
  std::uint64_t cut = 0;        // of these, given up at the limit of steps
  std::uint64_t steps = 0;      // made for the first time
  std::uint64_t longest = 0;    // steps of the longest execution
  unsigned threads = 0;
  bool transactions = false;          // some were begun
  bool load_buffering = false;        // could matter to the program (machine::note_load)
  bool sc_orders = false;             // those that are not there could matter (sc_orders.h)
  bool s_by_graph = false;            // the search has begun anew, for other ones (sc_graph.h)
  bool signals = false;               // were sent that could come at other times, to other threads
  bool ignored = false;               // the program says of accesses that races of theirs are meant
  std::vector<place> believed;        // annotations that order what its accesses do not
  std::vector<std::string> assembly;  // places of what is not seen and may touch memory
  std::vector<std::string> calls;     // functions whose writes are not seen
  bool structs_unseen = false;        // those that calls take or return by value
  withheld_choices withheld;
  // By which rules for release sequences the program's stores were judged (engine::sequences).
  struct {
    bool cxx20 = false, cxx11 = false;
  } stores;
  // Of the first execution that was cut: what it has made most often in the end, or computes: where
  // it has computed, and made no step.
  struct {
    place at = nullptr;
    caller_places callers{};
    thread_index thread = 0;
    bool computes = false;
  } endless;
  double seconds = 0;
  failure what;

  // The process's exit status: 0 passed, 1 failed, 3 bounded.
  [[nodiscard]] int status() const noexcept {
    return how == result::passed ? 0 : how == result::failed ? 1 : 3;
  }
};

// One entry of a schedule: `count` steps of a thread with this choice. As text "0*12 1 1/2":
// thread, /choice unless it is the newest message, *count unless it is 1. No steps: "-". Before
// them stand the options without which they are not possible: "jumps=2,spurious=1 0*12 1 1/2".
struct schedule_token {
  thread_index thread = 0;
  choice chosen = 0;
  std::uint32_t count = 1;
};
std::string write_schedule(const std::vector<step>& steps);
// Returns whether the text is a schedule.
bool read_schedule(const std::string& text, std::vector<schedule_token>& into);

}  // namespace syncopate::explored
