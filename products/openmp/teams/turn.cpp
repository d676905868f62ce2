// turn.cpp -- see turn.h.

#include "openmp/teams/turn.h"

#include <utility>

#include "openmp/teams/places.h"
#include "openmp/teams/team.h"
#include "record/recorder.h"

namespace syncopate::openmp {
namespace {

// Of a thread that is in no region that we know.
thread_local constinit bool had_turn [[gnu::tls_model("initial-exec")]] = false;

// Of the thread, which waits for one turn at a time, and runs nothing of the program's meanwhile.
thread_local record::wait current_wait [[gnu::tls_model("initial-exec")]];

bool& turn_of_region() noexcept { return current != nullptr ? current->had_turn : had_turn; }

}  // namespace

bool turn::begin(const binding& meant, const void* caller) noexcept {
  if (__builtin_expect(!record::enabled, 1)) return false;
  if (!meant.ours || meant.to->real.omp_get_num_threads() < 2) return false;
  const std::uint32_t place =
      record::identify(record::object_kind::barrier, turn_in_program, caller, nullptr);
  current_wait = record::wait_begin(record::wait_kind::barrier, place, 0, {.caller = caller});
  return true;
}

void turn::end() noexcept { record::wait_end_now(current_wait); }

bool past_turn() noexcept { return std::exchange(turn_of_region(), false); }

void note_turn() noexcept { turn_of_region() = true; }

}  // namespace syncopate::openmp
