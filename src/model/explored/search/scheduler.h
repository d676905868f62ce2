// scheduler.h -- whose turn it is, and what the thread chooses in it: as the search has it, as a
// schedule says that is repeated, or at random.
#pragma once

#include "alternatives.h"
#include "dependence.h"
#include "model/explored/memory/memory.h"
#include "model/explored/report/verdict.h"
#include "model/explored/run/ends.h"
#include "model/explored/run/options.h"
#include "model/explored/run/thread_table.h"
#include "replay.h"
#include "search.h"

#include <cstdint>
#include <vector>

namespace syncopate::explored {

class scheduler {
 public:
  scheduler(const options& o, memory& m, search& s, thread_table& threads, alternatives& possible,
            dependence& order, replay& r, verdict& found, ends& end)
      : options_(o),
        memory_(m),
        search_(s),
        threads_(threads),
        alternatives_(possible),
        dependence_(order),
        replay_(r),
        verdict_(found),
        ends_(end) {}

  // What is no failure when nobody can run any more (surroundings.h).
  void allow(bool all_must_end, bool loops_may_stay) noexcept {
    all_must_end_ = all_must_end;
    loops_may_stay_ = loops_may_stay;
  }

  void begin();  // an execution
  [[nodiscard]] std::uint32_t new_priority();

  // All threads stand before their next operations, or are to run to them. Returns who runs: where
  // it has announced its operation, its step is search.now() from then on. Ends the execution where
  // nobody can.
  [[nodiscard]] thread_index pick();

  // The running thread's step begins, and has been made.
  step& turn();
  void end_turn(step&);
  [[nodiscard]] bool is_in_step() const noexcept { return in_step_; }

  // main has returned, or somebody has ended the program: the others only run to their ends.
  [[nodiscard]] bool is_over() const noexcept;

  // A step in which the running thread looks at a clock: whether much time has passed.
  [[nodiscard]] bool choose_time();

 private:
  void check_recorded(step&, const operation&);
  void inherit_sleep(step&);
  void prepare(step&);
  void prepare_time(step&);
  void enable(step&, unsigned t);
  void settle(step&);
  void settle_at_random(step&, choices all);
  [[nodiscard]] bool all_idle() const noexcept;
  [[nodiscard]] thread_index recorded();
  [[nodiscard]] thread_set before_who_computes(thread_set) const;
  void choose_thread(step&);
  void choose_at_random(step&);
  void take_replayed();
  void sleep_on(step&);
  bool force(step&);
  [[nodiscard]] unsigned least_forced() const;
  void check_limit();
  bool reads_for_good();
  void note_endless();
  [[noreturn]] void end_in_vain();
  [[noreturn]] void stuck(const char* if_one_spins = "threads spin on what nobody will change");
  [[nodiscard]] bool newest_is_awaited(const operation&) const;
  void note_late_awaits();

  const options& options_;
  memory& memory_;
  search& search_;
  thread_table& threads_;
  alternatives& alternatives_;
  dependence& dependence_;
  replay& replay_;
  verdict& verdict_;
  ends& ends_;
  std::vector<std::uint32_t> priority_changes_;
  bool in_step_ = false, all_must_end_ = false, loops_may_stay_ = false;
};

}  // namespace syncopate::explored
