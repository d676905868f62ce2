// findings.h -- what a process that has explored a part of the search tells the one that gave it
// (jobs.cpp), as bytes for a pipe.
#pragma once

#include "model/explored/report/verdict.h"
#include "model/explored/search/assumptions.h"
#include "model/explored/search/search.h"

#include <cstdint>
#include <string>
#include <vector>

namespace syncopate::explored {

struct findings {
  // The counts and the marks of a verdict: all but its words.
  struct marks {
    std::uint64_t executions = 0, redundant = 0, cut = 0, steps = 0, longest = 0;
    unsigned threads = 0;
    bool load_buffering = false, sc_orders = false, signals = false;
    bool ignored = false, failed = false;
    bool begins_anew = false, too_many = false, dropped = false;
    bool usable = false;  // else the part is to be explored by who gave it
    assumptions::state assumed;
    // Of the part's first step: what there is to choose, which its first execution has found out.
    bool settled = false, local = false;
    choice chosen = only;
    choices rest = 0;
    withheld_choices withheld;
    decltype(verdict::stores) stores;
    decltype(verdict::endless) endless;
  } of;
  std::string bound, schedule;
  std::vector<place> believed;
  std::vector<loop> endless;  // those that were not known before
  std::vector<search::request> asked;

  void send(int to) const;
  // Returns whether all was there.
  bool receive(int from);
};

// Adds what a part's process has found, but for its failure.
void join(verdict&, const findings&);

}  // namespace syncopate::explored
