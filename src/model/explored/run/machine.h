// machine.h -- the explored machine: threads on fibers that take turns as the search says, and
// the execution of their operations.
//
// What is explored: every interleaving of the atomic accesses, seq_cst fences, futex operations and
// waits, with every message that a load may read and every place that a store may take (memory.h),
// up to equivalence (search.h); time and the end of timed waits as far as the options say
// (waiting.cpp); transactions (transactions.cpp). What is not:
// docs/decisions/0012-explored-machine.md.
//
// A thread runs until its next visible operation (an atomic access, a fence, a futex operation, a
// poll), announces it and asks whose turn it is. Plain accesses are checked for races where they
// are; since programs without races cannot tell their order, they are no steps of the search.
#pragma once

#include "claims.h"
#include "ends.h"
#include "jobs.h"
#include "lifetimes.h"
#include "meetings.h"
#include "model/explored/memory/shadow.h"
#include "model/explored/report/sites.h"
#include "model/explored/report/verdict.h"
#include "model/explored/search/alternatives.h"
#include "model/explored/search/assumptions.h"
#include "model/explored/search/dependence.h"
#include "model/explored/search/replay.h"
#include "model/explored/search/scheduler.h"
#include "model/explored/search/search.h"
#include "model/explored/search/trace.h"
#include "notifiers.h"
#include "options.h"
#include "sc_orders.h"
#include "surroundings.h"
#include "thread_table.h"
#include "transactions.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace syncopate::explored {

// The value that an operation writes behind the one that it finds; operations of up to 8 bytes.
using successor = std::uint64_t (*)(void* context, std::uint64_t value);

class machine final : private ends {
 public:
  machine(const options& o);
  ~machine() = default;
  machine(const machine&) = delete;
  machine& operator=(const machine&) = delete;

  [[nodiscard]] const sites& ordered_sites() const noexcept { return sites_; }

  // Clocks begin here, in nanoseconds.
  static constexpr std::uint64_t start_of_time = 1'000'000'000'000;
  static constexpr std::uint64_t start_of_calendar = 1'700'000'000'000'000'000;

  // A loop that has given up waiting is followed for so many turns, or so many reads in one
  // turn. It is endless if it has not ended by then.
  static constexpr unsigned longest_impatience = 100'000;
  // In so many turns of it time flies.
  static constexpr unsigned a_few = 200;

  using surroundings = explored::surroundings;

  // Runs `program` as long as there is something to try. Called on the first OS thread's context.
  verdict explore(int (*program)(), const surroundings& around = {});

  // ---- the program's operations, as in engine.h -----------------------------------------------
  word load(address, unsigned bytes, std::memory_order, place);
  void store(address, unsigned bytes, word value, std::memory_order, place,
             engine::sequences = engine::sequences::cxx20);
  word modify(address, unsigned bytes, engine::operation, word operand, std::memory_order, place);
  bool compare_exchange(address, unsigned bytes, word& expected, word desired,
                        std::memory_order success, std::memory_order failure, bool weak, place);
  void fence(std::memory_order, place);
  void access(address, std::size_t bytes, engine::kind, place);
  void access_by_call(address, std::size_t bytes, engine::kind, place);
  void allocated(address, std::size_t bytes, place);
  void freed(address, std::size_t bytes, place);
  void unmapped(address, std::size_t bytes, place);
  void leaves(address up_to, place);

  // What the program claims (engine.h).
  void claim_order(address of, int side, bool acquires, place);
  void claim_harmless(address at, std::size_t bytes) { claims_.add_harmless(at, bytes); }
  void ignore(engine::kind what, int by) { claims_.ignore(what, by); }

  // pthread's objects, which are initialized once until they are destroyed or their memory becomes
  // something else, and are not held then.
  void begin_object(address, std::size_t bytes, const char* what, place);
  void hold_object(address at, std::size_t bytes, const char* what, int by, place from) {
    lifetimes_.hold_object(at, bytes, what, by, from);
  }
  void begin_wait(address condition, address mutex, place from) {
    lifetimes_.begin_wait(condition, mutex, from);
  }
  void end_wait(address condition) { lifetimes_.end_wait(condition); }

  bool await(address, unsigned bytes, std::memory_order, engine::predicate, void* context,
             std::uint64_t until, std::uint64_t& value, place);
  // Of pthread's objects (front/pthread/model/steps.h).
  bool take(address, unsigned bytes, std::memory_order, engine::predicate, successor, void* context,
            std::uint64_t until, std::uint64_t& value, place);
  // A place where threads gather, in groups of so many, and leave when their group is there.
  // arrive() returns which group the thread is in; leave() whether it is told that it is the one
  // of its group, which is any of them. asks: the program looks at that.
  void begin_gathering(address);
  std::uint64_t arrive(address, unsigned group, bool asks, place);
  bool leave(address, std::uint64_t group_number, unsigned group, place);
  [[nodiscard]] std::uint64_t arrived(address at) {
    return meetings_.gatherings.at(at).arrived.size();
  }
  void dismiss(address, place);  // waits until all have left
  // A reader-writer lock. Readers commute, as long as nobody looks at such a lock without waiting
  // for it: then share() and unshare() return false, and do nothing.
  bool share(address, bool exclusive, place);
  bool unshare(address, bool exclusive, place);
  void order_readers();  // somebody looks
  // A queue of sleepers. The thread is in it before it sleeps, and may be woken by then.
  void enqueue(address, bool timed, place);
  bool leave_queue();
  syncopate::machine::park_result sleep_enqueued(address, const syncopate::machine::deadline*,
                                                 place);
  std::uint64_t modify_by(address, unsigned bytes, std::memory_order, successor, void* context,
                          place);
  syncopate::machine::park_result park(address, std::uint32_t expected,
                                       const syncopate::machine::deadline* until,
                                       std::uint32_t bitset, place);
  int wake(address, int count, std::uint32_t bitset, place);
  int requeue(address from, address to, int count, int limit, place);
  void relax(place);
  void sleep_until(const syncopate::machine::deadline&, place);
  std::uint64_t ticks();
  std::uint64_t nanoseconds(int clock);

  syncopate::machine::htm::status begin_transaction(syncopate::machine::htm::mode, place);
  void commit_transaction(place from) { tx_.commit(from); }
  void abort_by_program(unsigned char code);
  void abort_unfriendly();
  [[nodiscard]] bool in_transaction() const noexcept { return tx_.runs(); }

  unsigned spawn(void (*entry)(void*), void* argument, std::size_t stack_bytes, place);
  [[noreturn]] void thread_exit();
  [[noreturn]] void finish(engine::end how, int status, const char* message, place where);
  [[nodiscard]] unsigned current() const noexcept { return threads_.current(); }
  [[nodiscard]] const options& limits() const noexcept { return options_; }

  // The program crashed (a signal).
  [[noreturn]] void crashed(const char* how, place where);

  // The whole search has had its time.
  [[noreturn]] void out_of_time();
  [[noreturn]] void out_of_time(place where);  // between two steps
  [[nodiscard]] std::uint64_t executions() const noexcept { return verdict_.executions; }

  // It computes there for ever, or for so long that nothing can be said of it.
  [[noreturn]] void runs_away(std::uint64_t seconds, place where);
  // The running thread goes round there for good, and reads nothing; the others go on.
  [[noreturn]] void loops_for_good(place where);
  void compute_on(place from);
  bool stands_as_before();

 private:
  thread& me() noexcept { return threads_.running(); }
  void regain_patience() noexcept { me().regain_patience(); }
  void act() noexcept { me().act(); }
  void forget_visits() noexcept { me().forget_visits(); }

  // callers.cpp
  caller_places callers_of(place);

  // loops.cpp
  [[nodiscard]] std::span<const unsigned char> program_stack() const;
  void note_visit(place, const given_values&);
  void note_written(address, std::size_t bytes);
  void settle_written();
  bool reads_again(address at, bool writes, place from);
  void await_news(std::uint32_t since, place);
  std::uint32_t turn_since(std::uint32_t reads);
  [[nodiscard]] address end_of_stack(thread_index) const;
  void clear_stack(thread_index);
  void touch_plain(address, std::size_t bytes, engine::kind, place);

  // impatience.cpp
  [[nodiscard]] std::vector<look> places_of_turn(const std::vector<visit>&);
  [[nodiscard]] polled* ignored_at(address, unsigned bytes);
  [[nodiscard]] look* look_at(place);
  look::change note_turn(look&);
  bool looks_again(look&);
  bool looks_as_before(look&);
  bool stays_impatient(address, unsigned bytes, std::memory_order, place, message_id& seen);
  void note_look(const step&, word value);

  // explore.cpp
  void run_once(int (*program)());
  static void fiber_main(void* self);
  void announce(const operation&);
  step& take_turn(const operation&);
  void switch_to(thread_index);
  [[noreturn]] void end_now(outcome) override;
  [[noreturn]] void fail_now(failure_kind, std::string text, place where, place other,
                             address object) override;
  void begin_threads();
  void note_failure(failure_kind, std::string text, place where, place other, address object);
  bool run_next(int (*program)(), const surroundings&);
  void leave_out_what_time_has_ended();
  void repeat_failure(const std::string& schedule, const surroundings&);
  void show_output(int (*program)(), const surroundings&);
  void conclude();
  bool limit_reached(double seconds);
  void show_progress(double seconds) const;
  void tell_names() const;

  // objects.cpp
  void note_acceptable(const operation&);
  void expire_take(step&, const operation&, std::uint64_t until);
  void acquire_from(const gathering::part&);
  [[nodiscard]] gathering::part my_part(bool asks);
  sharing& sharing_at(address);
  step* step_of_sharing(action, address, bool exclusive, place);

  // operations.cpp
  void touch_atomic(const operation&, bool writes);
  word finish_read(step&, const operation&, std::memory_order);
  void finish_write(step&, const operation&, word value, choice behind, std::memory_order,
                    message_id rmw_of, continues = continues::nothing);
  [[nodiscard]] bool moves_s(std::memory_order order) const noexcept {
    return order == std::memory_order_seq_cst && !memory_.has_s_by_graph();
  }
  void record_reading(step&);
  bool finish_compare_exchange(step&, const operation&, word& expected);
  bool compare_exchange_inside(address, unsigned bytes, word& expected, word desired, place);
  bool fails_again(address, unsigned bytes, word& expected, place);

  // noted_orders.cpp
  void note_kept(const operation&);
  // Whether S is looked for where it keeps something from an access (sc_orders.h).
  [[nodiscard]] bool notes_orders() const noexcept {
    return !memory_.has_s_by_graph() && !verdict_.sc_orders && !assumed_.begins_anew();
  }
  void note_lack_of_orders();
  void note_read_in_graph(const operation&, std::memory_order, const clock& before, message_id);
  void note_look_for_waiters(std::memory_order, place);
  void take_s_from_execution();
  void note_load(location_id, std::memory_order);
  void note_write_after_load(location_id, std::memory_order);

  // waiting.cpp
  bool much_time_passes();
  void note_disjoint_waiters(address, std::uint32_t bitset, thread_set chosen);
  std::uint64_t deadline_ns(const syncopate::machine::deadline&) const noexcept;
  operation waiting_for(action, address, unsigned bytes, std::memory_order, engine::predicate,
                        void* context, bool timed, place);
  void take_news(step&);
  void note_other_news(const polled&, message_id taken);
  void count(const step&, unsigned& at_will);
  void unpark(thread_index);
  void lie_down(address, std::uint32_t bitset, bool timed);
  syncopate::machine::park_result sleep(operation, const syncopate::machine::deadline*);

  const options options_;
  memory memory_;
  shadow shadow_;
  search search_;
  sites sites_;
  thread_table threads_;
  meetings meetings_;
  assumptions assumed_;
  replay replay_;
  verdict verdict_;
  sc_graph orders_{memory_};
  alternatives alternatives_{options_, memory_, search_, threads_,         meetings_,
                             assumed_, orders_, replay_, verdict_.withheld};
  dependence dependence_{memory_, search_, threads_, meetings_, assumed_, alternatives_};
  scheduler scheduler_{options_,    memory_, search_,  threads_, alternatives_,
                       dependence_, replay_, verdict_, *this};
  instrument::fiber* engine_ = nullptr;
  int (*program_)() = nullptr;
  outcome outcome_ = outcome::running;
  int main_status_ = 0;
  std::span<const unsigned char> (*stack_)() = nullptr;
  claims claims_{threads_, verdict_};
  sc_orders sc_orders_{memory_, search_};
  notifiers notifiers_;
  lifetimes lifetimes_{memory_, shadow_, threads_, meetings_, *this};
  transactions tx_{memory_, shadow_, search_, threads_, scheduler_, lifetimes_, claims_, *this};
  jobs jobs_{options_, search_, memory_, assumed_, verdict_};
};

}  // namespace syncopate::explored
