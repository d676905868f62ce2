// plain_engine.cpp -- the least machine that runs programs: for tests of the front end alone.
//
// One processor of no cost. A thread runs until it waits, yields or ends; then the next one in turn
// runs. Time is a count of engine calls; where all threads sleep, it jumps to the first deadline.
// SYNCOPATE_PLAIN_RUNS=n runs the program n times, each from the memory that static constructors
// left. SYNCOPATE_PLAIN_COUNT=1 tells at the end how many accesses were seen.
#include <cstdio>
#include <cstring>
#include <map>
#include <vector>

#include "model/front/engine.h"
#include "model/front/program/options.h"
#include "model/front/program/program_image.h"
#include "model/front/pthread/model/lifetimes.h"
#include "model/front/threads/fiber.h"

namespace syncopate::engine {
namespace {

struct thread {
  instrument::fiber* stack = nullptr;
  void (*entry)(void*) = nullptr;
  void* argument = nullptr;
  bool ended = false;
  bool parked = false;
  address word = 0;  // parked on; 0: sleeping
  std::uint32_t bitset = 0;
  bool limited = false;
  machine::deadline until{};
  machine::park_result result = machine::park_result::woken;
};

struct world {
  std::vector<thread> threads;
  unsigned now = 0;  // the thread that runs
  instrument::fiber* own = nullptr;
  instrument::fiber* dead = nullptr;
  int (*program)() = nullptr;
  int status = 0;
  bool over = false;
  std::uint64_t time = 0;
  std::uint64_t reads = 0, writes = 0, atomics = 0, live_blocks = 0;
  std::uint64_t read_bytes = 0, written_bytes = 0;
  instrument::stack_copy* copy = nullptr;  // of the transaction that runs
  unsigned transaction_thread = 0;
  struct undo {
    address at;
    std::vector<unsigned char> bytes;
  };
  std::vector<undo> log;
};
world& all() {
  static world& w = *new world;
  return w;
}

void main_thread(void*) {
  const int status = all().program();
  all().status = status;
  all().over = true;
  instrument::switch_to(all().own);
}

// Gives back the stack of a thread that has ended and switched to the caller.
void bury() {
  world& w = all();
  if (w.dead == nullptr) return;
  instrument::destroy_fiber(w.dead);
  w.dead = nullptr;
}

void other_thread(void* argument) {
  bury();
  const thread t = all().threads[reinterpret_cast<std::uintptr_t>(argument)];
  t.entry(t.argument);
  instrument::fail("a thread's entry returned");
}

// When a thread's wait ends by itself, in this machine's time.
std::uint64_t limit_of(const thread& t) {
  const std::uint64_t offset = nanoseconds(t.until.clock) - all().time;
  return static_cast<std::uint64_t>(t.until.at.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(t.until.at.tv_nsec) - offset;
}
bool timed_out(const thread& t) {
  return t.limited && static_cast<std::int64_t>(all().time - limit_of(t)) >= 0;
}

bool can_run(thread& t) {
  if (t.ended) return false;
  if (t.parked && timed_out(t)) {
    t.parked = false;
    t.result = machine::park_result::timed_out;
  }
  return !t.parked;
}

// Lets time pass until the first sleeper wakes.
void pass_time() {
  std::uint64_t first = UINT64_MAX;
  for (const thread& t : all().threads) {
    if (!t.ended && t.parked && t.limited && limit_of(t) < first) first = limit_of(t);
  }
  if (first == UINT64_MAX) instrument::fail("deadlock: every thread waits");
  all().time = first;
}

// Lets the next thread run; returns when it is the caller's turn again.
void reschedule() {
  world& w = all();
  for (;;) {
    for (std::size_t i = 1; i <= w.threads.size(); ++i) {
      const auto next = static_cast<unsigned>((w.now + i) % w.threads.size());
      if (!can_run(w.threads[next])) continue;
      w.now = next;
      instrument::switch_to(w.threads[next].stack);
      bury();
      return;
    }
    pass_time();
  }
}

void wait_here(address at, std::uint32_t bitset, const machine::deadline* until) {
  thread& t = all().threads[all().now];
  t.parked = true;
  t.word = at;
  t.bitset = bitset;
  t.limited = until != nullptr;
  if (until != nullptr) t.until = *until;
  t.result = machine::park_result::woken;
  reschedule();
}

word read(address at, unsigned bytes) {
  word value = 0;
  std::memcpy(&value, reinterpret_cast<const void*>(at), bytes);
  return value;
}
void remember(address at, std::size_t bytes) {
  if (all().copy == nullptr || all().transaction_thread != all().now) return;
  const auto* from = reinterpret_cast<const unsigned char*>(at);
  all().log.push_back({at, {from, from + bytes}});
}
void write(address at, unsigned bytes, word value) {
  remember(at, bytes);
  std::memcpy(reinterpret_cast<void*>(at), &value, bytes);
}

}  // namespace

int run(int (*program)()) {
  world& w = all();
  w.program = program;
  w.own = instrument::running_fiber();
  const std::uint64_t runs = instrument::option_number("PLAIN_RUNS", 1, 1000);
  if (runs > 1) instrument::keep_program_image();
  for (std::uint64_t i = 0; i < runs; ++i) {
    if (i != 0) instrument::restore_program_image();
    w.over = false;
    w.now = 0;
    w.threads.assign(1, {});
    w.threads[0].stack = instrument::create_fiber(main_thread, nullptr, 0);
    instrument::switch_to(w.threads[0].stack);
    bury();
    for (const thread& t : w.threads) {
      if (!t.ended) instrument::destroy_fiber(t.stack);
    }
  }
  if (instrument::option_enabled("PLAIN_COUNT")) {
    std::fprintf(
        stderr, "reads %llu writes %llu atomics %llu\n", static_cast<unsigned long long>(w.reads),
        static_cast<unsigned long long>(w.writes), static_cast<unsigned long long>(w.atomics));
  }
  return w.status;
}

void finish(end, int status, const char* message, place) {
  if (message != nullptr) std::fprintf(stderr, "%s\n", message);
  all().status = status;
  all().over = true;
  instrument::switch_to(all().own);
  __builtin_unreachable();
}

unsigned spawn(void (*entry)(void*), void* argument, std::size_t stack_bytes, place) {
  world& w = all();
  const auto index = static_cast<unsigned>(w.threads.size());
  thread t;
  t.entry = entry;
  t.argument = argument;
  t.stack = instrument::create_fiber(other_thread, reinterpret_cast<void*>(std::uintptr_t{index}),
                                     stack_bytes);
  w.threads.push_back(t);
  return index;
}

void thread_exit() {
  thread& t = all().threads[all().now];
  t.ended = true;
  all().dead = t.stack;
  reschedule();
  __builtin_unreachable();
}

unsigned current() { return all().now; }
void set_affinity(unsigned, const unsigned char*, std::size_t) {}

void access(address at, std::size_t bytes, kind what, place) {
  ++all().time;
  ++(what == kind::read ? all().reads : all().writes);
  (what == kind::read ? all().read_bytes : all().written_bytes) += bytes;
  if (what == kind::write) remember(at, bytes);
}
void access_expected(address, std::size_t, kind, place) {}
void access_by_call(address, std::size_t, kind, place) {}
void unmapped(address, std::size_t, place) {}
void claim_shared(address, std::size_t) {}
bool runs_again() { return false; }

word load(address at, unsigned bytes, std::memory_order, place) {
  ++all().atomics;
  return read(at, bytes);
}
void store(address at, unsigned bytes, word value, std::memory_order, place, sequences) {
  ++all().atomics;
  write(at, bytes, value);
}
word modify(address at, unsigned bytes, operation what, word operand, std::memory_order, place) {
  ++all().atomics;
  const word old = read(at, bytes);
  switch (what) {
    case operation::exchange: write(at, bytes, operand); break;
    case operation::add: write(at, bytes, old + operand); break;
    case operation::sub: write(at, bytes, old - operand); break;
    case operation::and_: write(at, bytes, old & operand); break;
    case operation::or_: write(at, bytes, old | operand); break;
    case operation::xor_: write(at, bytes, old ^ operand); break;
    case operation::nand: write(at, bytes, ~(old & operand)); break;
  }
  return old;
}
bool compare_exchange(address at, unsigned bytes, word& expected, word desired, std::memory_order,
                      std::memory_order, bool, place) {
  ++all().atomics;
  const word found = read(at, bytes);
  if (found == expected) {
    write(at, bytes, desired);
    return true;
  }
  expected = found;
  return false;
}
void fence(std::memory_order, place) {}

void allocated(address, std::size_t, place) { ++all().live_blocks; }
void freed(address, std::size_t, place) { --all().live_blocks; }
void work(std::uint64_t cycles) { all().time += cycles; }

void relax(std::uint32_t steps, place) {
  all().time += steps;
  reschedule();
}
void yield(place) { reschedule(); }

bool await(address at, unsigned bytes, std::memory_order, int, predicate done, void* context,
           std::uint64_t until, std::uint64_t& value, place) {
  for (;;) {
    value = static_cast<std::uint64_t>(read(at, bytes));
    if (done(context, value)) return true;
    if (until != 0 && all().time >= until) return false;
    ++all().time;
    reschedule();
  }
}

machine::park_result park(address at, std::uint32_t expected, const machine::deadline* until,
                          std::uint32_t bitset, place) {
  if (static_cast<std::uint32_t>(read(at, 4)) != expected) {
    return machine::park_result::value_changed;
  }
  wait_here(at, bitset, until);
  return all().threads[all().now].result;
}
int wake(address at, int count, std::uint32_t bitset, place) {
  int woken = 0;
  for (thread& t : all().threads) {
    if (woken == count) break;
    if (t.ended || !t.parked || t.word != at || (t.bitset & bitset) == 0) continue;
    t.parked = false;
    ++woken;
  }
  return woken;
}
int requeue(address from, address to, int count, int limit, place where) {
  int done = wake(from, count, ~0u, where);
  for (thread& t : all().threads) {
    if (limit == 0) break;
    if (t.ended || !t.parked || t.word != from) continue;
    t.word = to;
    --limit;
    ++done;
  }
  return done;
}
void sleep_until(const machine::deadline& until, place) { wait_here(0, 0, &until); }

std::uint64_t ticks() { return all().time; }
std::uint64_t ticks_per_second() { return 1'000'000'000; }
std::uint64_t nanoseconds(int clock) {
  return all().time + (clock == CLOCK_REALTIME ? 1'000'000'000'000'000'000u : 0);
}
unsigned processor() { return 0; }
unsigned processors() { return 3; }
unsigned node() { return 0; }
unsigned nodes() { return 1; }

bool htm_usable() { return true; }
machine::htm::status htm_begin(machine::htm::mode, place) {
  world& w = all();
  w.copy = instrument::new_stack_copy();
  w.transaction_thread = w.now;
  w.log.clear();
  const std::uint32_t code = instrument::save(w.copy);
  if (code == 0) return {machine::htm::cause::started, 0, false, false};
  instrument::delete_stack_copy(w.copy);
  w.copy = nullptr;
  return {machine::htm::cause::explicit_, static_cast<unsigned char>(code - 1), false, false};
}
void htm_commit(place) {
  instrument::delete_stack_copy(all().copy);
  all().copy = nullptr;
}
void htm_abort(unsigned char code, place) {
  world& w = all();
  if (w.copy == nullptr) return;
  for (std::size_t i = w.log.size(); i-- != 0;) {
    const world::undo& u = w.log[i];
    std::memcpy(reinterpret_cast<void*>(u.at), u.bytes.data(), u.bytes.size());
  }
  instrument::restore(w.copy, code + 1u);
}
bool htm_active() { return all().copy != nullptr && all().transaction_thread == all().now; }
void htm_unfriendly(place where) { htm_abort(255, where); }
void htm_fell_back(place) {}
void claim_order(address, int, claim, place) {}
void claim_harmless(address, std::size_t, place) {}
void ignore(kind, int) {}
void system_call(bool, place) {}
void leaves(address, place) {}
bool may_fork() { return true; }
bool has_signals() { return false; }
void interrupt(unsigned) {}
void set_alarm(std::uint64_t) {}
void look_outside() {}

}  // namespace syncopate::engine

// For test_seen.cpp: what the program was seen to do.
// What pthread's models ask beside (plain-model).
namespace syncopate::instrument::model {
void begin_object(engine::address at, std::size_t bytes, const char*, engine::place where) {
  engine::access(at, bytes, engine::kind::write, where);
}
void hold_object(engine::address, std::size_t, const char*, int, engine::place) {}
void begin_wait(engine::address, engine::address, engine::place) {}
void end_wait(engine::address) {}

// One step each: no other thread runs before the next call of the engine.
using successor = std::uint64_t (*)(void* context, std::uint64_t value);
bool take(engine::address at, unsigned bytes, std::memory_order order, engine::predicate satisfied,
          successor next, void* context, std::uint64_t until, std::uint64_t& value,
          engine::place where) {
  if (!engine::await(at, bytes, order, -1, satisfied, context, until, value, where)) return false;
  engine::store(at, bytes, next(context, value), order, where);
  return true;
}
// Readers are ordered: each step of a reader-writer lock is one on its word.
bool share(engine::address, bool, engine::place) { return false; }
bool unshare(engine::address, bool, engine::place) { return false; }
void order_readers() {}
void enqueue(engine::address, bool, engine::place) {}  // it sleeps before others run
bool leave_queue() { return true; }
machine::park_result sleep_enqueued(engine::address at, const machine::deadline* until,
                                    engine::place where) {
  const auto now =
      static_cast<std::uint32_t>(engine::load(at, 4, std::memory_order_relaxed, where));
  return engine::park(at, now, until, ~0u, where);
}

struct gathering {
  std::uint64_t arrived = 0, left = 0;
};
gathering& gathering_at(engine::address at) {
  static auto& all = *new std::map<engine::address, gathering>;
  return all[at];
}
void begin_gathering(engine::address at) { gathering_at(at) = {}; }
std::uint64_t arrive(engine::address at, unsigned group, bool, engine::place) {
  return gathering_at(at).arrived++ / group;
}
bool leave(engine::address at, std::uint64_t number, unsigned group, engine::place where) {
  while (gathering_at(at).arrived < (number + 1) * group) engine::yield(where);
  return ++gathering_at(at).left % group == 0;
}
std::uint64_t arrived(engine::address at) { return gathering_at(at).arrived; }
void dismiss(engine::address at, engine::place where) {
  while (gathering_at(at).left < gathering_at(at).arrived) engine::yield(where);
}
std::uint64_t modify(engine::address at, unsigned bytes, std::memory_order order, successor next,
                     void* context, engine::place where) {
  const auto found = static_cast<std::uint64_t>(engine::load(at, bytes, order, where));
  engine::store(at, bytes, next(context, found), order, where);
  return found;
}
}  // namespace syncopate::instrument::model

#define EXPORT extern "C" __attribute__((visibility("default")))
EXPORT std::uint64_t plain_bytes_read() { return syncopate::engine::all().read_bytes; }
EXPORT std::uint64_t plain_bytes_written() { return syncopate::engine::all().written_bytes; }
EXPORT std::uint64_t plain_atomics() { return syncopate::engine::all().atomics; }
EXPORT std::uint64_t plain_live_blocks() { return syncopate::engine::all().live_blocks; }
