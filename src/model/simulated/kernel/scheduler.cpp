// scheduler.cpp -- the order of events, and fibers.
#include "scheduler.h"

#include "describe_threads.h"
#include "model/simulated/world.h"

#include <algorithm>

#include "model/front/program/options.h"

namespace syncopate::simulated {

namespace {

constexpr std::uint64_t default_limit_seconds = 600;

// What a fiber calls first; the thread pointer is the fiber's own.
void start_of_fiber(void* argument) {
  auto& me = *static_cast<thread*>(argument);
  me.begun = true;
  me.entry(me.argument);
  the_world->schedule.end_thread(the_world->schedule.running());
}

}  // namespace

volatile std::sig_atomic_t scheduler::interrupted_ = 0, scheduler::outside_ = 0;

void scheduler::on_interrupt(int) noexcept {
  interrupted_ = 1;
  if (the_world != nullptr) the_world->schedule.limit_ = 0;
}

scheduler::scheduler(world& w)
    : world_(w),
      machine_(w.machine),
      lines_are_held_(w.memory.lines_are_held()),
      processors_(w.machine.processors()),
      energy_(w.machine),
      slice_(w.machine.topology.frequency_hz / 1'000'000 * w.machine.os.time_slice_microseconds),
      balance_(w.machine.topology.frequency_hz / 1'000'000 * w.machine.os.balance_microseconds),
      runaway_(instrument::option_number("LIMIT", default_limit_seconds, 1'000'000, 1) *
               w.machine.topology.frequency_hz) {
  look_for_an_end(0);
  for (unsigned i = 0; i < processors_.size(); ++i) processors_[i].number = i;
}

thread& scheduler::add_thread(void (*entry)(void*), void* argument, std::size_t stack_bytes) {
  reap();
  thread& t = threads_.emplace_back();
  t.index = static_cast<unsigned>(threads_.size() - 1);
  t.drift = t.index;
  t.entry = entry;
  t.argument = argument;
  t.body = instrument::create_fiber(&start_of_fiber, &t, stack_bytes);
  const auto bounds = instrument::stack_of(t.body);
  t.stack_low = bounds.low;
  t.stack_high = bounds.high;
  t.counted.index = t.index;
  return t;
}

// Fibers that have ended are destroyed here, not where they end: nobody frees the stack he runs on.
void scheduler::reap() {
  for (instrument::fiber* f : ended_) instrument::destroy_fiber(f);
  ended_.clear();
}

// Until when the thread comes before the event. (Who comes first is hard to predict: no branch.)
inline cycles scheduler::bound_by(const event& e, const thread& me) {
  return e.at() - ((e.who() <= me.index) & (e.at() != 0));
}

void scheduler::push(const event& e) {
  events_.push(e);
  if (running_ != nullptr) limit_ = std::min(limit_, bound_by(e, *running_));
}

void scheduler::refresh_limit() {
  const thread& me = *running_;
  cycles limit = next_look_;
  if (!events_.empty()) limit = std::min(limit, bound_by(events_.first(), me));
  if (queued_ != 0) {
    const processor& p = of(me);
    if (!p.queue.empty() && p.slice_end - 1 < limit) limit = p.slice_end - 1;
  }
  if (me.in_transaction && me.htm.interrupt_at - 1 < limit) limit = me.htm.interrupt_at - 1;
  if (!me.may_run_on(me.processor)) limit = 0;
  limit_ = interrupted_ != 0 || outside_ != 0 || me.signaled ? 0 : limit;
}

void scheduler::wait_for_turn() {
  thread& me = *running_;
  for (;;) {
    if (interrupted_ != 0) stop("interrupted", 130);
    if (me.clock >= next_look_) look_for_an_end(me.clock);
    if (outside_ != 0) take_outside();
    const processor& p = of(me);
    if (!events_.empty() && events_.first().before({me.clock, me.index, event::kind::go, 0})) {
      let_pass(me);
      // limit_ is this thread's again, and new.
      if (me.clock <= limit_) return;
    } else if (!me.may_run_on(me.processor)) {
      leave_for_another(me);
    } else if (!p.queue.empty() && me.clock >= p.slice_end) {
      preempt(me, me.clock);
      dispatch();
    } else if (me.in_transaction && me.clock >= me.htm.interrupt_at) {
      world_.htm.abort(me, {abort_cause::interrupt});
    } else if (me.signaled && me.doing != activity::kernel) {
      if (me.in_transaction) world_.htm.abort(me, {abort_cause::interrupt});
      take_signals(me);
    } else {
      break;
    }
  }
  refresh_limit();
}

void scheduler::wait_for_line(thread& me, std::uintptr_t at, std::size_t bytes, use what) {
  for (;;) {
    const cycles turn = world_.memory.turn(me.processor, at, bytes, what, me.clock);
    if (turn <= me.clock) return;
    me.stalled += turn - me.clock;
    me.clock = turn;
    settle(me);
  }
}

// The affinity mask took the processor away.
void scheduler::leave_for_another(thread& me) {
  if (me.in_transaction) world_.htm.doom(me, {abort_cause::preempted});
  processor& p = of(me);
  take_off(p, activity::ready);
  start_next(p, me.clock);
  make_ready(me, me.clock);
  dispatch();
}

// Runs whoever is next, and returns when the calling fiber is.
void scheduler::dispatch() {
  if (running_ != nullptr && running_->in_transaction)
    running_->htm.suspended = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) + 16;
  switch_to(next_to_run());
}

void scheduler::let_pass(thread& me) {
  if (me.in_transaction)
    me.htm.suspended = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) + 16;
  const event e = events_.exchange_first({me.clock, me.index, event::kind::go, ++me.turn});
  switch_to(act_on(e) ? of(e.who()) : next_to_run());
}

inline void scheduler::switch_to(thread& next) {
  thread* const me = running_;
  running_ = &next;
  refresh_limit();
  if (&next != me) instrument::switch_to(next.body);
  while (question_.ask != nullptr) [[unlikely]] answer();
  if (me != nullptr && me->in_transaction && me->htm.doomed) world_.htm.roll_back(*me);
}

void scheduler::ask(thread& t, void (*ask)(void*), void* context) {
  if (t.body == instrument::running_fiber()) return ask(context);
  question_ = {ask, context, instrument::running_fiber()};
  instrument::switch_to(t.body);
  question_ = {};
}

void scheduler::answer() {
  question_.ask(question_.context);
  instrument::switch_to(question_.by);
}

thread& scheduler::next_to_run() {
  for (;;) {
    if (outside_ != 0) take_outside();
    if (events_.empty() && !world_.watching.wake_missed()) {
      if (!waits_for_company()) report_stuck();
      arrange_company(running_->clock);
    }
    const event e = events_.pop();
    if (act_on(e)) return of(e.who());
  }
}

// Whether the event lets a fiber of the program run.
bool scheduler::act_on(const event& e) {
  if (e.what() == event::kind::slice && e.who() == alarm_event) {
    if (e.is_of(alarm_generation_)) on_alarm(e.at());
    return false;
  }
  if (e.what() == event::kind::slice && e.who() == company_event) {
    if (e.is_of(company_generation_)) on_company(e.at());
    return false;
  }
  if (e.what() == event::kind::slice) {
    processor& p = processors_[e.who() - event::processor_event];
    if (e.is_of(p.slice_generation)) on_slice(p, e.at());
    return false;
  }
  thread& t = of(e.who());
  if (e.what() == event::kind::timer) {
    if (e.is_of(t.timer) && t.timer_armed) on_timer(t, e.at());
    return false;
  }
  if (!e.is_of(t.turn)) return false;
  if (e.what() == event::kind::look) {
    on_look(t, e.at());
    return false;
  }
  if (!t.foreign) return true;
  on_foreign(t);
  return false;
}

void scheduler::on_look(thread& t, cycles at) {
  const processor& p = of(t);
  if (!p.queue.empty() && at >= p.slice_end) {
    preempt(t, at);
    return;
  }
  t.clock = at;
  if (lines_are_held_) {
    const cycles turn = world_.watching.turn(t);
    if (turn > at) return wake_poller(t, turn);
  }
  if (world_.watching.look(t)) {
    t.state = phase::running;
    set_activity(t, activity::running);
    push_go(t);
  } else {
    t.state = phase::polling;
    arrange_slice_event(of(t), t.clock);
  }
}

void scheduler::on_timer(thread& t, cycles at) {
  t.timer_armed = false;
  switch (t.state) {
    case phase::polling:
      world_.watching.remove(t);
      if (t.clock < at) t.clock = at;
      t.state = phase::running;
      set_activity(t, activity::running);
      push_go(t);
      break;
    case phase::parked:
      world_.kernel.give_up(t);
      make_ready(t, at);
      break;
    case phase::sleeping:
      if (t.foreign && !somebody_can_run() && !world_.watching.wake_missed())
        report_deadlock(world_);
      make_ready(t, at);
      break;
    default:  // looks again anyway, and sees that it is late
      break;
  }
}

// Whether the program goes on without anything that only foreign load would cause.
bool scheduler::somebody_can_run() const {
  for (const thread& t : threads_) {
    const bool waits =
        t.state == phase::polling || t.state == phase::parked || t.state == phase::sleeping;
    if (t.state != phase::ended && (!waits || t.timer_armed)) return true;
  }
  return alarm_ != 0 || looks_at_company_;
}

void scheduler::on_foreign(thread& t) {
  processor& p = of(t);
  t.state = phase::sleeping;
  take_off(p, activity::sleeping);
  start_next(p, t.clock);
  set_timer(t, t.clock + foreign_rest_);
}

void scheduler::set_timer(thread& t, cycles at) {
  t.timer_armed = true;
  push({at, t.index, event::kind::timer, ++t.timer});
}

void scheduler::wake_poller(thread& t, cycles at) {
  t.state = phase::looking;
  push({at, t.index, event::kind::look, ++t.turn});
}

void scheduler::run(thread& main) {
  first_fiber_ = instrument::running_fiber();
  switch_in(processors_[choose_processor(main)], main, main.clock, 0);
  dispatch();
  running_ = nullptr;
}

void scheduler::leave_machine() {
  instrument::switch_to(first_fiber_);
  __builtin_unreachable();
}

void scheduler::end_thread(thread& me) {
  me.signaled = false;
  settle(me);
  world_.gather.thread_ended(me);
  ++me.turn;
  ended_.push_back(me.body);
  leave_processor(me, phase::ended, activity::off);
  __builtin_unreachable();
}

// Once a simulated second.
void scheduler::look_for_an_end(cycles now) {
  if (now >= runaway_) stop("over the limit of simulated seconds (SYNCOPATE_LIMIT)", 1);
  if (now != 0 && alarm_ == 0 && !looks_at_company_ && stalemate_.is_reached(world_))
    report_deadlock(world_, "every thread of the simulated program waits for another");
  next_look_ = std::min(runaway_, now + machine_.topology.frequency_hz);
}

void scheduler::stop(const char* why, int status) {
  instrument::complain("the simulated program was stopped: %s", why);
  describe_threads(world_);
  stop_run(world_, status);
}

}  // namespace syncopate::simulated
