// run.h -- explores a random program.
#pragma once

#include "program.h"

#include <set>
#include <string>

#include "model/explored/run/machine.h"

namespace fuzz {

struct found {
  syncopate::explored::verdict how;
  // What the threads have read, how far they came, and what the variables are in the end.
  std::set<std::string> outcomes;
};

// explore_reduced: as users run it. every_order: no reduction, at most so many executions, and a
// turn of the search before each plain access as well.
// The outcome in words.
std::string text(const program&, const std::string& outcome);

found explore_reduced(const program&, std::uint64_t most_executions);
// In several processes, which look for a part to give away after each execution.
found explore_in_jobs(const program&, unsigned jobs);
// As SYNCOPATE_SCHEDULE repeats what explore_reduced or explore_in_jobs has found: nothing else of
// the search is known.
found explore_schedule(const program&, const std::string& schedule);
// While there is one: who waits or goes round for good is a failure.
struct strictly {
  strictly();
  ~strictly();
  strictly(const strictly&) = delete;
  strictly& operator=(const strictly&) = delete;
};
// What the accesses have read, in the program's order, and the atomic variables in the end.
std::vector<int> values(const program&, const std::string& outcome);

found explore_every_order(const program&, std::uint64_t most_executions);
// As explore_reduced, with so many turns of each loop that are plain operations: the outcomes of
// the executions in which no more are needed.
found explore_unrolled(const program&, std::uint64_t most_executions);

}  // namespace fuzz
