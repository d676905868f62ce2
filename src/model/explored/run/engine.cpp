// engine.cpp -- engine.h on the explored machine.
#include "machine.h"
#include "program.h"

#include "model/front/engine.h"
#include "model/front/pthread/model/lifetimes.h"
#include "model/front/pthread/model/steps.h"

namespace syncopate::engine {

using explored::running_machine;

namespace {
explored::machine& on() {
  ++explored::calls_seen;
  return *running_machine;
}
}  // namespace

void finish(end how, int status, const char* message, place where) {
  on().finish(how, status, message, where);
}

bool runs_again() { return true; }

unsigned spawn(void (*entry)(void*), void* argument, std::size_t stack_bytes, place where) {
  return on().spawn(entry, argument, stack_bytes, where);
}
void thread_exit() { on().thread_exit(); }
unsigned current() { return running_machine != nullptr ? on().current() : 0; }
void set_affinity(unsigned, const unsigned char*, std::size_t) {}

void access(address at, std::size_t bytes, kind what, place where) {
  on().access(at, bytes, what, where);
}
void access_expected(address at, std::size_t bytes, kind what, place where) {
  on().access(at, bytes, what, where);
}
void access_by_call(address at, std::size_t bytes, kind what, place where) {
  on().access_by_call(at, bytes, what, where);
}
void unmapped(address at, std::size_t bytes, place where) { on().unmapped(at, bytes, where); }
word load(address at, unsigned bytes, std::memory_order order, place where) {
  return on().load(at, bytes, order, where);
}
void store(address at, unsigned bytes, word value, std::memory_order order, place where,
           sequences rules) {
  on().store(at, bytes, value, order, where, rules);
}
word modify(address at, unsigned bytes, operation what, word operand, std::memory_order order,
            place where) {
  return on().modify(at, bytes, what, operand, order, where);
}
bool compare_exchange(address at, unsigned bytes, word& expected, word desired,
                      std::memory_order success, std::memory_order failure, bool weak,
                      place where) {
  return on().compare_exchange(at, bytes, expected, desired, success, failure, weak, where);
}
void fence(std::memory_order order, place where) { on().fence(order, where); }
void allocated(address at, std::size_t bytes, place where) { on().allocated(at, bytes, where); }
void freed(address at, std::size_t bytes, place where) { on().freed(at, bytes, where); }
void leaves(address up_to, place where) { on().leaves(up_to, where); }
void claim_order(address of, int side, claim what, place where) {
  on().claim_order(of, side, what == claim::acquire, where);
}
void claim_harmless(address at, std::size_t bytes, place) {
  // Static constructors' claims hold for all executions.
  if (running_machine == nullptr) explored::harmless_bytes::from_the_start().add(at, bytes);
  else on().claim_harmless(at, bytes);
}
void claim_shared(address at, std::size_t bytes) {
  explored::harmless_bytes::from_the_start().add(at, bytes, explored::harmless_bytes::shared);
}
void system_call(bool, place) {}
void ignore(kind what, int by) { on().ignore(what, by); }
void work(std::uint64_t) {}

void relax(std::uint32_t, place where) { on().relax(where); }
void yield(place where) { on().relax(where); }
bool await(address at, unsigned bytes, std::memory_order order, int, predicate satisfied,
           void* context, std::uint64_t until, std::uint64_t& value, place where) {
  return on().await(at, bytes, order, satisfied, context, until, value, where);
}
machine::park_result park(address at, std::uint32_t expected, const machine::deadline* until,
                          std::uint32_t bitset, place where) {
  return on().park(at, expected, until, bitset, where);
}
int wake(address at, int count, std::uint32_t bitset, place where) {
  return on().wake(at, count, bitset, where);
}
int requeue(address from, address to, int count, int limit, place where) {
  return on().requeue(from, to, count, limit, where);
}
void sleep_until(const machine::deadline& until, place where) { on().sleep_until(until, where); }

// Static constructors ask before there is a machine: no time has passed.
std::uint64_t ticks() {
  return running_machine != nullptr ? on().ticks() : explored::machine::start_of_time;
}
std::uint64_t ticks_per_second() { return 1'000'000'000; }
std::uint64_t nanoseconds(int clock) {
  if (running_machine != nullptr) return on().nanoseconds(clock);
  return clock == CLOCK_REALTIME ? explored::machine::start_of_calendar
                                 : explored::machine::start_of_time;
}
unsigned processor() { return current() % processors(); }
unsigned processors() { return explored::program_options().processors; }
unsigned node() { return processor() % nodes(); }
unsigned nodes() { return explored::program_options().nodes; }

// The exploration would go on in both.
bool may_fork() { return false; }
bool has_signals() { return false; }
void interrupt(unsigned) {}
void set_alarm(std::uint64_t) {}
void look_outside() {}

bool htm_usable() { return explored::program_options().htm; }
machine::htm::status htm_begin(machine::htm::mode how, place where) {
  return on().begin_transaction(how, where);
}
void htm_commit(place where) { on().commit_transaction(where); }
void htm_abort(unsigned char code, place) { on().abort_by_program(code); }
bool htm_active() { return on().in_transaction(); }
void htm_unfriendly(place) { on().abort_unfriendly(); }
void htm_fell_back(place) {}

}  // namespace syncopate::engine

namespace syncopate::instrument::model {

void begin_object(engine::address at, std::size_t bytes, const char* what, engine::place where) {
  explored::running_machine->begin_object(at, bytes, what, where);
}
void begin_wait(engine::address condition, engine::address mutex, engine::place where) {
  explored::running_machine->begin_wait(condition, mutex, where);
}
void end_wait(engine::address condition) { explored::running_machine->end_wait(condition); }
void hold_object(engine::address at, std::size_t bytes, const char* what, int by,
                 engine::place where) {
  explored::running_machine->hold_object(at, bytes, what, by, where);
}

bool take(engine::address at, unsigned bytes, order o, engine::predicate satisfied, successor next,
          void* context, std::uint64_t until, std::uint64_t& value, engine::place where) {
  return explored::running_machine->take(at, bytes, o, satisfied, next, context, until, value,
                                         where);
}
void begin_gathering(engine::address at) {
  if (explored::running_machine != nullptr) explored::running_machine->begin_gathering(at);
}
std::uint64_t arrive(engine::address at, unsigned group, bool asks, engine::place where) {
  return explored::running_machine->arrive(at, group, asks, where);
}
bool leave(engine::address at, std::uint64_t number, unsigned group, engine::place where) {
  return explored::running_machine->leave(at, number, group, where);
}
std::uint64_t arrived(engine::address at) { return explored::running_machine->arrived(at); }
void dismiss(engine::address at, engine::place where) {
  explored::running_machine->dismiss(at, where);
}
bool share(engine::address at, bool exclusive, engine::place where) {
  return explored::running_machine->share(at, exclusive, where);
}
bool unshare(engine::address at, bool exclusive, engine::place where) {
  return explored::running_machine->unshare(at, exclusive, where);
}
void order_readers() { explored::running_machine->order_readers(); }
void enqueue(engine::address at, bool timed, engine::place where) {
  explored::running_machine->enqueue(at, timed, where);
}
bool leave_queue() { return explored::running_machine->leave_queue(); }
machine::park_result sleep_enqueued(engine::address at, const machine::deadline* until,
                                    engine::place where) {
  return explored::running_machine->sleep_enqueued(at, until, where);
}
std::uint64_t modify(engine::address at, unsigned bytes, order o, successor next, void* context,
                     engine::place where) {
  return explored::running_machine->modify_by(at, bytes, o, next, context, where);
}

}  // namespace syncopate::instrument::model
