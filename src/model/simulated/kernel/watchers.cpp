#include "watchers.h"

#include "model/simulated/world.h"

#include <algorithm>

#include "model/front/names/mappings.h"

namespace syncopate::simulated {

std::uint64_t read_word(engine::address at, unsigned bytes) noexcept {
  switch (bytes) {
    case 1:
      return __atomic_load_n(reinterpret_cast<const std::uint8_t*>(at), __ATOMIC_RELAXED);  // [W]
    case 2:
      return __atomic_load_n(reinterpret_cast<const std::uint16_t*>(at), __ATOMIC_RELAXED);  // [W]
    case 4:
      return __atomic_load_n(reinterpret_cast<const std::uint32_t*>(at), __ATOMIC_RELAXED);  // [W]
    default:
      return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(at), __ATOMIC_RELAXED);  // [W]
  }
}

bool watchers::holds(const thread& t, std::uint64_t value) const {
  if (t.poll.holds == nullptr) return value != t.poll.seen;
  return t.poll.holds(t.poll.context, value);
}

void watchers::wait(thread& me, engine::place where) {
  poll_state& poll = me.poll;
  me.waits_at = where;
  me.wait_began = me.clock;
  poll.satisfied = false;
  poll.looks = 0;
  activity what = activity::spinning;
  if (poll.depth >= 0 && world_.machine.monitor.present) {
    const auto& monitor = world_.machine.monitor;
    what = poll.depth == 0 ? activity::light : activity::deep;
    me.clock += (poll.depth == 0 ? monitor.light : monitor.deep).entry_cycles;
  }
  poll.origin = me.clock;
  add(me);
  world_.gather.wait_began(me);
  if (poll.until != 0) world_.schedule.set_timer(me, poll.until);
  world_.schedule.sleep_on_line(me, what);
  world_.schedule.cancel_timer(me);
  world_.gather.poll_ended(me);
}

void watchers::add(thread& t) {
  const line what = world_.memory.line_of(t.poll.at);
  ++counts_[slot(what)];
  lists_[what].push_back(&t);
  t.poll.on_list = true;
}

void watchers::remove(thread& t) {
  if (!t.poll.on_list) return;
  const line what = world_.memory.line_of(t.poll.at);
  auto& list = lists_[what];
  list.erase(std::find(list.begin(), list.end(), &t));
  --counts_[slot(what)];
  t.poll.on_list = false;
}

void watchers::wake_all(line what, const thread& by, cycles at) {
  const auto found = lists_.find(what);
  if (found == lists_.end() || found->second.empty()) return;
  woken_.clear();
  woken_.swap(found->second);
  for (thread* t : woken_) {
    if (t == &by) {
      found->second.push_back(t);
      continue;
    }
    --counts_[slot(what)];
    t->poll.on_list = false;
    wake(*t, at);
  }
}

void watchers::wake(thread& t, cycles at) {
  const poll_state& poll = t.poll;
  cycles when = poll.origin;
  if (at > when) when += (at - when + poll.period - 1) / poll.period * poll.period;
  if (poll.depth >= 0 && world_.machine.monitor.present) {
    const auto& monitor = world_.machine.monitor;
    when = (at > poll.origin ? at : poll.origin) +
           (poll.depth == 0 ? monitor.light : monitor.deep).wake_cycles;
  }
  world_.schedule.wake_poller(t, when);
}

cycles watchers::turn(thread& t) {
  const poll_state& poll = t.poll;
  // Such a loop makes its own access, as look() says.
  if (poll.holds == nullptr && read_word(poll.at, poll.bytes) != poll.seen) return t.clock;
  return world_.memory.turn(t.processor, poll.at, poll.bytes, use::read, t.clock);
}

bool watchers::look(thread& t) {
  poll_state& poll = t.poll;
  ++poll.looks;
  if (poll.holds == nullptr) {
    // A loop of the program's own makes its next access itself, if there is anything to see.
    if (read_word(poll.at, poll.bytes) != poll.seen) return poll.satisfied = true;
  }
  const activity slept = t.doing;
  world_.schedule.set_activity(t, poll.depth >= 0 ? activity::running : activity::spinning);
  const cycles begun = t.clock;
  t.clock = world_.memory.access(t.processor, poll.at, poll.bytes, use::read, begun);
  world_.gather.accessed(t, begun);
  const std::uint64_t value = read_word(poll.at, poll.bytes);
  if (holds(t, value)) {
    poll.seen = value;
    return poll.satisfied = true;
  }
  if (poll.until != 0 && t.clock >= poll.until) {
    poll.seen = value;
    return true;
  }
  if (poll.depth >= 0 && world_.machine.monitor.present) {
    const auto& monitor = world_.machine.monitor;
    t.clock += (poll.depth == 0 ? monitor.light : monitor.deep).entry_cycles;
    world_.schedule.set_activity(t, poll.depth == 0 ? activity::light : activity::deep);
  } else if (t.doing != slept) {
    world_.schedule.set_activity(t, slept);
  }
  poll.origin = t.clock;
  add(t);
  return false;
}

void watchers::wake_changed(cycles at) {
  for (thread& t : world_.schedule.threads()) {
    if (t.state != phase::polling || !t.poll.on_list) continue;
    if (instrument::sharing_of(t.poll.at) == instrument::sharing::none) continue;
    if (!holds(t, read_word(t.poll.at, t.poll.bytes))) continue;
    remove(t);
    wake(t, std::max(at, t.clock));
  }
}

bool watchers::wake_missed() {
  bool any = false;
  const bool chance = world_.polled_loops.may_have_chance();
  for (thread& t : world_.schedule.threads()) {
    if (t.state != phase::polling || !t.poll.on_list) continue;
    const bool loop_with_chance = chance && t.sleeps_in_loop();
    if (!loop_with_chance && !holds(t, read_word(t.poll.at, t.poll.bytes))) continue;
    remove(t);
    if (loop_with_chance) {
      loops::give_chance(t);
      t.poll.seen = ~read_word(t.poll.at, t.poll.bytes);
    }
    wake(t, t.clock);
    any = true;
  }
  return any;
}

}  // namespace syncopate::simulated
