// sc_graph.cpp -- see sc_graph.h.
#include "sc_graph.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace syncopate::explored {

void sc_graph::forget() noexcept {
  events_.clear();
  fences_.clear();
  of_sc_.clear();
  at_.clear();
  is_settled_ = true;
}

sc_graph::event sc_graph::next(thread_index by, location_id where) const {
  const clock& now = memory_.of(by).happened;
  event e{};
  e.by = by;
  e.time = now.at[by];
  e.where = where;
  e.before = e.after = now;
  return e;
}

choices sc_graph::admitted(thread_index by, location_id where, choices all, access how,
                           std::memory_order order) {
  settle();
  event e = next(by, where);
  e.writes = how != access::read;
  e.is_sc = order == std::memory_order_seq_cst;
  const location& l = memory_.at(where);
  for (choices rest = all; rest != 0; rest &= rest - 1) {
    const auto c = static_cast<choice>(std::countr_zero(rest));
    const message& m = memory_.get(memory_.named(l, c));
    e.after = e.before;
    if (how != access::write && acquires(order) && m.released != nullptr)
      e.after.join(m.released->happened);
    const std::uint64_t at = 2 * std::uint64_t{m.position};
    const range r{e.writes ? at + 1 : at, at + 2};
    find_followers(e, r);
    if (followers_.empty()) continue;
    find_predecessors(e, r);
    if (has_cycle()) all &= ~(choices{1} << c);
  }
  return all;
}

void sc_graph::find_followers(const event& e, range r) {
  followers_.clear();
  if (e.where >= at_.size()) return;
  for (const std::uint32_t i : at_[e.where]) {
    const event& later = events_[i];
    if (place(later) < r.after) continue;
    if (later.is_sc) followers_.push_back(i);
    for (const std::uint32_t f : fences_)
      if (happens_before(later, events_[f])) followers_.push_back(f);
  }
}

void sc_graph::find_predecessors(const event& e, range r) {
  predecessors_.clear();
  fences_before_.clear();
  for (const std::uint32_t f : fences_)
    if (happens_before(events_[f], e)) fences_before_.push_back(f);
  if (!e.is_sc) return;
  for (const std::uint32_t i : of_sc_)
    if (strongly_happens_before(events_[i], e)) predecessors_.push_back(i);
  if (e.where >= at_.size()) return;
  for (const std::uint32_t i : at_[e.where]) {
    const event& earlier = events_[i];
    if (place(earlier) > r.before) continue;
    if (earlier.is_sc) predecessors_.push_back(i);
    for (const std::uint32_t f : fences_)
      if (happens_before(events_[f], earlier)) predecessors_.push_back(f);
  }
}

// Whether a way leads from what follows the new event to what precedes it, or to a fence that
// happens before it and so has to precede the followers, too.
bool sc_graph::has_cycle() {
  std::vector<bool> ends(events_.size()), reached(events_.size());
  for (const std::uint32_t i : predecessors_) ends[i] = true;
  for (const std::uint32_t i : fences_before_) ends[i] = true;
  std::vector<std::uint32_t> left;
  const auto reach = [&](std::uint32_t i) {
    if (!reached[i]) left.push_back(i);
    reached[i] = true;
  };
  for (const std::uint32_t i : followers_) reach(i);
  while (!left.empty()) {
    const std::uint32_t i = left.back();
    left.pop_back();
    if (ends[i]) return true;
    for (const std::uint32_t f : events_[i].followed_by) reach(f);
  }
  return false;
}

void sc_graph::note(thread_index by, const clock& before, location_id where, message_id of,
                    bool writes, bool is_sc) {
  settle();
  event e = next(by, where);
  e.before = before;
  e.of = of;
  e.writes = writes;
  e.is_sc = is_sc;
  events_.push_back(std::move(e));
  is_settled_ = false;
}

void sc_graph::note_written(message_id m, bool is_sc) {
  events_.back().of = m;
  events_.back().writes = true;
  events_.back().is_sc = is_sc;
}

// The last event has done all that it does.
void sc_graph::settle() {
  if (std::exchange(is_settled_, true)) return;
  const auto last = static_cast<std::uint32_t>(events_.size() - 1);
  const event& e = events_[last];
  const std::uint64_t at = 2 * std::uint64_t{memory_.position(e.of)};
  const range r{e.writes ? at - 1 : at, e.writes ? at + 1 : at + 2};
  find_followers(e, r);
  find_predecessors(e, r);
  for (const std::uint32_t f : fences_before_)
    events_[f].followed_by.insert(events_[f].followed_by.end(), followers_.begin(),
                                  followers_.end());
  for (const std::uint32_t i : predecessors_) events_[i].followed_by.push_back(last);
  if (e.is_sc) {
    events_[last].followed_by = followers_;
    of_sc_.push_back(last);
  }
  if (at_.size() <= e.where) at_.resize(e.where + 1);
  at_[e.where].push_back(last);
}

void sc_graph::note_fence(thread_index by, const clock& before) {
  settle();
  event e = next(by, memory::none);
  e.before = before;
  e.is_sc = true;
  find_predecessors_of_fence(e);
  const auto last = static_cast<std::uint32_t>(events_.size());
  for (const std::uint32_t i : predecessors_) events_[i].followed_by.push_back(last);
  events_.push_back(std::move(e));
  fences_.push_back(last);
  of_sc_.push_back(last);
}

void sc_graph::find_predecessors_of_fence(const event& fence) {
  predecessors_.clear();
  for (const std::uint32_t i : of_sc_)
    if (strongly_happens_before(events_[i], fence)) predecessors_.push_back(i);
  for (const auto& accesses : at_) {
    std::uint64_t known = 0;  // the last in coherence order that happens before the fence
    for (const std::uint32_t i : accesses)
      if (happens_before(events_[i], fence)) known = std::max(known, place(events_[i]));
    for (const std::uint32_t i : accesses) {
      if (place(events_[i]) >= known) continue;
      if (events_[i].is_sc) predecessors_.push_back(i);
      for (const std::uint32_t f : fences_)
        if (happens_before(events_[f], events_[i])) predecessors_.push_back(f);
    }
  }
}

}  // namespace syncopate::explored
