// config.h -- what the environment asks of the OpenMP preload library.
//
//   SYNCOPATE=off                       everything is passed to the program's own runtime
//   SYNCOPATE_OMP_BARRIER=name[:wait]   which barrier; "runtime": the runtime's own
//   SYNCOPATE_OMP_LOCK=name[:wait]      which lock stands behind locks and critical sections
//   SYNCOPATE_WAIT=name                 how barriers and locks wait that say nothing themselves
//   SYNCOPATE_OMP_REGIONS=kept          libgomp's teams stay from region to region (kept_region.h)
//   SYNCOPATE_OMP_TASKS=ours            tasks of libgomp's programs are ours (tasks.h)
//   SYNCOPATE_RECORD=file               record waits into that file
//   SYNCOPATE_VERBOSE=1                 a line on standard error for each runtime taken over
#pragma once

#include <atomic>
#include <cstdint>

#include "openmp/locks/locks.h"
#include "openmp/teams/barriers.h"

namespace syncopate::openmp {

// Who has locks and critical sections. The default lock is in the program's own word, so that it
// needs no table.
enum class lock_keeper : std::uint8_t { not_read, runtime, we, we_in_word };

enum class waiting : std::uint8_t { adaptive, spin, monitor, yield, park, spin_then_park };

struct configuration {
  std::atomic<bool> read{false};
  bool active = false;  // false: every call is passed on
  bool verbose = false;
  bool keep = false;                           // regions stay open
  bool tasks = false;                          // libgomp's are ours
  const barrier_algorithm* barrier = nullptr;  // null: the runtime's own barriers
  const erased_lock* lock = nullptr;           // null: the runtime's own locks
  std::atomic<lock_keeper> keeper{lock_keeper::not_read};
  waiting wait = waiting::adaptive;  // of barriers
};

// Read once, by the first call that needs it; then constant.
extern constinit configuration config;

// False once it is known that some calls are not passed on. Read by name in kmpc_fork.cpp.
extern "C" [[gnu::visibility("hidden")]] constinit std::atomic<bool> syncopate_may_pass_all_on;

// Safe in any thread at any time.
void ensure_configured() noexcept;

// One line on standard error, by raw write; the parts end with a null pointer.
void say(const char* const* parts) noexcept;

}  // namespace syncopate::openmp
