// interrupts.cpp -- the part of the scheduler that lets signals come: when is the front end's
// business (libc/signals.h), which thread has them, too. A thread takes them before its next access,
// as long as it is not in the kernel; what it sleeps in there ends.
#include <algorithm>
#include <ctime>

#include "model/front/libc/signals.h"
#include "model/simulated/world.h"
#include "scheduler.h"

namespace syncopate::simulated {

void scheduler::set_alarm(cycles at) {
  ++alarm_generation_;
  alarm_ = at;
  if (at != 0) push({at, alarm_event, event::kind::slice, alarm_generation_});
}

void scheduler::on_alarm(cycles at) {
  if (at >= runaway_) stop("over the limit of simulated seconds (SYNCOPATE_LIMIT)", 1);
  alarm_ = 0;
  rings_at_ = at;
  instrument::ring_alarms(nanoseconds_of(machine_, at, CLOCK_MONOTONIC));
  rings_at_ = 0;
}

void scheduler::look_outside() noexcept {
  outside_ = 1;
  if (the_world != nullptr) the_world->schedule.limit_ = 0;
}

void scheduler::take_outside() {
  outside_ = 0;
  instrument::take_outside();
}

void scheduler::interrupt(thread& t) {
  if (t.state == phase::ended) return;
  const cycles now = std::max(rings_at_ != 0 ? rings_at_ : running_->clock, t.clock);
  t.signaled = true;
  switch (t.state) {
    case phase::parked:
      world_.kernel.give_up(t, machine::park_result::interrupted);
      cancel_timer(t);
      make_ready(t, std::max(now, t.park.asleep_from));
      break;
    case phase::sleeping:
      cancel_timer(t);
      make_ready(t, now);
      break;
    case phase::polling:
    case phase::looking:
      world_.watching.remove(t);
      t.clock = now;
      t.state = phase::running;
      set_activity(t, activity::running);
      push_go(t);
      break;
    default: break;  // before its next access, or when it has a processor again
  }
  if (&t == running_) refresh_limit();
}

void scheduler::take_signals(thread& me) {
  me.signaled = false;
  me.loop = {};  // it goes on behind the handler
  refresh_limit();
  // The way to the handler and back from it: as two system calls.
  if (instrument::take_signals()) me.clock += cycles{2} * machine_.os.syscall_cycles;
  refresh_limit();
}

}  // namespace syncopate::simulated
