// scheduler.h -- simulated time, and the operating system's scheduler.
//
// Threads have clocks of their own; the one with the earliest acts. Its fiber keeps running while
// its clock has not passed limit_, the time of the next event of anybody else: settle() is one
// comparison then. The order of events, and so every result, depends on the program and the
// machine's description alone.
//
// Processors (hardware threads) have run queues. A thread that becomes ready goes to an idle core,
// else an idle sibling, else the shortest queue; its last processor is preferred among equals, then
// that one's node. A processor without work takes the oldest thread of the longest queue. (Where
// the machine's description says so, a ready thread goes to its last processor, and a processor
// without work takes a thread only at its next tick.) Time
// slices end at multiples of the slice after a thread was switched in; a thread is switched out at
// its first event after that, wherever it is: also while it holds a lock.
#pragma once

#include "events.h"
#include "model/simulated/description/description.h"
#include "model/simulated/report/energy.h"
#include "stalemate.h"
#include "thread.h"

#include <csignal>
#include <cstdint>
#include <deque>
#include <vector>

#include "model/front/compiler/basic_blocks.h"

namespace syncopate::simulated {

struct world;

class scheduler {
 public:
  explicit scheduler(world&);

  [[nodiscard]] thread& running() noexcept { return *running_; }
  // The same, where it calls the engine: what it ran since its last call is charged.
  [[nodiscard]] thread& caller() noexcept {
    thread& me = *running_;
    if (instrument::blocks_left < 0) [[unlikely]] {
      const auto cost = static_cast<cycles>(-instrument::blocks_left) * machine_.core.access_cycles;
      me.clock += cost;
      me.slow_down(cost);
    }
    instrument::blocks_left = instrument::blocks_of_an_access;
    return me;
  }
  [[nodiscard]] bool has_running() const noexcept { return running_ != nullptr; }
  [[nodiscard]] std::deque<thread>& threads() noexcept { return threads_; }
  [[nodiscard]] const std::vector<processor>& processors() const noexcept { return processors_; }

  // ---- by the running thread --------------------------------------------------------------------
  // Each of these may switch fibers; a transaction that was doomed meanwhile does not return.

  // Returns when the thread is the earliest of all: what it does next happens at its clock.
  void settle(thread& me) {
    if (me.clock > limit_) [[unlikely]]
      wait_for_turn();
  }
  // Returns when the thread's next access, one that it waits for, can take place: where lines take
  // time to change hands, others go on until then.
  void take_turn(thread& me, std::uintptr_t at, std::size_t bytes, use what) {
    if (lines_are_held_) [[unlikely]]
      wait_for_line(me, at, bytes, what);
  }
  // Gives the processor up, until make_ready() and a processor.
  void leave_processor(thread& me, phase, activity);
  // Keeps the processor and sleeps until a look succeeds, or the timer.
  void sleep_on_line(thread& me, activity);
  // Lets queued threads have the processor.
  void yield(thread& me);
  [[noreturn]] void end_thread(thread& me);
  // Switches to the fiber that called run().
  [[noreturn]] void leave_machine();
  // Sets what the thread does from its clock on.
  void set_activity(thread&, activity);

  // ---- by anybody -------------------------------------------------------------------------------

  // Makes a thread of the program; it is not ready yet.
  thread& add_thread(void (*entry)(void*), void* argument, std::size_t stack_bytes);
  // Other programs' load: threads that compute for `busy` cycles and sleep for `rest`, in turn.
  void add_foreign_load(unsigned threads, cycles busy, cycles rest);
  // Gives the thread a processor, or a place in a queue. From sleep: after an interrupt.
  void make_ready(thread&, cycles at);
  // The polling thread looks again at the first of its polls from `at` on.
  void wake_poller(thread&, cycles at);
  void set_timer(thread&, cycles at);
  void cancel_timer(thread& t) noexcept {
    ++t.timer;
    t.timer_armed = false;
  }
  void set_affinity(thread&, std::vector<bool>);
  // The front end's signals (engine.h). At the time of the alarm that rings, else the caller's.
  void interrupt(thread&);
  void set_alarm(cycles at);  // 0: none
  static void look_outside() noexcept;
  // The process is about to fork: until it is alone again, others may write what threads wait for.
  void forks();
  // The running thread takes its signals now, if it may.
  void take_signals(thread& me);
  // To be called when something that limits the running thread has changed.
  void refresh_limit();

  // Calls ask(context) on the fiber of a thread that has begun and not ended, for the last words of
  // a run that is over: no thread goes on after it.
  void ask(thread&, void (*ask)(void* context), void* context);

  // Runs the program until leave_machine(). Called on the first fiber.
  void run(thread& main);
  // Charges all activities up to `at`.
  void close_accounts(cycles at);
  // The simulated time, and time without any, after which a run is one without end.
  [[nodiscard]] std::uint64_t limit_seconds() const noexcept {
    return runaway_ / machine_.topology.frequency_hz;
  }
  [[nodiscard]] const energy_meter& energy() const noexcept { return energy_; }

  static void on_interrupt(int) noexcept;  // Ctrl-C

 private:
  [[gnu::noinline]] void wait_for_turn();
  [[gnu::noinline]] void wait_for_line(thread& me, std::uintptr_t at, std::size_t bytes, use);
  [[gnu::noinline]] void dispatch();
  // Lets the thread of the first event run, which comes before `me` goes on.
  [[gnu::noinline]] void let_pass(thread& me);
  void switch_to(thread& next);
  [[gnu::noinline]] void answer();
  thread& next_to_run();
  bool act_on(const event&);
  void on_look(thread&, cycles at);
  void on_timer(thread&, cycles at);
  void on_slice(processor&, cycles at);
  void on_alarm(cycles at);
  void take_outside();
  void on_company(cycles at);
  [[nodiscard]] bool has_company() const;
  [[nodiscard]] bool waits_for_company();
  [[noreturn]] void report_stuck();
  void arrange_company(cycles at);
  void on_foreign(thread&);
  void start_next(processor&, cycles at);
  void switch_in(processor&, thread&, cycles from, cycles overhead);
  void enqueue(processor&, thread&, cycles at);
  void preempt(thread&, cycles at);
  void take_off(processor&, activity next);
  void leave_for_another(thread& me);
  void arrange_slice_event(processor&, cycles at);
  void arrange_balance(processor&, cycles at);
  thread* take_from_another(unsigned for_processor);
  unsigned choose_processor(const thread&) const;
  void push_go(thread& t) { push({t.clock, t.index, event::kind::go, ++t.turn}); }
  void push(const event&);
  static cycles bound_by(const event&, const thread& me);
  void charge(thread&, activity next, cycles at);
  void charge(processor&, activity next, cycles at, cycles relaxed);
  void slow_siblings(const processor&);
  [[nodiscard]] unsigned competition(const processor&) const;
  [[nodiscard]] bool somebody_can_run() const;
  void look_for_an_end(cycles now);
  [[noreturn]] void stop(const char* why, int status);
  [[nodiscard]] thread& of(std::uint32_t who) {
    return who < first_foreign ? threads_[who] : foreign_[who - first_foreign];
  }
  [[nodiscard]] processor& of(const thread& t) { return processors_[t.processor]; }
  void reap();

  // As processors of their own, the last.
  static constexpr std::uint32_t alarm_event = ~0u, company_event = alarm_event - 1;
  // Indices of foreign threads, after all of the program's.
  static constexpr std::uint32_t first_foreign = 1u << 20;

  world& world_;
  const description& machine_;
  thread* running_ = nullptr;  // whose fiber runs; null: the first fiber
  cycles limit_ = 0;
  const bool lines_are_held_;
  event_queue events_;
  std::deque<thread> threads_;  // of the program, by index
  std::deque<thread> foreign_;
  std::vector<processor> processors_;
  std::vector<instrument::fiber*> ended_;
  energy_meter energy_;
  std::size_t queued_ = 0;
  cycles slice_ = 0;
  cycles balance_ = 0;  // between two looks of idle processors at the others' queues; 0: at once
  cycles runaway_ = 0;
  cycles next_look_ = 0;  // at whether anybody can go on; at most runaway_
  stalemate stalemate_;
  cycles foreign_busy_ = 0, foreign_rest_ = 0;
  instrument::fiber* first_fiber_ = nullptr;
  struct {
    void (*ask)(void*);
    void* context;
    instrument::fiber* by;
  } question_{};
  cycles alarm_ = 0, rings_at_ = 0;  // the next one; the one that rings
  std::uint32_t alarm_generation_ = 0, company_generation_ = 0;
  int parent_ = 0, forker_ = 0;  // processes: the one that made this one; the last that forked
  bool looks_at_company_ = false;
  unsigned naps_ = 0;  // in a row, in vain
  static volatile std::sig_atomic_t interrupted_, outside_;
};

}  // namespace syncopate::simulated
