// search.h -- which executions are run: depth-first over the choices of threads and messages,
// with dynamic partial-order reduction.
//
// Algorithm: source-DPOR with sleep sets (Abdulla, Aronis, Jonsson & Sagonas, "Optimal dynamic
// partial order reduction", POPL 2014, algorithm 1; the idea of reversing races found in an
// execution is Flanagan & Godefroid's, POPL 2005), with these changes for a memory where loads may
// read old messages and stores may stand anywhere in the modification order (memory.h):
//   * What a step depends on is program order, reads-from, and what follows. A store before a load
//     that reads an older message, and two stores, commute: the other order is the same execution.
//   * A load before a store of another thread that it could have read from, had it come later, is
//     what has to be reversed; the load then explores only messages that are newer than its earlier
//     turn (the sleeping thread wakes for these only). So each reads-from is explored once, as in
//     GenMC (Kokologiannakis, Raad & Vafeiadis, PLDI 2019).
//   * Of the messages that an operation without a write may read, those with one value are one
//     (memory::stands_for): what can follow the newer can follow the older. In the manner of
//     Chatterjee et al., "Value-centric dynamic partial order reduction", OOPSLA 2019.
//   * Both orders matter for: a seq_cst fence and any seq_cst operation; two seq_cst accesses of a
//     location unless neither moves its seq_cst view (neither where S is a graph: sc_graph.h, which
//     leaves out choices, but never what is newest, so that what is to be reversed can always be
//     reached); two futex operations of one address, unless
//     no bit of their bitsets is common (dependence::futex_order_matters); a park and a write of
//     its word; a transaction and whatever 0015-explored-transactions.md names.
//   * Who arrives at a gathering commutes with others of the same group; who leaves it depends on
//     all of them.
//   * Who gets a reader-writer lock commutes with others if both read.
//   * A take could have come before another read-modify-write if there is something left to take
//     without that one; if it is blocked, before those that have taken what it waits for.
//   * An operation with two orders is seq_cst here if either is: S decides which of the two it is.
//   * A seq_cst await that S has disabled is taken for made last, where the execution ends; one
//     that has read an old value may come too late instead (scheduler::note_late_awaits). What it
//     is reversed with is the last step that has moved S before which it would not be disabled.
//   * Who sleeps and could wake without a cause is tried after all others (scheduler::sleep_on).
//   * A transaction that ran is one step with a footprint. A thread may sleep before one, too,
//     until a step comes that matters to the footprint.
// tests/explored_engine compares the outcomes of random programs with those of plain enumeration.
#pragma once

#include "model/explored/run/options.h"
#include "trace.h"

#include <compare>
#include <random>
#include <set>
#include <vector>

namespace syncopate::explored {

class search {
 public:
  search(const options& o, memory& m) : options_(o), memory_(m), random_(o.seed) {}

  // ---- one execution --------------------------------------------------------------------------
  void begin();
  // The execution has reached its next step. Whether the search has it already: then its thread,
  // and usually its choice, are given.
  [[nodiscard]] bool is_known() const noexcept { return depth_ < steps_.size(); }
  step& now() noexcept { return steps_[depth_]; }
  step& add();
  // now() has been made. `symmetric`: 1 + earlier steps of others whose order with it matters.
  void made(const std::uint32_t* symmetric, std::size_t count);
  [[nodiscard]] std::uint32_t depth() const noexcept { return depth_; }
  step& at(std::uint32_t i) noexcept { return steps_[i]; }
  // now(), or what is blocked(), does not change the location since this step has changed it.
  void add_claim(std::uint32_t step) { claims_.push_back(step); }
  // now() is a take that this message would do for.
  void add_acceptable(message_id m) { acceptable_.push_back(m); }
  // now() or what is blocked() could come before this step, though not before others that depend on
  // it: with what the source, 1 + a step or 0, has written.
  void add_hidden(std::uint32_t step, std::uint32_t source) { hidden_.push_back({step, source}); }
  // now() could not be made without this step, which came before: 1 + its number.
  void add_source(std::uint32_t step) { sources_.push_back(step); }
  // The thread cannot make this step, the next one of the execution: it could have come before one
  // of the `symmetric` ones, or of the claims.
  void blocked(thread_index t, location_id where, const std::uint32_t* symmetric,
               std::size_t count);
  // now() must also be tried with this thread.
  void also_try(thread_index t) {
    ask({depth_, request::also, t, static_cast<thread_set>(1u << t), {}});
  }
  // The await that this step is could come too late.
  void also_late(std::uint32_t step) { ask({step, request::late, 0, 0, {}}); }

  clock& past_of(thread_index t) noexcept { return past_[t]; }
  [[nodiscard]] bool is_new() const noexcept { return depth_ + 1 >= known_; }

  // ---- between executions ---------------------------------------------------------------------
  // Goes back to the last step that has an alternative. False: there is none.
  bool next();
  // The next execution is the first one again.
  void forget() { steps_.clear(); }
  // Whether the limit of preemptions has kept something from being tried.
  [[nodiscard]] bool dropped() const noexcept { return dropped_; }
  [[nodiscard]] const std::vector<step>& steps() const noexcept { return steps_; }

  // ---- sub-trees, each of which a process of its own can explore (run/jobs.cpp) ---------------
  // What an execution wants to have tried in the state before one of its steps. Whether it is tried
  // already depends on what others have asked for before.
  struct request {
    enum kind : std::uint8_t { reversal, also, late };
    std::uint32_t step;
    kind what;
    thread_index later;  // reversal: of the step that could come first
    thread_set first;    // any of these would do
    std::vector<thread_set> others;
    auto operator<=>(const request&) const = default;
  };
  void ask(request);
  // Takes the step's next alternative; false: there is none.
  bool advance(step&);
  // From now on, what lies below the next alternative of the step is the whole search. Requests for
  // that step and those before it are kept.
  void confine(std::uint32_t root);
  [[nodiscard]] std::uint32_t floor() const noexcept { return floor_; }
  [[nodiscard]] const std::vector<request>& kept_requests() const noexcept { return kept_; }
  void note_dropped() noexcept { dropped_ = true; }

  std::mt19937_64& random() noexcept { return random_; }

 private:
  void reverse_symmetric(const clock& past, const std::uint32_t* symmetric, std::size_t count);
  void reverse_hidden(const clock& past, const std::uint32_t* symmetric, std::size_t count);
  void reverse(std::uint32_t earlier, const clock& own, const std::uint32_t* symmetric,
               std::size_t count);
  [[nodiscard]] thread_set initials(std::uint32_t earlier, const clock& past) const;
  void apply(const request&);
  static void try_one(step& before, thread_set first, thread_index later);
  [[nodiscard]] bool tells_no_more(const location::reading&, message_id written) const;
  [[nodiscard]] bool could_take_without(std::uint32_t earlier) const;
  void reverse_readings(const clock& own, const std::uint32_t* symmetric, std::size_t count);

  const options& options_;
  memory& memory_;
  std::mt19937_64 random_;
  std::vector<step> steps_;
  std::uint32_t depth_ = 0;
  std::uint32_t known_ = 0;  // steps that were there when the execution began
  std::array<clock, max_threads> past_;
  std::vector<std::uint32_t> claims_, sources_;
  std::vector<message_id> acceptable_;
  struct hidden {
    std::uint32_t step, source;
  };
  std::vector<hidden> hidden_;
  bool dropped_ = false;
  std::uint32_t floor_ = 0;  // the steps before are another process's
  std::vector<request> kept_;
  std::set<request> known_requests_;  // all of kept_
};

}  // namespace syncopate::explored
