// interrupts.cpp -- the part of the scheduler that lets things come from elsewhere.
//
// Signals: when is the front end's business (libc/signals.h), which thread has them, too. A thread
// takes them before its next access, as long as it is not in the kernel; what it sleeps in there
// ends.
//
// Other processes, after a fork: each has a machine of its own, which wakes its own threads only.
// So each looks, once a millisecond of its time, whether a word that a thread waits for was
// written; where nothing else goes on, for a millisecond of this computer.
#include <algorithm>
#include <cerrno>
#include <ctime>

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <syncopate/machine/system_call.h>

#include "model/front/names/mappings.h"
#include "model/front/program/options.h"

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

// ---- other processes ----------------------------------------------------------------------------

void scheduler::forks() {
  const int me = getpid();
  if (forker_ != 0 && forker_ != me) parent_ = forker_;
  forker_ = me;
  looks_at_company_ = instrument::has_shared_mappings();
  if (looks_at_company_) arrange_company(running_->clock);
}

void scheduler::arrange_company(cycles at) {
  push({at + machine_.topology.frequency_hz / 1000, company_event, event::kind::slice,
        ++company_generation_});
}

// Whether another process has this one's memory: one that it has made, or that has made it.
bool scheduler::has_company() const {
  const int maker = forker_ != getpid() ? forker_ : parent_;
  if (maker != 0 && getppid() == maker) return true;
  siginfo_t of{};
  return waitid(P_ALL, 0, &of, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

// Whether a thread waits for a word that another process may write.
bool scheduler::waits_for_company() {
  using instrument::sharing;
  for (const thread& t : threads_) {
    if (t.state != phase::parked && t.state != phase::polling) continue;
    const sharing with = instrument::sharing_of(t.state == phase::parked ? t.park.at : t.poll.at);
    if (with == sharing::with_all || (with == sharing::with_children && has_company())) return true;
  }
  return false;
}

void scheduler::report_stuck() {
  if (instrument::has_shared_mappings() && has_company())
    report_deadlock(world_,
                    "no thread of this process can run, and another process wakes none that waits"
                    " at a condition (docs/reference/model-limits.md)");
  report_deadlock(world_);
}

void scheduler::on_company(cycles at) {
  constexpr long nap_ns = 1'000'000;
  constexpr unsigned say_after_naps = 5000;
  if (at >= runaway_) stop("over the limit of simulated seconds (SYNCOPATE_LIMIT)", 1);
  if (events_.empty()) {
    const timespec nap{0, nap_ns};
    machine::system_call(SYS_nanosleep, reinterpret_cast<long>(&nap), 0, 0, 0, 0, 0);
    if (++naps_ == say_after_naps)
      instrument::complain("all threads have long waited for another process");
  } else {
    naps_ = 0;
  }
  world_.kernel.wake_changed(at);
  world_.watching.wake_changed(at);
  looks_at_company_ = instrument::has_shared_mappings() && has_company();
  if (events_.empty() ? waits_for_company() : looks_at_company_) arrange_company(at);
}

}  // namespace syncopate::simulated
