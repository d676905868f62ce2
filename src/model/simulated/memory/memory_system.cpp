#include "memory_system.h"

#include <algorithm>

namespace syncopate::simulated {

namespace {

// More lines under way than this are looked through for those that have arrived.
constexpr std::size_t many_arriving = 64;

}  // namespace

memory_system::memory_system(const description& machine, memory_listener& listener)
    : machine_(machine),
      listener_(listener),
      tells_moves_(listener.wants_moves()),
      lines_are_held_(machine.coherence.request + machine.coherence.hold != 0),
      distances_(machine),
      directory_(machine.l1.line, machine.topology.cores / machine.l2.shared_by),
      line_shift_(static_cast<unsigned>(std::countr_zero(machine.l1.line))),
      line_mask_(machine.l1.line - 1),
      l1_set_mask_(machine.l1.sets() - 1),
      l1_ways_(machine.l1.ways),
      hit_cycles_{machine.l1.latency, machine.core.store_cycles,
                  machine.l1.latency + machine.atomic.rmw_cycles} {
  for (unsigned core = 0; core < machine.topology.cores; ++core) cores_.emplace_back(machine, core);
  for (unsigned l2 = 0; l2 < machine.topology.cores / machine.l2.shared_by; ++l2)
    l2s_.emplace_back(machine.l2);
  for (unsigned llc = 0; llc < machine.topology.cores / machine.llc.shared_by; ++llc)
    llcs_.emplace_back(machine.llc);
  for (unsigned node = 0; node < machine.topology.nodes; ++node) channels_.emplace_back(machine);

  for (unsigned processor = 0; processor < machine.processors(); ++processor) {
    port& made = ports_.emplace_back(machine);
    made.number = processor;
    made.core = machine.core_of(processor);
    made.sibling = machine.sibling_of(processor);
    made.l1 = cores_[made.core].l1.set_of(0);
    const tag mine = (tag{1} << tags::read_marks | tag{1} << tags::written_marks) << made.sibling;
    const tag written = tag{0xf} << tags::written_marks;
    const tag always = ~tags::flags | tags::valid;
    made.relevant[static_cast<unsigned>(use::read)] = always | (written & ~mine);
    made.relevant[static_cast<unsigned>(use::write)] =
        made.relevant[static_cast<unsigned>(use::modify)] =
            always | tags::exclusive | (tags::all_marks & ~mine);
  }
}

cycles memory_system::access_slow(port& by, std::uintptr_t at, std::size_t bytes, use what,
                                  cycles now) {
  now_ = now;
  cycles done = now;
  cycles issue = now;
  for (;;) {
    const std::size_t room = line_mask_ + 1 - (at & line_mask_);
    const std::size_t part = std::min(bytes, room);
    done = std::max(done, access_line(by, at, part, what, issue));
    if (!events_.empty()) [[unlikely]]
      deliver_events(by.core, line_of(at));
    if (part == bytes) break;
    at += part;
    bytes -= part;
    // Loads of several lines overlap; stores enter the buffer one by one.
    issue = what == use::read ? issue + 1 : done;
  }
  return done;
}

cycles memory_system::access_line(port& by, std::uintptr_t at, std::size_t bytes, use what,
                                  cycles now) {
  ++by.totals.accesses;
  switch (what) {
    case use::read: return read_line(by, at, bytes, now);
    case use::write: return write_line(by, at, bytes, now);
    case use::modify: break;
  }
  return modify_line(by, at, now);
}

cycles memory_system::read_line(port& by, std::uintptr_t at, std::size_t bytes, cycles now) {
  const line what = line_of(at);
  const bool forwarded = by.stores.drained_at() > now && by.stores.forwards(at, bytes, now);
  // A line that was lost since the store comes back even so: after an access a core has the line.
  const obtained got = obtain({by, what, use::read, 0}, now);
  if (!got.hit && (forwarded || machine_.topology.smt > 1)) note_arrival(by, what, got.ready, now);
  if (forwarded) return now + machine_.l1.latency;
  return got.hit ? got.ready + machine_.l1.latency : got.ready;
}

cycles memory_system::write_line(port& by, std::uintptr_t at, std::size_t bytes, cycles now) {
  const cycles start = by.stores.free_at(now);
  by.totals.stalled += start - now;
  const line what = line_of(at);
  const obtained got = obtain({by, what, use::write, 0}, start);
  const cycles goes_on = start + machine_.core.store_cycles;
  if (got.hit && got.ready <= start && by.stores.drained_at() <= start) return goes_on;

  by.stores.free_at(start);  // makes room
  const cycles visible = by.stores.push(at, bytes, got.ready);
  if (visible > got.ready) {
    // Earlier stores hold this one back: nobody may see its value before.
    line_record& record = directory_.at(what, 0);
    record.busy_until = std::max(record.busy_until, visible);
  }
  note_arrival(by, what, got.ready, start);
  update_quiet_from(by.core);
  return goes_on;
}

cycles memory_system::modify_line(port& by, std::uintptr_t at, cycles now) {
  cycles start = now;
  if (machine_.atomic.drains_stores && by.stores.drained_at() > now) {
    start = by.stores.drained_at();
    by.totals.stalled += start - now;
  }
  const line what = line_of(at);
  const obtained got = obtain({by, what, use::modify, machine_.atomic.rmw_cycles}, start);
  const cycles ready = got.hit ? got.ready + machine_.l1.latency : got.ready;
  if (machine_.topology.smt > 1 && !got.hit) note_arrival(by, what, ready, start);
  return ready + machine_.atomic.rmw_cycles;
}

cycles memory_system::fence(unsigned processor, cycles now) {
  port& by = ports_[processor];
  const cycles drained = std::max(now, by.stores.drained_at());
  by.totals.stalled += drained - now;
  return drained + machine_.atomic.fence_cycles;
}

memory_system::obtained memory_system::obtain(const request& wanted, cycles now) {
  port& by = wanted.by;
  core_state& core = cores_[by.core];
  tag* entry = core.l1.touch(wanted.what);
  const bool hit = entry && (!wanted.exclusive() || (*entry & tags::exclusive));
  cycles ready = now;
  if (hit) {
    if (core.settled > now) ready = arrival(core, wanted.what, now);
  } else {
    ++by.totals.l1_misses;
    tag* const below = l2s_[core.own].touch(wanted.what);
    const bool enough = below && (!wanted.exclusive() || (*below & tags::exclusive));
    const served got = enough ? served{serve_from_l2(wanted, *below, now), below}
                              : serve_from_directory(wanted, below, now);
    ready = got.ready;
    entry = fill_l1(by, wanted.what, entry, wanted.exclusive(), *got.below);
  }
  if (wanted.exclusive()) *entry |= tags::dirty;
  const tag foreign = *entry & by.relevant[static_cast<unsigned>(wanted.how)] & tags::all_marks;
  if (foreign) report_conflicts(by.core, wanted.what, foreign, wanted.how, by.number);
  return {ready, hit};
}

cycles memory_system::arrival(const core_state& core, line what, cycles now) const {
  cycles ready = now;
  for (const in_flight& coming : core.arriving)
    if (coming.what == what) ready = std::max(ready, coming.ready);
  return ready;
}

// A line was put into L1 whose data comes later than the processor, or its sibling, may ask.
void memory_system::note_arrival(port& by, line what, cycles ready, cycles now) {
  if (ready <= now) return;
  core_state& core = cores_[by.core];
  if (core.arriving.size() >= many_arriving)
    std::erase_if(core.arriving, [now](const in_flight& coming) { return coming.ready <= now; });
  core.arriving.push_back({what, ready});
  core.settled = std::max(core.settled, ready);
  update_quiet_from(by.core);
}

void memory_system::update_quiet_from(unsigned core) {
  for (unsigned sibling = 0; sibling < machine_.topology.smt; ++sibling) {
    port& one = ports_[core + sibling * machine_.topology.cores];
    one.quiet_from = std::max(one.stores.drained_at(), cores_[core].settled);
  }
}

// Moves first, then what they mean for transactions: the listener may end one there, which drops
// lines. The line just accessed stays even so, for its marks and for whoever waits for its loss.
void memory_system::deliver_events(unsigned core, line accessed) {
  accessing_core_ = core;
  accessed_ = accessed;
  for (const event& told : events_) {
    switch (told.what) {
      case event::kind::invalidated: listener_.invalidated(told.whom, told.where, told.by); break;
      case event::kind::downgraded: listener_.downgraded(told.whom, told.where, told.by); break;
      case event::kind::evicted: listener_.evicted(told.whom, told.where, told.level); break;
      case event::kind::conflict:
      case event::kind::overflow: break;
    }
  }
  for (const event& told : events_) {
    if (told.what == event::kind::conflict)
      listener_.conflict(told.whom, told.where, told.marked, told.by);
    else if (told.what == event::kind::overflow) listener_.overflow(told.whom, told.where);
  }
  events_.clear();
  accessing_core_ = ~0u;
}

bool memory_system::holds(unsigned core, line what) const {
  return in_l1(core, what) ||
         (machine_.l2.shared_by == 1 && l2s_[group_of(core)].find(what) != nullptr);
}

bool memory_system::holds_exclusively(unsigned core, line what) const {
  if (const tag* entry = cores_[core].l1.find(what)) return (*entry & tags::exclusive) != 0;
  const tag* entry = l2s_[group_of(core)].find(what);
  return machine_.l2.shared_by == 1 && entry && (*entry & tags::exclusive);
}

access_totals memory_system::totals() const {
  access_totals all;
  for (const port& one : ports_) all += one.totals;
  return all;
}

}  // namespace syncopate::simulated
