// schedule.cpp -- whose turn it is.
#include "model/explored/run/machine.h"

#include "model/front/program/runaway.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

namespace syncopate::explored {

namespace {
constexpr thread_set bit(unsigned t) noexcept { return static_cast<thread_set>(1u << t); }
constexpr choices one(choice c) noexcept { return choices{1} << c; }

// Random choices of messages: the newest one this often, out of 8.
constexpr unsigned newest_of_8 = 6;

constexpr std::uint32_t endless_reads = 2'000;  // steps; no loop with an end reads so often
}  // namespace

// ---- turns ------------------------------------------------------------------------------------

// Returns when the thread is to run again.
void machine::announce(const operation& op) {
  settle_written();
  me().next = op;
  me().read_at = 0;
  me().next.callers = callers_of(op.from);
  me().announced_at = search_.depth();
  lifetimes_.leave_frames(me().stands, op.from);
  if (me().stands != 0) me().deepest = std::min(me().deepest, me().stands);
  me().now = thread_state::announced;
  const thread_index next = pick();
  if (next != threads_.current()) switch_to(next);
}

step& machine::take_turn(const operation& op) {
  announce(op);
  return turn();
}

// The calling thread's step begins.
step& machine::turn() {
  step& s = search_.now();
  check_recorded(s, me().next);
  if (!s.settled) settle(s);
  in_step_ = true;
  dependence_.begin_step();
  memory_.begin_step(search_.depth());
  return s;
}

void machine::end_turn(step& s) {
  const bool is_new = search_.is_new();
  dependence_.end_step(s);
  in_step_ = false;
  if (!is_new) return;
  ++verdict_.steps;
  s.turn_since = step::not_looked;
}

// A step that was made before must be the same again.
void machine::check_recorded(step& s, const operation& op) {
  if (!search_.is_new() && (s.what != op.what || (s.at != op.at && op.what != action::relax)))
    fail(failure_kind::divergence,
         "the program did something else when the same choices were made again", op.from);
  s.what = op.what;
  s.bytes = op.bytes;
  s.timed = op.timed;
  s.order = op.order;
  s.where = op.where;
  s.at = op.at;
  s.other = op.other;
  s.bitset = op.bitset;
  s.from = op.from;
  s.callers = op.callers;
  s.wrote = s.raised_sc = s.is_sc = false;
  s.before = s.after = 0;
  s.source = 0;
  s.stale = 0;
  s.result = 0;
  s.woken = 0;
  s.code = 0;
}

// ---- what is possible -------------------------------------------------------------------------

void machine::inherit_sleep(step& s) {
  if (search_.depth() == 0 || options_.every_order || options_.random) return;
  const step& before = search_.at(search_.depth() - 1);
  for (unsigned t = 0; t < threads_.count(); ++t)
    // (Whom the step has woken is before another operation now.)
    if (before.asleep[t] != 0 && t != before.thread && threads_[t].now == thread_state::announced &&
        threads_[t].announced_at < search_.depth() &&
        !dependence_.order_matters(static_cast<thread_index>(t), before)) {
      s.asleep[t] = before.asleep[t];
      for (const auto& [sleeper, touched] : before.sleepers)
        if (sleeper == t) s.sleepers.emplace_back(sleeper, touched);
    }
}

void machine::prepare(step& s) {
  s.messages = memory_.last_message();
  if (search_.depth() != 0) {
    const step& before = search_.at(search_.depth() - 1);
    s.previous = before.thread;
    const bool preempted = before.previous != max_threads && before.previous != before.thread &&
                           (before.enabled & ~before.dozing & bit(before.previous)) != 0;
    s.preemptions = static_cast<std::uint16_t>(before.preemptions + (preempted ? 1 : 0));
  }
  inherit_sleep(s);
  for (unsigned t = 0; t < threads_.count(); ++t) {
    const thread& who = threads_[t];
    if (who.now != thread_state::announced || who.spins || who.late) continue;
    choices all = one(only);
    if (may_block(who.next.what) || s.asleep[t] != 0)
      all = alternatives_.of(static_cast<thread_index>(t));
    if (all == 0) continue;
    s.enabled |= bit(t);
    if (all == one(without_cause) && who.next.what == action::expire) s.dozing |= bit(t);
    if (s.asleep[t] != 0) {
      if (!is_access(who.next.what) || who.next.what == action::store) continue;
      if (alternatives_.news_of(who.next, all, s.asleep[t] - 1) == 0) continue;
    }
    s.awake |= bit(t);
  }
}

void machine::settle(step& s) {
  choices all = alternatives_.of(s.thread);
  if (s.asleep[s.thread] != 0)
    all = alternatives_.news_of(threads_[s.thread].next, all, s.asleep[s.thread] - 1);
  if (all == 0) end_execution(outcome::redundant);
  s.settled = true;
  s.may_be_late = false;
  s.chosen = static_cast<choice>(std::countr_zero(all));
  s.rest = all & (all - 1);
  if (replay_.is_on()) {
    s.chosen = replay_.now().chosen;
    if (s.chosen == 0 && (all >> only & 1) != 0) s.chosen = only;
    s.rest = 0;
    if ((all >> s.chosen & 1) == 0)
      fail(failure_kind::divergence, "the schedule does not fit the program", s.from);
  } else if (options_.random) {
    if (s.rest != 0 && search_.random()() % 8 >= newest_of_8) {
      for (auto skip = search_.random()() % static_cast<unsigned>(std::popcount(all)); skip != 0;
           --skip)
        all &= all - 1;
      s.chosen = static_cast<choice>(std::countr_zero(all));
    }
    s.rest = 0;
  }
}

// ---- whose turn -------------------------------------------------------------------------------

bool machine::all_idle() const noexcept {
  for (unsigned t = 0; t < threads_.count(); ++t)
    if (threads_[t].now != thread_state::ended) return false;
  return true;
}

thread_index machine::pick() {
  // New and woken threads first run up to their next operation: that is no step.
  for (unsigned t = 0; t < threads_.count(); ++t)
    if (threads_[t].now == thread_state::ready) return static_cast<thread_index>(t);
  if (all_idle()) {
    note_late_awaits();
    end_execution(outcome::complete);
  }
  if (instrument::time_is_over != 0) out_of_time();
  if (search_.depth() >= options_.steps) {
    if (reads_for_good()) {
      if (alternatives_.somebody_goes_round_in_vain()) end_in_vain();
      stuck("a loop reads what nobody will change");
    }
    note_endless();
    end_execution(outcome::cut);
  }
  if (search_.is_known()) {
    const thread_index t = search_.now().thread;
    if (t >= threads_.count() || threads_[t].now != thread_state::announced)
      fail(failure_kind::divergence,
           "the program did something else when the same choices were made again");
    const step& s = search_.now();
    if (s.settled && s.chosen == sleeps_on && threads_[t].next.what == action::expire) stuck();
    return t;
  }
  step& s = search_.add();
  prepare(s);
  if ((s.awake & ~s.dozing) == 0) dependence_.note_blocked();
  if (s.enabled == s.dozing || replay_.is_next_forced()) sleep_on(s);
  choose_thread(s);
  return s.thread;
}

// Nobody can run but, perhaps, by waking without a cause. Then no thread does, at first: those that
// wait wait for good, or time passes. (The others are tried first always, and where only such
// threads are left, each of them. So every execution in which some sleep on is reached: the order
// in which the others come to it is what the search finds by itself.)
void machine::sleep_on(step& s) {
  if (s.dozing != 0 && replay_.is_on() && !replay_.is_over() && !replay_.is_next_forced()) return;
  const bool in_vain = s.enabled == s.dozing && alternatives_.somebody_goes_round_in_vain();
  if (!in_vain && force(s)) return;
  if (const thread_set could_wake = s.awake & s.dozing; could_wake != 0 && !replay_.is_on()) {
    if (options_.random && search_.random()() % 8 >= newest_of_8) return;
    s.thread = static_cast<thread_index>(std::countr_zero(could_wake));
    s.to_try = could_wake;
    s.settled = true;
    s.chosen = sleeps_on;
    s.rest = one(without_cause);
  }
  if (in_vain) end_in_vain();
  stuck();
}

void machine::end_in_vain() {
  note_late_awaits();  // without what follows from these, it may not be in vain
  end_execution(outcome::redundant);
}

void machine::take_replayed() {
  if (!replay_.advance()) end_execution(outcome::complete);
}

void machine::choose_thread(step& s) {
  if (replay_.is_on()) {
    take_replayed();
    s.thread = replay_.now().thread;
    if ((s.enabled & bit(s.thread)) == 0)
      fail(failure_kind::divergence, "the schedule does not fit the program");
    return;
  }
  if (options_.random) {
    // The enabled thread with the highest priority, which drops at the points of change.
    const thread_set others = s.forced ? bit(s.thread) : s.enabled & ~s.dozing;
    const bool one_wakes = others == 0 || (!s.forced && search_.random()() % 8 >= newest_of_8);
    const thread_set among = one_wakes ? s.enabled : others;
    const auto highest = [&] {
      unsigned best = max_threads;
      for (unsigned t = 0; t < threads_.count(); ++t)
        if ((among & bit(t)) != 0 &&
            (best == max_threads || threads_[t].priority > threads_[best].priority))
          best = t;
      return best;
    };
    for (unsigned i = 0; i < priority_changes_.size(); ++i)
      if (priority_changes_[i] == search_.depth()) threads_[highest()].priority = i;
    s.thread = static_cast<thread_index>(highest());
    s.to_try = bit(s.thread);
    return;
  }
  if (s.awake == 0) end_execution(outcome::redundant);
  thread_set first = s.forced ? bit(s.thread) : s.awake & ~s.dozing;
  if (first == 0) first = s.awake;
  const bool stay = s.previous != max_threads && (first & bit(s.previous)) != 0;
  s.thread = stay ? s.previous : static_cast<thread_index>(std::countr_zero(first));
  s.to_try = options_.every_order ? s.enabled : bit(s.thread);
  if (s.forced || (s.awake & ~s.dozing) == 0) s.to_try |= s.awake;
}

// At the limit of steps: whether one thread has only read for long, and no other could run. That is
// a loop without relax() or yield(), of which force() does not know.
bool machine::reads_for_good() {
  const std::uint32_t end = search_.depth();
  if (end < 2 * endless_reads) return false;
  const thread_index reader = search_.at(end - 1).thread;
  for (std::uint32_t i = end - endless_reads; i < end; ++i) {
    const step& s = search_.at(i);
    if ((s.enabled & ~s.dozing) != bit(reader) || s.wrote || !is_access(s.what)) return false;
    if (s.stale != 0) return false;  // what others have written becomes visible in the end
  }
  threads_[reader].spins = true;
  return true;
}

// Nothing can run: time passes, or a spinning thread spins on. Returns whether that is possible.
// The one for which that was done least often: who only looks now and then keeps nobody waiting.
bool machine::force(step& s) {
  unsigned least = max_threads;
  for (const bool spinners : {false, true})
    for (unsigned t = 0; t < threads_.count(); ++t) {
      const thread& who = threads_[t];
      if (who.now != thread_state::announced || who.spins) continue;
      const bool waits = who.next.what == action::await || who.next.what == action::take ||
                         who.next.what == action::expire;
      if (who.next.recognized) continue;
      if (spinners ? who.next.what != action::relax : !(waits && who.next.timed)) continue;
      if (least == max_threads || who.times_forced < threads_[least].times_forced) least = t;
    }
  if (least == max_threads) return false;
  thread& who = threads_[least];
  s.thread = static_cast<thread_index>(least);
  s.enabled = bit(least) | s.dozing;
  s.rest = (s.awake & s.dozing & bit(least)) != 0 ? one(without_cause) : 0;
  s.awake = bit(least) | (s.awake & s.dozing);
  s.asleep[least] = 0;
  s.settled = true;
  s.forced = true;
  s.chosen = who.next.what == action::relax ? impatient : time_out;
  for (unsigned other = 0; other < threads_.count(); ++other)
    search_.past_of(static_cast<thread_index>(least))
        .join(search_.past_of(static_cast<thread_index>(other)));
  return true;
}

// At the limit of steps: which loop has led there.
void machine::note_endless() {
  constexpr std::uint32_t looked_at = 200;
  if (verdict_.endless.at != nullptr) return;
  const std::uint32_t end = search_.depth();
  std::map<std::pair<place, thread_index>, unsigned> times;
  unsigned most = 0;
  for (std::uint32_t i = end - std::min(end, looked_at); i < end; ++i) {
    const step& s = search_.at(i);
    if (s.from == nullptr || ++times[{s.from, s.thread}] <= most) continue;
    most = times[{s.from, s.thread}];
    verdict_.endless = {s.from, s.callers, s.thread};
  }
}

bool machine::newest_is_awaited(const operation& op) const {
  const word now = memory_.get(memory_.at(op.where).order.back()).value;
  return op.satisfied(op.context, static_cast<std::uint64_t>(now));
}

// The execution has ended. Awaits that have read an old value could have come too late for it, and
// wait for good: where what is newest, of what did not follow from them, is another value.
void machine::note_late_awaits() {
  if (options_.every_order || options_.random || replay_.is_on()) return;
  for (std::uint32_t i = 0; i < search_.depth(); ++i) {
    const step& s = search_.at(i);
    if (s.what != action::await || s.chosen >= in_vain || s.may_be_late || s.timed) continue;
    const auto& order = memory_.at(s.where).order;
    const auto newest = std::find_if(order.rbegin(), order.rend(), [&](message_id m) {
      const std::uint32_t by = memory_.get(m).step;
      return by == 0 || !search_.at(by - 1).past.covers(s.thread, i + 1);
    });
    if (newest == order.rend() || memory_.get(*newest).value == s.before) continue;
    search_.also_late(i);
  }
}

void machine::stuck(const char* if_one_spins) {
  note_late_awaits();  // also where others have come too late in vain: without these they may not
  for (unsigned t = 0; t < threads_.count(); ++t)
    if (threads_[t].late && newest_is_awaited(threads_[t].next)) end_execution(outcome::redundant);
  bool spins = false;
  for (unsigned t = 0; t < threads_.count(); ++t) {
    const thread& who = threads_[t];
    spins |= !loops_may_stay_ &&
             (who.spins || (who.now == thread_state::announced && who.next.recognized));
  }
  if (threads_[0].now == thread_state::ended && !spins && !all_must_end_)
    end_execution(outcome::complete);
  if (spins) fail(failure_kind::livelock, if_one_spins);
  fail(failure_kind::deadlock, "every thread waits");
}

void machine::switch_to(thread_index next) {
  thread& to = threads_[next];
  if (to.now == thread_state::ready) to.now = thread_state::announced;
  threads_.run(next);
  if (to.fiber == nullptr) {
    to.fiber = instrument::create_fiber(&machine::fiber_main, this, to.stack_bytes);
    const auto stack = instrument::stack_of(to.fiber);
    to.stack_low = stack.low;
    to.stack_high = stack.high;
    clear_stack(next);
  }
  instrument::switch_to(to.fiber);
}

}  // namespace syncopate::explored
