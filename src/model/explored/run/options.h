// options.h -- how far the explored machine searches, and what it says.
//
// SYNCOPATE_EXPLORE holds them, separated by commas: "executions=10000,preemptions=2,progress".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace syncopate::explored {

struct options {
  // Limits: reaching one makes the verdict `bounded`. 0: none.
  std::uint64_t executions = 0;
  double seconds = 0;
  std::uint32_t steps = 5'000;  // of one execution
  int preemptions = -1;         // of one execution; -1: no limit
  // Processes that explore; they find what one finds. split: after so many executions each looks
  // for a part to give away.
  unsigned jobs = 1;
  std::uint64_t split = 64;
  // Random scheduling (PCT: Burckhardt, Kothari, Musuvathi & Nagarakatte, ASPLOS 2010) instead of
  // systematic search, `executions` times (10,000 unless told), with `depth` - 1 priority changes.
  bool random = false;
  std::uint64_t seed = 0;
  unsigned depth = 3;
  bool every_order = false;  // no reduction at all: every interleaving. For tests of the reduction.

  // What the environment may do to an execution, beyond scheduling; part of what "passed" means.
  // Of each thread: were these for all together, two that wait a while before they sleep would
  // never sleep both.
  unsigned timeouts = 2;  // timed waits that expire although another thread could run
  unsigned jumps = 1;     // calls of a clock that find much time gone, or spin loops that give up
  // Turns in which a loop that has given up looks for news all the same (impatience.cpp).
  unsigned looks = 3;
  // Turns of a polling loop that only read, after which the loop goes round once more: such a turn
  // is taken to leave nothing behind, so that only the last one matters. -1: no limit.
  int turns = -1;
  unsigned spurious = 1;  // wake-ups without a wake, and weak compare-exchanges that fail
  // Of all together.
  unsigned aborts = 2;      // transactions that abort though the program has not asked for it
  bool any_waiter = false;  // wake() chooses; else the longest-parked
  unsigned processors = 4;
  unsigned nodes = 2;
  bool htm = true;     // hardware transactions
  bool claims = true;  // order that annotations claim is believed

  // The program was compiled with optimization: it may read what it does not use. No option.
  bool optimized = false;

  bool progress = false;   // a line every 2 seconds, also when standard error is no terminal
  unsigned weaken = 0;     // SYNCOPATE_WEAKEN: the ordered access site to make relaxed; 0: none
  std::string sites;       // SYNCOPATE_SITES: the file for the list of sites; empty: none
  std::string schedule;    // SYNCOPATE_SCHEDULE: run this one execution (verdict.h)
  std::string statistics;  // SYNCOPATE_STATS: "json", a file, or empty
  bool quiet = false;      // SYNCOPATE_QUIET=1: no final line
};

// Reads SYNCOPATE_EXPLORE's syntax. Returns an empty string, or what is wrong with it.
std::string parse(const char* text, options& into);

// The options that say what can happen in an execution, where they are not the usual ones, in
// parse()'s syntax.
std::string unusual(const options&);

// Takes the options that stand before the steps of a schedule. Returns as parse().
std::string take_options_of_schedule(options&);

// The options of this process's environment. Ends the process with status 2 and one line if they
// cannot be understood.
options options_from_environment();

}  // namespace syncopate::explored
