// thread.cpp -- what thread.h promises.
#include "thread.h"

namespace syncopate::explored {

void thread::forget() {
  polls.clear();
  forget_visits();
  loaded = memory::none;
  ignored_reads = ignored_writes = 0;
  loaded_others = loaded_weakly = writes_after_load = false;
  reads = 0;
  read_at = 0;
  writes = 0;
  read_again = accesses = alone = 0;
  rounds_of.clear();
  ignores.clear();
  ignores_at.clear();
  now = thread_state::none;
  exits = false;
  parked = woken = forced = spins = late = false;
  patience_lost = 0;
  unlooked_behind = unlooked = 0;
  times_forced = 0;
  stands = 0;
  touched = ~address{0};
  lefts.clear();
  timeouts = jumps = spurious = 0;
  expired = false;
  next = {};
}

void thread::note_poll(const memory& known, location_id where, message_id seen) {
  const std::uint32_t read = ++reads;
  for (polled& p : polls)
    if (p.where == where) {
      if (known.get(p.seen).value != known.get(seen).value) p.changed = read;
      p.seen = seen;
      p.read = read;
      return;
    }
  if (polls.size() < 32) polls.push_back({where, seen, read});
}

}  // namespace syncopate::explored
