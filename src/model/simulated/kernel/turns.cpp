// turns.cpp -- lines that take time to change hands.
//
// A request for a line that another core has reaches that core coherence.request cycles later, and
// one that waits for a line under way is answered coherence.hold cycles after it has arrived. Until
// then the line's core goes on with it. So who is about to make such an access asks turn() first,
// lets the others act until the time that it says, and makes the access then.
//
// Invariants
//   T1  A request takes its line no earlier than busy_until + hold of the last one. turn() sees
//       to that when it is asked again; what it says at first is an estimate.
//   T2  Those who wait for a line get it in the order in which they asked: each gets a time after
//       that of the one before. (But for estimates that were too low: then the threads' order.)
//   T3  Whether it has to wait or not, an access to a free line takes what it does without turns:
//       request is a part of the transfer, and was spent when the access takes place.
//
// Not modeled: several lines of one access (the first one's turn is waited for), plain writes (the
// line is taken at once, and arrives as late as if it had waited), cores that share an L2.
#include "model/simulated/memory/memory_system.h"

#include <algorithm>

namespace syncopate::simulated {

cycles memory_system::turn(unsigned processor, std::uintptr_t at, std::size_t bytes, use what,
                           cycles now) {
  port& by = ports_[processor];
  const request wanted{by, line_of(at), what, what == use::modify ? machine_.atomic.rmw_cycles : 0};
  const bool pending = by.stores.drained_at() > now;
  if (what == use::read && pending && by.stores.forwards(at, bytes, now)) return now;

  line_record* const record = directory_.find(wanted.what);
  if (!record || !somebody_loses(wanted, *record)) {
    if (by.requested == wanted.what && holds(by.core, wanted.what)) by.requested = no_line;
    return now;
  }
  if (what == use::modify && pending && machine_.atomic.drains_stores) now = by.stores.drained_at();
  if (by.requested == wanted.what) return std::max(now, released_at(*record));
  by.requested = wanted.what;
  return join_queue(wanted, *record, now);
}

// Whether the access takes the line, or the permission to write it, from another group.
bool memory_system::somebody_loses(const request& wanted, line_record& record) const {
  const group own = group_of(wanted.by.core);
  if (record.owner != nobody) return record.owner != own;
  if (!wanted.exclusive()) return false;
  const group_set sharers = directory_.sharers(record);
  return sharers.any_in(0, own) || sharers.any_in(own + 1, static_cast<group>(l2s_.size()));
}

// From when on the line's core answers.
cycles memory_system::released_at(const line_record& record) const {
  return record.busy_until + (record.owner != nobody ? machine_.coherence.hold : 0);
}

// Returns: when the request is going to be answered.
cycles memory_system::join_queue(const request& wanted, const line_record& record, cycles now) {
  const coherence_description& costs = machine_.coherence;
  const group own = group_of(wanted.by.core);
  last_in_line& last = queues_[wanted.what];
  const cycles arrives = now + costs.request;
  const cycles turn = std::max({arrives, released_at(record), last.until});
  wanted.by.queued = turn - arrives;
  wanted.by.totals.waited += wanted.by.queued;

  const group from = last.until > arrives || record.owner == nobody ? last.which : record.owner;
  const bool takes = wanted.exclusive() || costs.migratory;
  const cycles rest = distances_.between(from, own).latency - costs.request;
  last = {own, turn + (takes ? rest + wanted.lock + costs.hold : costs.occupancy)};
  return turn;
}

// When the line is free for a request that sets out without a turn, or whose turn it is.
cycles memory_system::free_for(const request& wanted, const line_record& record) const {
  const bool waited = wanted.by.requested == wanted.what;
  if (waited || !wanted.exclusive() || record.owner == group_of(wanted.by.core))
    return record.busy_until;
  const cycles released = released_at(record);
  return released - std::min(released, cycles{machine_.coherence.request});
}

memory_system::way_behind memory_system::end_turn(const request& wanted) {
  if (wanted.by.requested != wanted.what) return {};
  wanted.by.requested = no_line;
  return {machine_.coherence.request, std::exchange(wanted.by.queued, 0)};
}

}  // namespace syncopate::simulated
