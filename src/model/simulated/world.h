// world.h -- one simulated machine with the program that runs on it.
#pragma once

#include "model/simulated/description/description.h"
#include "model/simulated/htm/transactions.h"
#include "model/simulated/kernel/futexes.h"
#include "model/simulated/kernel/loops.h"
#include "model/simulated/kernel/scheduler.h"
#include "model/simulated/kernel/watchers.h"
#include "model/simulated/memory/memory_system.h"
#include "model/simulated/report/gather.h"

namespace syncopate::simulated {

struct world {
  explicit world(description);

  const description machine;
  gatherer gather;
  transactions htm;
  memory_system memory;
  watchers watching;
  futexes kernel;
  loops polled_loops;
  scheduler schedule;

  // How the run ended.
  bool finished = false;  // the program ended by itself
  int exit_status = 0;
  cycles ended_at = 0;
  cycles native_charged = 0;  // to all threads (native_time.h)
};

// Made by engine::run() and never destroyed; null before.
extern world* the_world;

// The clock while no thread of the program runs on the machine: in static constructors, where it
// goes on by each question alone, and main begins at it; and after the end.
inline constinit cycles clock_outside = 0;

// The description that SYNCOPATE_MACHINE chooses. Also before the_world is made.
const description& the_machine();

// Charges what the thread has spent in code that the machine cannot see (native_time.h).
[[gnu::cold]] void charge_native(world&, thread&);

// The program cannot go on: ends the run. For those who have said why.
[[noreturn]] void stop_run(world&, int status);

// Nothing useful can happen any more: says so, and who waits for what; ends the run with status 1.
[[noreturn]] void report_deadlock(world&,
                                  const char* why = "no thread of the simulated program can run");

}  // namespace syncopate::simulated
