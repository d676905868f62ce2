// transactions.h -- hardware transactions.
//
// The memory system marks the lines that a transaction reads and writes, and tells when another
// processor's access conflicts with a mark (requester wins) or a written line overflows. The rest
// is here: counting lines against the description's limits, memory as it was (undo log), registers
// and stack as they were (fiber.h), interrupts, the predictor.
//
// A transaction that another thread dooms gives its writes back at once, since the other is about
// to read them; its own registers and stack follow when it next runs, before any of its code does.
//
// The learning predictor: a Haswell aborts eagerly what has overflowed often, and takes about 5,000
// transactions to unlearn it (Odaira, Castanos & Tomari, PPoPP 2014, section 5.4 and figure 6a).
// Ours: a score for each begin and core, raised by each overflow, lowered by one by each other
// outcome; a transaction is aborted at its begin with probability score / 5,000. The figure gives
// the shape and length of the curve, not Intel's mechanism.
#pragma once

#include "model/simulated/kernel/thread.h"
#include "model/simulated/memory/flat_map.h"
#include "model/simulated/memory/memory.h"

#include <cstdint>
#include <vector>

#include "model/front/engine.h"
#include "model/front/program/layout.h"

namespace syncopate::simulated {

struct world;

struct abort_reason {
  abort_cause cause;
  unsigned char code = 0;
  engine::place by = nullptr;
  std::uintptr_t line = 0;  // address
};

class transactions final : public memory_listener {
 public:
  explicit transactions(world&);

  // By the running thread. begin() returns twice; abort() and roll_back() return in begin().
  machine::htm::status begin(thread& me, machine::htm::mode, engine::place where);
  void commit(thread& me, engine::place where);
  [[noreturn]] void abort(thread& me, const abort_reason&);
  [[noreturn]] void roll_back(thread& me);  // of a doomed transaction

  // Ends the transaction of any thread; it rolls back when it next runs.
  void doom(thread&, const abort_reason&);

  // The running thread, in a transaction, has just been charged for an access.
  void accessed(thread& me, std::uintptr_t at, std::size_t bytes, use what);

  // Some thread is about to write: what lies on the stack of another one's transaction outlives it.
  void about_to_write(const thread& me, std::uintptr_t at, std::size_t bytes) {
    if (live_.empty()) [[likely]]
      return;
    if (at - instrument::layout::stacks >=
        instrument::layout::stack_slot * instrument::layout::stack_slots)
      return;
    if (at < me.stack_low || at >= me.stack_high) note_foreign_write(me, at, bytes);
  }
  // Conflicts name the place of the access that won.
  void at_place(engine::place where) noexcept { where_ = where; }
  [[nodiscard]] bool any() const noexcept { return !live_.empty(); }

  bool wants_moves() const override { return false; }
  void invalidated(unsigned, line, unsigned) override {}
  void downgraded(unsigned, line, unsigned) override {}
  void evicted(unsigned, line, int) override {}
  void conflict(unsigned processor, line, use marked, unsigned by) override;
  void overflow(unsigned processor, line) override;

 private:
  bool predicted_to_abort(const thread& me);
  void learn(const thread& me, bool overflowed);
  std::uint16_t& score_of(const thread& me);
  cycles next_interrupt(cycles now);
  std::uint64_t random();
  void note_foreign_write(const thread& by, std::uintptr_t at, std::size_t bytes);
  void forget(thread&);

  world& world_;
  std::vector<thread*> live_;  // in a transaction, or doomed and not yet rolled back
  engine::place where_ = nullptr;
  flat_map<std::uint16_t> scores_;
  std::uint64_t random_state_;
};

}  // namespace syncopate::simulated
