// trace.h -- what threads do, step by step: the operation that a thread is about to make, and
// the record of a step that was made.
#pragma once

#include "model/explored/memory/clock.h"
#include "model/explored/memory/memory.h"
#include "model/explored/memory/transaction.h"

#include "model/front/engine.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace syncopate::explored {

enum class action : std::uint8_t {
  none,
  load,
  store,
  modify,
  compare_exchange,
  fence,
  await,   // a load that waits for a value
  take,    // a read-modify-write that waits for a value: of pthread's objects
  park,    // the comparison and, if it holds, falling asleep
  expire,  // of a parked thread: its time is over, or it wakes for no reason
  wake,
  requeue,
  arrive,       // at a gathering, such as a barrier
  leave,        // waits until so many have arrived
  dismiss,      // waits until all who have arrived have left
  share,        // waits until it may have a reader-writer lock
  unshare,      // gives it back
  relax,        // waits until a location that the thread polls changes
  time,         // a clock is read, and how much time has passed is to be chosen
  compute,      // the thread has computed for long: the others come first
  transaction,  // all of it
};

[[nodiscard]] constexpr bool is_access(action a) noexcept {
  return a >= action::load && a <= action::take && a != action::fence;
}
[[nodiscard]] constexpr bool is_futex(action a) noexcept {
  return a >= action::park && a <= action::requeue;
}

// Alternatives that are no messages, in a set of choices.
inline constexpr choice impatient = 56;      // relax: the loop gives up, or much time passes
inline constexpr choice time_out = 57;       // expire: it is late; await, take: if forced
inline constexpr choice without_cause = 58;  // expire: a spurious wake-up
inline constexpr choice too_late = 58;       // await: it looks when the values have gone again
inline constexpr choice only = 59;           // there is nothing to choose
inline constexpr choice sleeps_on = only;    // expire: as all others do, so the execution ends
// arrive, of the last one: 1 + the thread that is told that it is the one.
static_assert(max_choices <= impatient);
// Added to the message that it reads: a weak compare-exchange fails though it finds the expected
// value there; a timed await or take finds what it does not wait for, and its time is over. Such
// operations have half as many messages to choose from.
inline constexpr choice in_vain = max_choices / 2;
// Added to impatient and time_out in schedules: it happened since nothing else could run.
inline constexpr choice forcibly = 4;
static_assert(impatient + forcibly > only && time_out + forcibly < 64);

// Return addresses of the calls around a place, the innermost first; null after the last.
using caller_places = std::array<place, 8>;

struct operation {
  action what = action::none;
  std::uint8_t bytes = 0;
  bool weak = false;
  bool timed = false;
  bool recognized = false;  // relax: the loop leaves nothing behind, and never gives up (loops.cpp)
  engine::operation rmw{};
  std::memory_order order = std::memory_order_relaxed;
  std::memory_order failure = std::memory_order_relaxed;
  location_id where = memory::none;  // not for fences and futex operations on other than atomics
  address at = 0;
  address other = 0;        // requeue
  place from = nullptr;     // position in the program
  caller_places callers{};  // announce() finds them
  word operand = 0;         // value to write; await: until
  // compare_exchange, park; leave, dismiss: how many; share, unshare: 1 if exclusively
  word expected = 0;
  // transaction: count is htm::mode; recognized: 1 if it has written; arrive: how many make a group
  int count = 0, limit = 0;
  bool asks = false;  // arrive: the program looks at who is told
  std::uint32_t bitset = 0;
  engine::predicate satisfied = nullptr;
  void* context = nullptr;
};

[[nodiscard]] inline bool may_be_in_vain(const operation& op) noexcept {
  if (op.what == action::compare_exchange) return op.weak;
  return (op.what == action::await || op.what == action::take) && op.timed;
}

[[nodiscard]] constexpr bool may_block(action a) noexcept {
  using enum action;
  return a == await || a == take || a == expire || a == leave || a == dismiss || a == share ||
         a == relax;
}

// Whether a compare-exchange or a take changes this value.
[[nodiscard]] inline bool accepts(const operation& op, word value) {
  return op.what == action::take ? op.satisfied(op.context, static_cast<std::uint64_t>(value))
                                 : value == op.expected;
}

// One step of the execution, and what the search knows of the state before it.
struct step {
  // The search.
  thread_index thread = 0;
  choice chosen = only;
  choices rest = 0;          // alternatives of this thread that are still to be tried
  bool settled = false;      // `chosen` and `rest` are known
  bool forced = false;       // nothing else could run
  bool local = false;        // only this thread's choice: no other could be scheduled here
  bool may_be_late = false;  // await: too_late is in `rest`, or has been
  thread_set enabled = 0;    // able to make a step
  thread_set dozing = 0;     // of these, asleep in the program: can only wake without a cause
  thread_set awake = 0;      // of these, not asleep in the sense of sleep sets
  thread_set to_try = 0;     // backtrack set
  thread_set tried = 0;
  std::uint16_t preemptions = 0;        // before this step
  thread_index previous = max_threads;  // the thread of the step before
  message_id messages = 0;              // that existed before
  // Sleep sets: 0 awake; else the thread's next step was explored in an earlier branch, but for
  // reads of messages newer than (this - 1).
  std::array<std::uint32_t, max_threads> asleep{};
  clock past;  // per thread: 1 + its last step that this one depends on, itself included

  // The step.
  action what = action::none;
  std::uint8_t bytes = 0;
  bool wrote = false;
  bool raised_sc = false;  // moved the seq_cst view of its location
  bool is_sc = false;
  bool timed = false;  // await: has a deadline
  std::memory_order order = std::memory_order_relaxed;
  location_id where = memory::none;
  address at = 0, other = 0;
  place from = nullptr;
  caller_places callers{};
  word before = 0, after = 0;  // value read, value written
  word expected = 0;           // compare_exchange, share; arrive: how many make a group
  std::uint32_t source = 0;    // 1 + the step whose message it read
  choice stale = 0;            // how many messages stood behind the one that it read
  // wake: woken; park: park_result; transaction: htm::cause; arrive: how many came before
  std::int64_t result = 0;
  unsigned char code = 0;    // transaction: of the program's abort
  std::uint32_t bitset = 0;  // futex operations: whom a wake means, or what the sleeper listens to
  std::uint32_t woken = 0;   // wake: the bitsets of those it woke, together
  // What its thread does next is another turn of a loop (loops.cpp), and it had made so many reads
  // when it was there before; or it is none; or nobody has looked yet.
  static constexpr std::uint32_t no_turn = ~std::uint32_t{0}, not_looked = no_turn - 1;
  std::uint32_t turn_since = not_looked;
  // Of a loop that has given up (impatience.cpp): how often its thread has read behind this step
  // without a step, and whether it looked again then.
  std::uint32_t unlooked = 0;
  bool looked = false;
  // transaction: what it did when it last ran from here.
  std::shared_ptr<const footprint> touched;
  // The same for threads that are asleep before a transaction.
  std::vector<std::pair<thread_index, std::shared_ptr<const footprint>>> sleepers;

  [[nodiscard]] bool ran_transaction() const noexcept {
    return what == action::transaction && chosen == tx_runs && touched != nullptr;
  }
  [[nodiscard]] bool writes(location_id id) const noexcept {
    if (!ran_transaction()) return wrote && where == id;
    for (const footprint::word& w : touched->words)
      if (w.wrote && w.where == id) return true;
    return false;
  }
};

}  // namespace syncopate::explored
