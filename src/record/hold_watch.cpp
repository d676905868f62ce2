// hold_watch.cpp -- what hold_watch.h promises; 24 bytes of each thread.
#include "record/hold_watch.h"

#include <syncopate/machine/switch_mark.h>

#include "record/threads.h"

namespace syncopate::record {

namespace {

struct watch {
  machine::switch_mark mark;
  enum : std::uint32_t { off, running, seen } state = off;
  std::uint32_t preemptions = 0, sleeps = 0;
};
thread_local constinit watch mine __attribute__((tls_model("initial-exec")));

}  // namespace

void begin_hold_watch(asking how) noexcept {
  mine.state = watch::off;
  if (!machine::switch_mark::is_possible()) return;
  if (how == asking::if_free && !mine.mark.stands()) return;
  mine.mark.set();
  mine.state = watch::running;
}

void end_hold_watch() noexcept {
  if (mine.state != watch::running) return;
  const machine::switch_counts taken = mine.mark.taken();
  mine.preemptions = taken.involuntary;
  mine.sleeps = taken.voluntary;
  mine.state = watch::seen;
}

bool has_hold_watch() noexcept { return mine.state == watch::seen; }
bool hold_ran_on() noexcept { return mine.preemptions == 0; }
void drop_hold_watch() noexcept { mine.state = watch::off; }

void write_hold_watch(thread_state& t, std::uint32_t lock) noexcept {
  mine.state = watch::off;
  const row_slot* const slot = find_row(t, lock, static_cast<std::uint32_t>(wait_kind::holder));
  if (slot == nullptr) return;
  wait_row& row = *slot->row;
  ++row.waits;
  row.histogram[preempted_holds] += mine.preemptions != 0 ? 1 : 0;
  row.histogram[preemptions] += mine.preemptions;
  row.histogram[sleeping_holds] += mine.sleeps != 0 ? 1 : 0;
}

}  // namespace syncopate::record
