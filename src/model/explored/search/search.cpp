// search.cpp -- see search.h.
#include "search.h"

#include <bit>
#include <utility>

namespace syncopate::explored {

namespace {
constexpr thread_set bit(thread_index t) noexcept { return static_cast<thread_set>(1u << t); }
}  // namespace

void search::begin() {
  depth_ = 0;
  known_ = static_cast<std::uint32_t>(steps_.size());
  past_.fill({});
}

step& search::add() {
  steps_.emplace_back();
  return steps_.back();
}

void search::made(const std::uint32_t* symmetric, std::size_t count) {
  step& s = steps_[depth_];
  clock& past = past_[s.thread];
  if (!is_new()) {
    claims_.clear();
    sources_.clear();
    acceptable_.clear();
    hidden_.clear();
    past = s.past;
    ++depth_;
    return;
  }
  const bool reduce = !options_.random && !options_.every_order;
  if (reduce) {
    reverse_symmetric(past, symmetric, count);
    reverse_hidden(past, symmetric, count);
    if (s.wrote || s.ran_transaction() || !claims_.empty())
      reverse_readings(past, symmetric, count);
    claims_.clear();
    acceptable_.clear();
  }
  hidden_.clear();
  if (s.source != 0) past.join(steps_[s.source - 1].past);
  for (const std::uint32_t source : sources_) past.join(steps_[source - 1].past);
  sources_.clear();
  for (std::size_t i = 0; i < count; ++i) past.join(steps_[symmetric[i] - 1].past);
  past.at[s.thread] = depth_ + 1;
  s.past = past;
  ++depth_;
}

void search::reverse_symmetric(const clock& past, const std::uint32_t* symmetric,
                               std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t e = symmetric[i];
    const thread_index by = steps_[e - 1].thread;
    // Only steps between which there is no third in the order: the others follow from these.
    // (What this step read from is no reason: it could read something else.)
    bool direct = !past.covers(by, e);
    for (std::size_t j = 0; j < count && direct; ++j)
      direct = j == i || !steps_[symmetric[j] - 1].past.covers(by, e);
    if (direct) reverse(e - 1, past, symmetric, count);
  }
}

void search::reverse_hidden(const clock& past, const std::uint32_t* symmetric, std::size_t count) {
  for (const hidden& h : hidden_) {
    clock own = past;
    if (h.source != 0) own.join(steps_[h.source - 1].past);
    reverse(h.step, own, symmetric, count);
  }
  hidden_.clear();
}

void search::blocked(thread_index t, location_id where, const std::uint32_t* symmetric,
                     std::size_t count) {
  if (options_.random || options_.every_order || depth_ + 1 < known_) {
    hidden_.clear();
    return claims_.clear();
  }
  const bool known = is_known();
  step kept;
  if (known) std::swap(kept, steps_[depth_]);
  else steps_.emplace_back();
  steps_[depth_].thread = t;
  steps_[depth_].where = where;
  reverse_symmetric(past_[t], symmetric, count);
  reverse_hidden(past_[t], symmetric, count);
  for (const std::uint32_t claimer : claims_)
    if (!past_[t].covers(steps_[claimer].thread, claimer + 1))
      reverse(claimer, past_[t], symmetric, count);
  claims_.clear();
  if (known) std::swap(kept, steps_[depth_]);
  else steps_.pop_back();
}

// Whether the reader had no need of the message that was written later: it could read an older one
// that stands for it.
bool search::tells_no_more(const location::reading& r, message_id written) const {
  const step& reader = steps_[r.step];
  const bool only_reads = reader.what == action::load || reader.what == action::await ||
                          reader.what == action::compare_exchange;
  const message& latest = memory_.get(written);
  // (That one can take from others what they give: until C++17.)
  if (memory_.at(latest.where).has_own_sequences) return false;
  if (!only_reads || reader.wrote || reader.is_sc || reader.chosen >= max_choices) return false;
  if (reader.what == action::compare_exchange && latest.value == reader.expected) return false;
  const location& l = memory_.at(latest.where);
  const std::uint32_t first = r.floor == 0 ? 0 : memory_.get(r.floor).position;
  for (const message_id m : l.order) {
    if (m == written) return false;
    if (m > reader.messages || memory_.get(m).position < first) continue;
    if (memory_.stands_for(m, written, r.time)) return true;
  }
  return false;
}

// Whether a take finds something to take also when the earlier step, and what follows from it, is
// gone. (Where it does not, it waits for that step, as for the post of a semaphore.)
bool search::could_take_without(std::uint32_t earlier) const {
  const thread_index by = steps_[earlier].thread;
  const auto stays = [&](message_id m) {
    const std::uint32_t step = memory_.get(m).step;
    return step == 0 || (step != depth_ + 1 && !steps_[step - 1].past.covers(by, earlier + 1));
  };
  const location& l = memory_.at(steps_[depth_].where);
  for (const message_id m : acceptable_) {
    if (!stays(m)) continue;
    const std::size_t next = memory_.get(m).position - l.first_position + 1;
    if (next >= l.order.size() || !memory_.get(l.order[next]).by_rmw || !stays(l.order[next]))
      return true;
  }
  return false;
}

// Steps of others that read the location before this write, and could have read from it; or that
// made this compare-exchange fail.
void search::reverse_readings(const clock& own, const std::uint32_t* symmetric, std::size_t count) {
  const step& s = steps_[depth_];
  clock before = own;
  for (std::size_t i = 0; i < count; ++i) before.join(steps_[symmetric[i] - 1].past);
  for (const std::uint32_t claimer : claims_)
    if (steps_[claimer].thread != s.thread && !before.covers(steps_[claimer].thread, claimer + 1))
      reverse(claimer, own, symmetric, count);
  const auto readers_of = [&](location_id where) {
    const message_id written = memory_.of(s.thread).newest[where];
    for (const location::reading& r : memory_.at(where).readings) {
      const step& reader = steps_[r.step];
      if (reader.thread == s.thread || before.covers(reader.thread, r.step + 1)) continue;
      if (r.floor != 0 && memory_.get(r.floor).position > memory_.get(written).position) continue;
      if (s.what == action::take && reader.wrote && !could_take_without(r.step)) continue;
      if (!tells_no_more(r, written)) reverse(r.step, own, symmetric, count);
    }
  };
  if (s.wrote) readers_of(s.where);
  if (s.ran_transaction())
    for (const footprint::word& w : s.touched->words)
      if (w.wrote) readers_of(w.where);
}

// Makes sure that the search will try, in the state before the earlier step, a thread with which
// now() can come without the earlier one before it. own: the past of now()'s thread before it.
void search::reverse(std::uint32_t earlier, const clock& own, const std::uint32_t* symmetric,
                     std::size_t count) {
  step& before = steps_[earlier];
  const std::uint32_t later = depth_;
  const auto follows = [&](const clock& past) { return past.covers(before.thread, earlier + 1); };
  // What now() will depend on when the earlier step and all that depends on it are gone.
  clock past = own;
  const auto join = [&](std::uint32_t step_plus_one) {
    if (const clock& other = steps_[step_plus_one - 1].past; !follows(other)) past.join(other);
  };
  if (steps_[later].source != 0) join(steps_[later].source);
  for (const std::uint32_t source : sources_) join(source);
  for (std::size_t i = 0; i < count; ++i) join(symmetric[i]);
  request r{earlier, request::reversal, steps_[later].thread, initials(earlier, past), {}};
  // Where its next step is asleep: unless that is because this thread's read sleeps, and what wakes
  // it, a write that it can read from, also comes without the earlier step.
  const thread_set asleep = r.first & before.enabled & ~before.awake;
  const bool is_asleep = asleep == bit(r.later) && steps_[later].where != memory::none;
  for (std::uint32_t k = earlier + 1; k < later && is_asleep; ++k) {
    const step& write = steps_[k];
    if (!write.writes(steps_[later].where) || follows(write.past)) continue;
    clock after_write = past;
    after_write.join(write.past);
    r.others.push_back(initials(earlier, after_write));
  }
  ask(std::move(r));
}

void search::ask(request r) {
  if (r.step >= floor_) apply(r);
  else if (known_requests_.insert(r).second) kept_.push_back(std::move(r));
}

void search::apply(const request& r) {
  step& before = steps_[r.step];
  if (r.what == request::also) before.to_try |= r.first;
  if (r.what == request::late && !std::exchange(before.may_be_late, true))
    before.rest |= choices{1} << too_late;
  if (r.what != request::reversal || (r.first & before.to_try) != 0) return;
  const thread_set sleeps = before.enabled & ~before.awake;
  if ((r.first & sleeps) == 0) try_one(before, r.first, r.later);
  for (const thread_set first : r.others)
    if ((first & (before.to_try | sleeps)) == 0) try_one(before, first, r.later);
}

// Of the steps that do not depend on the earlier one, then now() with this past: which threads can
// be first?
thread_set search::initials(std::uint32_t earlier, const clock& past) const {
  const step& before = steps_[earlier];
  thread_set first = 0, present = 0;
  std::array<std::uint32_t, max_threads> at{};
  for (std::uint32_t k = earlier + 1; k <= depth_; ++k) {
    const step& s = steps_[k];
    const clock& its_past = k == depth_ ? past : s.past;
    if (k != depth_ && its_past.covers(before.thread, earlier + 1)) continue;
    if ((present & bit(s.thread)) != 0) continue;
    bool initial = true;
    for (thread_set rest = present; rest != 0 && initial; rest &= rest - 1) {
      const auto q = static_cast<thread_index>(std::countr_zero(rest));
      initial = !its_past.covers(q, at[q] + 1);
    }
    present |= bit(s.thread);
    at[s.thread] = k;
    if (initial) first |= bit(s.thread);
  }
  return first;
}

void search::try_one(step& before, thread_set first, thread_index later) {
  const thread_set possible = first & before.awake;
  if ((possible & bit(later)) != 0) before.to_try |= bit(later);
  else if (possible != 0) before.to_try |= possible & -possible;
  else before.to_try |= before.awake;
}

bool search::next() {
  if (options_.random) {
    steps_.clear();
    return true;
  }
  while (steps_.size() > floor_) {
    if (advance(steps_.back())) return true;
    steps_.pop_back();
  }
  return false;
}

bool search::advance(step& s) {
  if (s.rest != 0) {
    s.chosen = static_cast<choice>(std::countr_zero(s.rest));
    s.rest &= s.rest - 1;
    s.forced = false;
    return true;
  }
  if (s.local) return false;
  s.tried |= bit(s.thread);
  if (!options_.every_order) {
    s.asleep[s.thread] = s.messages + 1;
    if (s.what == action::transaction) s.sleepers.emplace_back(s.thread, std::move(s.touched));
    s.awake &= ~bit(s.thread);
  }
  thread_set left = s.to_try & s.awake & ~s.tried;
  if (left != 0 && options_.preemptions >= 0 && s.previous != max_threads &&
      s.preemptions >= options_.preemptions && (s.enabled & ~s.dozing & bit(s.previous)) != 0) {
    left &= bit(s.previous);
    dropped_ |= left == 0;
  }
  if (left == 0) return false;
  s.thread = static_cast<thread_index>(std::countr_zero(left));
  s.settled = s.forced = false;
  s.touched.reset();
  return true;
}

void search::confine(std::uint32_t root) {
  steps_.resize(root + 1);
  advance(steps_[root]);
  floor_ = root + 1;
  kept_.clear();
  known_requests_.clear();
}

}  // namespace syncopate::explored
