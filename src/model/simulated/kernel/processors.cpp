// processors.cpp -- the part of the scheduler that is an operating system's: who has which
// processor, for how long, and what that costs.
#include "model/simulated/world.h"
#include "scheduler.h"

#include <cmath>
#include <tuple>

namespace syncopate::simulated {

namespace {

power power_of(activity what) {
  switch (what) {
    case activity::running:
    case activity::kernel:
    case activity::switching:
    case activity::foreign: return power::running;
    case activity::spinning: return power::spinning;
    case activity::light: return power::monitor_light;
    case activity::deep: return power::monitor_deep;
    case activity::off: return power::off;
    default: return power::idle;
  }
}

}  // namespace

// ---- places -----------------------------------------------------------------------------------

unsigned scheduler::choose_processor(const thread& t) const {
  const unsigned last = t.processor, cores = machine_.topology.cores;
  if (balance_ != 0 && t.has_run && t.may_run_on(last)) return last;
  const unsigned last_node = machine_.node_of(machine_.core_of(last));
  using rank = std::tuple<std::size_t, bool, bool>;  // load, not the last one, not its node
  unsigned best = last;
  rank best_rank{SIZE_MAX, true, true};
  for (const processor& p : processors_) {
    if (!t.may_run_on(p.number)) continue;
    std::size_t load = 0;  // 0: idle core; 1: idle sibling; 2 and more: busy
    if (p.has != nullptr) {
      load = 2 + p.queue.size();
    } else {
      for (unsigned s = machine_.core_of(p.number); s < processors_.size(); s += cores)
        if (processors_[s].has != nullptr) load = 1;
    }
    // The first thread that comes anywhere has no last processor, but the lowest.
    const rank r{load, p.number != last, machine_.node_of(machine_.core_of(p.number)) != last_node};
    if (r < best_rank) {
      best_rank = r;
      best = p.number;
    }
  }
  return best;
}

void scheduler::make_ready(thread& t, cycles at) {
  if (t.clock < at) t.clock = at;
  charge(t, activity::ready, t.clock);
  t.state = phase::queued;
  processor& p = processors_[choose_processor(t)];
  if (p.has != nullptr) {
    enqueue(p, t, t.clock);
  } else {
    const cycles from = t.clock > p.since ? t.clock : p.since;
    switch_in(p, t, from, machine_.os.ipi_cycles + machine_.os.wakeup_cycles);
  }
}

void scheduler::enqueue(processor& p, thread& t, cycles at) {
  t.state = phase::queued;
  p.queue.push_back(&t);
  ++queued_;
  // A slice that nobody had to share has gone on from tick to tick.
  if (p.slice_end <= at) p.slice_end += (at - p.slice_end) / slice_ * slice_ + slice_;
  arrange_slice_event(p, at);
  if (balance_ != 0)
    for (processor& other : processors_)
      if (other.has == nullptr) arrange_balance(other, at);
  if (running_ != nullptr && p.has == running_) refresh_limit();
}

// A thread that polls makes no events at which it could be switched out.
void scheduler::arrange_slice_event(processor& p, cycles at) {
  if (p.queue.empty() || p.has == nullptr || p.has->state != phase::polling) return;
  push({p.slice_end > at ? p.slice_end : at, event::processor_event + p.number, event::kind::slice,
        ++p.slice_generation});
}

// An idle processor looks at the queues of the others at the next tick.
void scheduler::arrange_balance(processor& p, cycles at) {
  push({(at / balance_ + 1) * balance_, event::processor_event + p.number, event::kind::slice,
        ++p.slice_generation});
}

void scheduler::on_slice(processor& p, cycles at) {
  if (p.has == nullptr) {
    if (thread* const next = take_from_another(p.number))
      switch_in(p, *next, at, machine_.os.ipi_cycles + machine_.os.wakeup_cycles);
    return;
  }
  if (p.has->state == phase::polling && !p.queue.empty()) preempt(*p.has, at);
}

void scheduler::preempt(thread& t, cycles at) {
  processor& p = of(t);
  if (t.in_transaction) world_.htm.doom(t, {abort_cause::preempted});
  if (t.state != phase::running) {
    world_.watching.remove(t);
    t.polls_on = true;
  }
  ++t.turn;
  ++t.counted.preemptions;
  if (t.clock < at) t.clock = at;
  take_off(p, activity::ready);
  enqueue(p, t, t.clock);
  start_next(p, t.clock);
}

void scheduler::yield(thread& me) {
  processor& p = of(me);
  if (p.queue.empty()) return;
  ++me.counted.switches;
  take_off(p, activity::ready);
  enqueue(p, me, me.clock);
  start_next(p, me.clock);
  dispatch();
}

void scheduler::leave_processor(thread& me, phase next, activity what) {
  processor& p = of(me);
  me.state = next;
  ++me.counted.switches;
  take_off(p, what);
  start_next(p, me.clock);
  dispatch();
}

// The processor's thread does `next` from now on, without the processor.
void scheduler::take_off(processor& p, activity next) {
  thread& t = *p.has;
  const cycles relaxed = t.relaxed;
  charge(t, next, t.clock);
  charge(p, activity::switching, t.clock, relaxed);
  p.has = nullptr;
}

void scheduler::sleep_on_line(thread& me, activity what) {
  me.state = phase::polling;
  set_activity(me, what);
  arrange_slice_event(of(me), me.clock);
  dispatch();
}

void scheduler::start_next(processor& p, cycles at) {
  thread* next = nullptr;
  if (!p.queue.empty()) {
    next = p.queue.front();
    p.queue.pop_front();
    --queued_;
  } else if (queued_ != 0) {
    if (balance_ == 0) next = take_from_another(p.number);
    else arrange_balance(p, at);
  }
  if (next == nullptr) {
    charge(p, activity::idle, at, 0);
    return;
  }
  switch_in(p, *next, at > next->clock ? at : next->clock, machine_.os.context_switch_cycles);
}

thread* scheduler::take_from_another(unsigned for_processor) {
  processor* longest = nullptr;
  std::size_t which = 0;
  for (processor& p : processors_) {
    if (longest != nullptr && p.queue.size() <= longest->queue.size()) continue;
    for (std::size_t i = 0; i < p.queue.size(); ++i) {
      if (!p.queue[i]->may_run_on(for_processor)) continue;
      longest = &p;
      which = i;
      break;
    }
  }
  if (longest == nullptr) return nullptr;
  thread* taken = longest->queue[which];
  longest->queue.erase(longest->queue.begin() + static_cast<std::ptrdiff_t>(which));
  --queued_;
  return taken;
}

void scheduler::switch_in(processor& p, thread& t, cycles from, cycles overhead) {
  if (t.has_run && t.processor != p.number) {
    overhead += machine_.os.migration_cycles;
    ++t.counted.migrations;
  }
  if (balance_ != 0) ++p.slice_generation;  // it is not idle any more
  t.has_run = true;
  t.processor = p.number;
  p.has = &t;
  charge(t, activity::switching, from);
  charge(p, activity::switching, from, 0);
  t.clock = from + overhead;
  p.slice_end = t.clock + slice_;
  if (t.foreign) {
    t.state = phase::running;
    set_activity(t, activity::foreign);
    t.clock += foreign_busy_;
    push_go(t);
  } else if (t.polls_on && !t.signaled) {
    t.polls_on = false;
    set_activity(t, activity::running);
    wake_poller(t, t.clock);
  } else {
    t.polls_on = false;
    t.state = phase::running;
    set_activity(t, activity::running);
    push_go(t);
  }
}

void scheduler::set_affinity(thread& t, std::vector<bool> mask) {
  t.affinity = std::move(mask);
  if (&t == running_) {
    refresh_limit();
    return;
  }
  if (t.state != phase::queued || t.may_run_on(t.processor)) return;
  for (processor& p : processors_) {
    for (auto at = p.queue.begin(); at != p.queue.end(); ++at) {
      if (*at != &t) continue;
      p.queue.erase(at);
      --queued_;
      make_ready(t, t.clock);
      return;
    }
  }
}

void scheduler::add_foreign_load(unsigned threads, cycles busy, cycles rest) {
  foreign_busy_ = busy;
  foreign_rest_ = rest;
  for (unsigned i = 0; i < threads; ++i) {
    thread& t = foreign_.emplace_back();
    t.index = first_foreign + i;
    t.foreign = true;
    t.state = phase::sleeping;
    // Not all at once: the programs have nothing to do with each other.
    set_timer(t, (busy + rest) * i / threads);
  }
}

// ---- accounts ---------------------------------------------------------------------------------

void scheduler::set_activity(thread& t, activity what) {
  const cycles relaxed = t.relaxed;
  charge(t, what, t.clock);
  if (t.has_processor()) charge(processors_[t.processor], what, t.clock, relaxed);
}

void scheduler::charge(thread& t, activity next, cycles at) {
  if (at > t.since) {
    const cycles spent = at - t.since;
    auto& account = t.counted.cycles;
    account[static_cast<std::size_t>(t.doing)] += spent - t.relaxed;
    account[static_cast<std::size_t>(activity::spinning)] += t.relaxed;
    if (!t.foreign) world_.gather.stretch_ended(t, at);
    t.since = at;
  }
  t.relaxed = 0;
  t.doing = next;
}

void scheduler::charge(processor& p, activity next, cycles at, cycles relaxed) {
  if (at > p.since) {
    p.spent[static_cast<std::size_t>(p.doing)] += at - p.since - relaxed;
    if (relaxed != 0) {
      p.spent[static_cast<std::size_t>(activity::spinning)] += relaxed;
      energy_.enter(p.number, power::spinning, at - relaxed);
      energy_.enter(p.number, power_of(p.doing), at);
    }
    p.since = at;
  }
  if (p.doing == next) return;
  p.doing = next;
  energy_.enter(p.number, power_of(next), p.since);
  if (machine_.topology.smt > 1) slow_siblings(p);
}

// How much of the core the processor takes from its siblings, in halves.
unsigned scheduler::competition(const processor& p) const {
  switch (p.doing) {
    case activity::running:
    case activity::kernel:
    case activity::switching:
    case activity::foreign: return 2;
    case activity::spinning: return 1;  // PAUSE leaves about half of the slots: an estimate
    default: return 0;
  }
}

void scheduler::slow_siblings(const processor& p) {
  const unsigned cores = machine_.topology.cores, core = machine_.core_of(p.number);
  for (unsigned s = core; s < processors_.size(); s += cores) {
    if (processors_[s].has == nullptr) continue;
    unsigned halves = 0;
    for (unsigned o = core; o < processors_.size(); o += cores)
      if (o != s) halves += competition(processors_[o]);
    // One full competitor leaves the share smt_share, that is 1 / smt_share times the duration.
    const double longer = 1 / machine_.core.smt_share - 1;
    processors_[s].has->slowed = static_cast<unsigned>(std::lround(longer * 256 * halves / 2));
  }
}

void scheduler::close_accounts(cycles at) {
  for (thread& t : threads_)
    if (t.state != phase::ended) charge(t, t.doing, at);
  for (processor& p : processors_) {
    cycles relaxed = p.has != nullptr ? p.has->relaxed : 0;
    charge(p, p.doing, at, at > p.since && relaxed <= at - p.since ? relaxed : 0);
  }
}

}  // namespace syncopate::simulated
