// sc_orders.cpp -- see sc_orders.h.
#include "sc_orders.h"

#include <algorithm>

namespace syncopate::explored {

// Whether the thread, or what it would read from, follows all that has moved S behind this position
// of the modification order.
bool sc_orders::moved_in_past(const location& l, thread_index by, std::uint32_t from,
                              std::uint32_t source) const {
  for (std::size_t i = 0; i < l.sc_moves.size(); ++i) {
    const message_id to = i + 1 < l.sc_moves.size() ? l.sc_moves[i + 1].from : l.sc_floor;
    if (memory_.position(to) <= from) continue;
    const std::uint32_t step = l.sc_moves[i].step;
    const thread_index mover = search_.at(step).thread;
    const bool before = search_.past_of(by).covers(mover, step + 1) ||
                        (source != 0 && search_.at(source - 1).past.covers(mover, step + 1));
    if (mover == by || !before) return false;
  }
  return true;
}

bool sc_orders::keeps(thread_index by, location_id where, bool reads, bool writes) const {
  const location& l = memory_.at(where);
  const std::uint32_t known =
      std::max(memory_.position(memory_.known(by, where)), l.first_position);
  for (std::uint32_t at = memory_.position(l.sc_floor); at-- > known;) {
    const message& read = memory_.get(l.order[at - l.first_position]);
    const message& next = memory_.get(l.order[at + 1 - l.first_position]);
    if ((writes && next.by_rmw) || !moved_in_past(l, by, at, reads ? read.step : 0)) continue;
    if (fences_ || may_stand(by, where, 2 * std::uint64_t{at} + (writes ? 1 : 0))) return true;
  }
  return false;
}

bool sc_orders::fence_keeps(thread_index by) {
  fences_ = true;
  for (location_id where = 1; where < memory_.locations(); ++where) {
    const location& l = memory_.at(where);
    const std::uint32_t known = memory_.position(memory_.known(by, where));
    const std::uint32_t floor = memory_.position(l.sc_floor);
    if (floor > known && moved_in_past(l, by, floor - 1, 0)) return true;
  }
  return false;
}

// Whether S has a place for an access of the thread at this position of the modification order,
// twice as large: there is no way from it, by what has to stand behind what, back to it.
bool sc_orders::may_stand(thread_index by, location_id where, std::uint64_t at) const {
  std::vector<std::size_t> reached;
  std::vector<bool> is_reached(made_.size());
  const auto reach = [&](std::size_t i) {
    if (!is_reached[i]) reached.push_back(i);
    is_reached[i] = true;
  };
  const auto place = [&](const access& a) { return 2 * std::uint64_t{memory_.position(a.of)}; };
  for (std::size_t i = 0; i < made_.size(); ++i)
    if (made_[i].where == where && place(made_[i]) > at) reach(i);
  const clock& now = memory_.of(by).happened;
  for (std::size_t next = 0; next < reached.size(); ++next) {
    const access& a = made_[reached[next]];
    // (What follows it in its thread happens before what precedes the other one in its.)
    const std::uint32_t time = a.before.at[a.by];
    if (a.by == by || now.at[a.by] > time || (a.where == where && place(a) < at)) return false;
    for (std::size_t i = 0; i < made_.size(); ++i) {
      const access& b = made_[i];
      if ((a.by == b.by && i > reached[next]) || (a.by != b.by && b.before.at[a.by] > time) ||
          (a.where == b.where && place(a) < place(b)))
        reach(i);
    }
  }
  return true;
}

}  // namespace syncopate::explored
