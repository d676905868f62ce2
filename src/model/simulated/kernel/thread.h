// thread.h -- a thread and a processor of the simulated machine: the state, without the rules.
#pragma once

#include "events.h"
#include "model/simulated/htm/transaction.h"
#include "model/simulated/report/statistics.h"

#include <syncopate/machine/types.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "model/front/engine.h"
#include "model/front/threads/fiber.h"

namespace syncopate::simulated {

enum class phase : unsigned char {
  running,   // has a processor; its fiber runs, or a `go` event will continue it
  polling,   // has a processor; watches a line
  looking,   // has a processor; a `look` event will read the word again
  queued,    // waits in a processor's queue
  parked,    // on a futex
  sleeping,  // until a time
  ended,
};

// What a polling thread waits for. `holds` decides; a loop of the program's own waits for a value
// other than `seen` (holds is null).
struct poll_state {
  engine::address at = 0;
  unsigned bytes = 0;
  int depth = -1;  // -1: spins; 0, 1: monitor-wait
  engine::predicate holds = nullptr;
  void* context = nullptr;
  std::uint64_t seen = 0;
  cycles until = 0;   // 0: no limit
  cycles origin = 0;  // a poll took place at origin, and at each multiple of `period` after it
  cycles period = 1;
  std::uint64_t looks = 0;
  bool satisfied = false;
  bool on_list = false;  // of watchers
};

struct park_state {
  engine::address at = 0;
  std::uint32_t bitset = 0, expected = 0;
  cycles asleep_from = 0;
  machine::park_result result{};
};

// What is known of a place that polls (loops.h).
struct loop_place {
  unsigned polls = 0;    // made honestly
  bool bounded = false;  // was seen to end without a change
};

// The last polls of a loop that the program wrote by hand (see loops.h).
struct loop_state {
  engine::place where = nullptr;
  engine::address at = 0;
  loop_place* place = nullptr;  // once it was looked up
  std::uint64_t value = 0;
  std::uint64_t accesses = 0;  // the thread's count at the last poll
  cycles last = 0;             // time of the last poll
  unsigned polls = 0;          // in a row
  unsigned honest = 0;         // polls that it shall make before it sleeps again
  unsigned chance = 0;         // as many it got the last time that nobody else could run
};

// Many threads take turns, each for an access or two: what a turn touches comes first, together.
struct alignas(64) thread {
  cycles clock = 0;
  unsigned index = 0;
  unsigned processor = 0;             // the last one, while it has none
  instrument::fiber* body = nullptr;  // null: foreign load
  std::uint32_t turn = 0;             // generation of go and look events
  unsigned slowed = 0;                // by siblings: additional time, in 1/256
  cycles owed = 0;                    // of that: not yet charged, in 1/256 cycles
  cycles relaxed = 0;                 // part of the current activity that was relax()
  std::uint64_t accesses = 0;
  std::uint32_t drift = 1;
  bool in_transaction = false;
  bool signaled = false;  // the front end has signals for it
  bool foreign = false;
  phase state = phase::queued;
  activity doing = activity::ready;

  loop_state loop;

  std::vector<bool> affinity;  // empty: all processors
  std::uint64_t atomics = 0, slow = 0;
  cycles stalled = 0;

  cycles since = 0;         // of `doing`
  std::uint32_t timer = 0;  // generation of timer events
  bool timer_armed = false;
  bool polls_on = false;  // preempted in the middle of a poll, which it resumes
  bool has_run = false;   // had a processor
  bool begun = false;     // its fiber was switched to

  void (*entry)(void*) = nullptr;
  void* argument = nullptr;
  std::uintptr_t stack_low = 0, stack_high = 0;

  poll_state poll;
  park_state park;
  engine::place waits_at = nullptr;  // place of the current or last wait
  cycles wait_began = 0;
  engine::address held = 0;  // the word of the last wait that was satisfied, until it is written
  cycles held_since = 0;
  bool held_by_wait = false;  // not written since the wait
  wait_kind held_kind{};
  transaction htm;
  thread_statistics counted;

  // About `spent`, within a sixteenth. Were pauses exact, two loops could run in step for ever, one
  // of them always looking while the other has the lock; real ones drift.
  cycles vary(cycles spent) noexcept {
    drift = drift * 1664525 + 1013904223;  // Numerical Recipes' generator
    spent -= spent >> 4;
    return spent + (spent * (drift >> 27) >> 8);
  }
  // `spent` cycles that siblings compete for were just charged.
  void slow_down(cycles spent) noexcept {
    owed += spent * slowed;
    clock += owed >> 8;
    owed &= 255;
  }
  [[nodiscard]] bool has_processor() const noexcept {
    return state == phase::running || state == phase::polling || state == phase::looking;
  }
  [[nodiscard]] bool sleeps_in_loop() const noexcept {
    return state == phase::polling && poll.on_list && poll.holds == nullptr;
  }
  [[nodiscard]] bool may_run_on(unsigned p) const noexcept {
    return affinity.empty() || (p < affinity.size() && affinity[p]);
  }
};

// While one exists, the engine accesses memory of the program on the thread's behalf: a fault there
// is the program's, and aborts its transaction (faults.cpp).
class touching_memory {
 public:
  explicit touching_memory(thread& me) noexcept : in_(me.in_transaction ? &me.htm : nullptr) {
    set(true);
  }
  ~touching_memory() { set(false); }
  touching_memory(const touching_memory&) = delete;
  touching_memory& operator=(const touching_memory&) = delete;

 private:
  void set(bool touches) noexcept {
    if (in_ == nullptr) [[likely]]
      return;
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the accesses stay inside
    in_->touches = touches;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  transaction* in_;
};

struct processor {
  unsigned number = 0;
  thread* has = nullptr;
  std::deque<thread*> queue;
  cycles slice_end = 0;
  std::uint32_t slice_generation = 0;
  activity doing = activity::off;
  cycles since = 0;
  std::array<cycles, activities> spent{};
};

}  // namespace syncopate::simulated
