// thread.h -- what the explored machine knows of one of the program's threads: where it stands,
// what it has announced, what it has read, and the loops that it may be in.
#pragma once

#include "model/explored/memory/memory.h"
#include "model/explored/search/trace.h"

#include "model/front/threads/fiber.h"

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace syncopate::explored {

enum class thread_state : std::uint8_t { none, ready, announced, ended };

struct polled {
  location_id where;
  message_id seen;
  std::uint32_t read = 0;     // the thread's last read of it
  std::uint32_t changed = 0;  // and the last one that found another value than the one before
};

// A loop by its relax() and the calls around that.
struct loop {
  place at = nullptr;
  caller_places callers{};
  bool operator==(const loop&) const = default;
};

// What an operation was given: where, and which values.
using given_values = std::array<word, 3>;

// Where a thread was at an operation (loops.cpp).
struct visit {
  loop of;
  given_values given{};
  std::array<std::uintptr_t, 6> registers{};
  std::vector<unsigned char> stack;
  std::uint32_t reads = 0;   // that the thread had made
  std::uint32_t writes = 0;  // plain ones, but on its stack
};

// A plain write, and what was there before it.
struct written {
  address at;
  std::size_t bytes;
  std::array<unsigned char, 32> before;
};

// A place where a loop that has given up reads (impatience.cpp), and what the thread kept in its
// registers and on its stack when it was there last.
struct look {
  // Since the turn before.
  enum class change : std::uint8_t { first, none, usual, other };
  loop at;
  std::vector<std::uint32_t> kept{};
  std::vector<std::strong_ordering> went{};  // since the turn before that
  std::uint32_t writes = 0;                  // that the thread had made elsewhere
  unsigned turns = 0, looks = 0, anew = 0;
};

// So far up a stack has been left, at this time of its thread.
struct left_frames {
  address up_to;
  std::uint32_t time;
  place where;
};

// Plain accesses, after which a thread lets others go first (machine::compute_on).
inline constexpr std::uint32_t long_computation = std::uint32_t{1} << 23;

struct thread {
  instrument::fiber* fiber = nullptr;
  std::size_t stack_bytes = 0;
  address stack_low = 0, stack_high = 0;  // of the fiber
  thread_state now = thread_state::none;
  bool exits = false;  // it has ended the program; the others run until they wait
  void (*entry)(void*) = nullptr;
  void* argument = nullptr;
  operation next;
  std::uint32_t announced_at = 0;  // after so many steps
  // Its stack: where it stood at its last operation, or 0 if that is not known; and the lowest
  // variable that somebody has accessed since.
  address stands = 0, touched = ~address{0};
  address deepest = ~address{0};   // where it has stood, in all executions
  std::vector<left_frames> lefts;  // the later, the less far up
  // Parked: next is expire. woken: by a wake.
  bool parked = false, woken = false;
  address parked_at = 0;
  bool parked_timed = false;
  std::uint32_t woken_by = 0;  // 1 + the step
  std::uint32_t parked_bitset = 0;
  std::uint64_t parked_order = 0;
  location_id parked_word = memory::none;
  // The locations read since the last relax(), with what was read.
  std::vector<polled> polls;
  std::uint32_t reads = 0;
  // Its last plain access, if that was a read, and how often it has been made again.
  address read_at = 0;
  place read_from = nullptr;
  std::uint32_t read_again = 0;
  // Its plain accesses since its last operation, and how often it has gone on computing alone.
  std::uint32_t accesses = 0, alone = 0;
  std::vector<unsigned char> stood;  // its stack, when stands_as_before() was asked last
  // Where it has been since it last changed something; and whether it has written since, though
  // nothing that was not there before. The last plain writes may have been of that kind.
  std::vector<visit> visits;
  std::vector<explored::written> written;
  bool rewrote = false;
  std::uint32_t writes = 0;  // plain ones so far, but on its stack
  // The program's loads so far, and whether a write of something else came behind one.
  location_id loaded = memory::none;
  int ignored_reads = 0, ignored_writes = 0;  // sections of it that ask for that
  bool loaded_others = false, loaded_weakly = false, writes_after_load = false;
  // A loop that has given up waiting: it reads the same again until it does something else.
  unsigned patience_lost = 0;                       // turns of it
  unsigned ignored = 0;                             // reads of the last turn
  std::uint32_t unlooked_behind = 0, unlooked = 0;  // its last step; such reads since (trace.h)
  bool forced = false;                              // since nothing else could run
  std::uint32_t times_forced = 0;
  bool spins = false;  // and it never ended
  bool late = false;   // what it awaits has come and gone: it waits for good
  std::vector<polled> ignores;
  std::vector<look> ignores_at;  // the places of the loop that have read these
  loop impatient_in;
  // The loops it is in, and how often each has gone round since it last did more than read.
  struct rounds {
    loop of;
    int turns;
  };
  std::vector<rounds> rounds_of;
  // What the environment has done to it in this execution (options.h).
  unsigned timeouts = 0, jumps = 0, spurious = 0;
  bool expired = false;  // a sleep, and it has only read since
  std::uint32_t priority = 0;

  // An execution begins, and it is not in it yet.
  void forget();

  // It has read that message.
  void note_poll(const memory&, location_id, message_id seen);

  void regain_patience() noexcept {
    patience_lost = ignored = 0;
    forced = false;
  }
  void forget_visits() noexcept {
    visits.clear();
    written.clear();
    rewrote = false;
  }
  // It does more than read.
  void act() noexcept {
    regain_patience();
    rounds_of.clear();
    forget_visits();
    expired = false;
  }
};

}  // namespace syncopate::explored
