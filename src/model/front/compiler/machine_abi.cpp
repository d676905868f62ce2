// machine_abi.cpp -- the functions behind machine.h for instrumented code
// (machine/instrumented.h).
//
// Static constructors of the program may call them too, before there is a machine: then there is
// one thread, and no time passes.
//
// Memory order (each tag stands at its site below)
//   [P]  the order that the program asks for, which the engine models.
#include <syncopate/machine/instrumented.h>

#include <cstring>

#include "model/front/compiler/transaction_memory.h"
#include "model/front/engine.h"
#include "model/front/program/identity.h"
#include "model/front/program/options.h"
#include "model/front/pthread/real.h"
#include "model/front/scope.h"

using namespace syncopate;
using instrument::engine_scope;
using instrument::in_program;

#define PLACE SYNCOPATE_CALLER

namespace {

engine::address address(const volatile void* p) { return reinterpret_cast<engine::address>(p); }

std::uint64_t read(const volatile void* word, unsigned size) {
  std::uint64_t value = 0;
  std::memcpy(&value, const_cast<const void*>(word), size);
  return value;
}

}  // namespace

SYNCOPATE_EXPORT void syncopate_relax(std::uint32_t steps) noexcept {
  if (!in_program()) return;
  const engine_scope inside;
  engine::relax(steps, PLACE);
}

SYNCOPATE_EXPORT void syncopate_yield() noexcept {
  if (!in_program()) return;
  const engine_scope inside;
  engine::yield(PLACE);
}

SYNCOPATE_EXPORT std::uint64_t syncopate_ticks() noexcept {
  const engine_scope inside;
  return engine::ticks();
}
SYNCOPATE_EXPORT std::uint64_t syncopate_ticks_per_second() noexcept {
  const engine_scope inside;
  return engine::ticks_per_second();
}
SYNCOPATE_EXPORT std::uint64_t syncopate_now(int clock) noexcept {
  const engine_scope inside;
  return engine::nanoseconds(clock);
}
SYNCOPATE_EXPORT unsigned syncopate_processor() noexcept {
  const engine_scope inside;
  return engine::processor();
}
SYNCOPATE_EXPORT unsigned syncopate_processors() noexcept {
  const engine_scope inside;
  return engine::processors();
}
SYNCOPATE_EXPORT unsigned syncopate_node() noexcept {
  const engine_scope inside;
  return engine::node();
}
SYNCOPATE_EXPORT unsigned syncopate_nodes() noexcept {
  const engine_scope inside;
  return engine::nodes();
}

SYNCOPATE_EXPORT unsigned syncopate_thread_index() noexcept { return instrument::current_thread(); }
SYNCOPATE_EXPORT int syncopate_self() noexcept {
  return instrument::thread_id(instrument::current_thread());
}

// The child of a fork, where there may be one, goes on with all threads of a machine.
SYNCOPATE_EXPORT std::uint32_t syncopate_fork_generation() noexcept { return 1; }
SYNCOPATE_EXPORT int syncopate_forked_from() noexcept { return 0; }

SYNCOPATE_EXPORT bool syncopate_await(const volatile void* word, unsigned size, int order,
                                      int depth, bool (*done)(void* context, std::uint64_t value),
                                      void* context, std::uint64_t until,
                                      std::uint64_t* value) noexcept {
  if (!in_program()) {
    *value = read(word, size);
    if (done(context, *value)) return true;
    if (until != 0) return false;
    instrument::fail("a static constructor waits, and there is no other thread yet");
  }
  const engine_scope inside;
  instrument::order_is_programs = true;
  return engine::await(address(word), size, static_cast<std::memory_order>(order), depth,
                       done,  // [P]
                       context, until, *value, PLACE);
}

SYNCOPATE_EXPORT int syncopate_park(const void* word, std::uint32_t expected,
                                    const machine::deadline* until, std::uint32_t bitset) noexcept {
  if (!in_program()) return static_cast<int>(machine::park_result::value_changed);
  const engine_scope inside;
  return static_cast<int>(engine::park(address(word), expected, until, bitset, PLACE));
}

SYNCOPATE_EXPORT int syncopate_wake(const void* at, int count, std::uint32_t bitset) noexcept {
  if (!in_program()) return 0;
  const engine_scope inside;
  return engine::wake(address(at), count, bitset, PLACE);
}

// Returns a second time when the transaction aborts (engine.h).
SYNCOPATE_EXPORT std::uint32_t syncopate_htm_begin(int mode) noexcept {
  machine::htm::status status;
  if (in_program()) {
    const engine_scope inside;
    status = engine::htm_begin(static_cast<machine::htm::mode>(mode), PLACE);
    instrument::transaction_began(status.started());
  }
  return static_cast<std::uint32_t>(status.why) | static_cast<std::uint32_t>(status.code) << 8 |
         (status.may_retry ? 1u << 16 : 0) | (status.nested ? 1u << 17 : 0);
}

SYNCOPATE_EXPORT void syncopate_htm_commit() noexcept {
  if (!in_program()) return;
  const engine_scope inside;
  engine::htm_commit(PLACE);
  instrument::transaction_committed();
}

SYNCOPATE_EXPORT void syncopate_htm_abort(unsigned char code) noexcept {
  if (!in_program()) return;
  const engine_scope inside;
  engine::htm_abort(code, PLACE);
}

SYNCOPATE_EXPORT bool syncopate_htm_active() noexcept {
  if (!in_program()) return false;
  const engine_scope inside;
  return engine::htm_active();
}

SYNCOPATE_EXPORT bool syncopate_htm_usable() noexcept {
  const engine_scope inside;
  return engine::htm_usable();
}

SYNCOPATE_EXPORT void syncopate_htm_fell_back() noexcept {
  if (!in_program()) return;
  const engine_scope inside;
  engine::htm_fell_back(PLACE);
}

// Who asks is the preload library's record (products/preload/elision/speculation.cpp), not here.
SYNCOPATE_EXPORT unsigned syncopate_htm_lines_touched() noexcept { return 0; }

// For programs: computation that touches no memory.
SYNCOPATE_EXPORT void syncopate_work(std::uint64_t cycles) noexcept {
  if (!in_program()) return;
  const engine_scope inside;
  engine::work(cycles);
}
