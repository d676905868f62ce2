// scheduler.cpp -- see scheduler.h.
#include "scheduler.h"

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

void scheduler::begin() {
  in_step_ = false;
  replay_.restart();
  if (!options_.random) return;
  priority_changes_.clear();
  const std::uint64_t length = std::max<std::uint64_t>(verdict_.longest, 20);
  for (unsigned i = 1; i < options_.depth; ++i)
    priority_changes_.push_back(static_cast<std::uint32_t>(search_.random()() % length));
}

std::uint32_t scheduler::new_priority() {
  return options_.depth + static_cast<std::uint32_t>(search_.random()() >> 40);
}

// The calling thread's step begins.
step& scheduler::turn() {
  step& s = search_.now();
  check_recorded(s, threads_.running().next);
  if (!s.settled) settle(s);
  in_step_ = true;
  dependence_.begin_step();
  memory_.begin_step(search_.depth());
  return s;
}

void scheduler::end_turn(step& s) {
  const bool is_new = search_.is_new();
  dependence_.end_step(s);
  in_step_ = false;
  if (!is_new) return;
  ++verdict_.steps;
  s.turn_since = step::not_looked;
  s.unlooked = 0;
  s.looked = false;
}

// A step that was made before must be the same again.
void scheduler::check_recorded(step& s, const operation& op) {
  if (!search_.is_new() && (s.what != op.what || (s.at != op.at && op.what != action::relax)))
    ends_.fail(failure_kind::divergence,
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

void scheduler::inherit_sleep(step& s) {
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

void scheduler::prepare(step& s) {
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
    if (who.now == thread_state::announced && !who.spins && !who.late) enable(s, t);
  }
}

// If it can make a step.
void scheduler::enable(step& s, unsigned t) {
  const operation& next = threads_[t].next;
  choices all = one(only);
  if (may_block(next.what) || s.asleep[t] != 0)
    all = alternatives_.of(static_cast<thread_index>(t));
  if (all == 0) return;
  s.enabled |= bit(t);
  if (all == one(without_cause) && next.what == action::expire) s.dozing |= bit(t);
  if (s.asleep[t] != 0) {
    if (!is_access(next.what) || next.what == action::store) return;
    if (alternatives_.news_of(next, all, s.asleep[t] - 1) == 0) return;
  }
  s.awake |= bit(t);
}

void scheduler::settle(step& s) {
  choices all = alternatives_.of(s.thread);
  if (s.asleep[s.thread] != 0)
    all = alternatives_.news_of(threads_[s.thread].next, all, s.asleep[s.thread] - 1);
  if (all == 0) ends_.end_execution(outcome::redundant);
  s.settled = true;
  s.may_be_late = false;
  s.chosen = static_cast<choice>(std::countr_zero(all));
  s.rest = all & (all - 1);
  if (replay_.is_on()) {
    s.chosen = replay_.now().chosen;
    if (s.chosen == 0 && (all >> only & 1) != 0) s.chosen = only;
    s.rest = 0;
    if ((all >> s.chosen & 1) == 0)
      ends_.fail(failure_kind::divergence, "the schedule does not fit the program", s.from);
  } else if (options_.random) {
    settle_at_random(s, all);
  }
}

void scheduler::settle_at_random(step& s, choices all) {
  if (s.rest != 0 && search_.random()() % 8 >= newest_of_8) {
    for (auto skip = search_.random()() % static_cast<unsigned>(std::popcount(all)); skip != 0;
         --skip)
      all &= all - 1;
    s.chosen = static_cast<choice>(std::countr_zero(all));
  }
  s.rest = 0;
}

// ---- whose turn -------------------------------------------------------------------------------

bool scheduler::all_idle() const noexcept {
  for (unsigned t = 0; t < threads_.count(); ++t)
    if (threads_[t].now != thread_state::ended) return false;
  return true;
}

thread_index scheduler::pick() {
  // New and woken threads first run up to their next operation: that is no step.
  for (unsigned t = 0; t < threads_.count(); ++t)
    if (threads_[t].now == thread_state::ready) return static_cast<thread_index>(t);
  if (all_idle()) {
    note_late_awaits();
    ends_.end_execution(outcome::complete);
  }
  check_limit();
  if (search_.is_known()) return recorded();
  step& s = search_.add();
  prepare(s);
  if ((s.awake & ~s.dozing) == 0) dependence_.note_blocked();
  if (s.enabled == s.dozing || replay_.is_next_forced()) sleep_on(s);
  choose_thread(s);
  return s.thread;
}

void scheduler::check_limit() {
  if (instrument::time_is_over != 0) {
    verdict_.bound = "time";
    ends_.end_execution(outcome::cut);
  }
  if (search_.depth() < options_.steps) return;
  if (reads_for_good()) {
    if (alternatives_.somebody_goes_round_in_vain()) end_in_vain();
    stuck("a loop reads what nobody will change");
  }
  note_endless();
  ends_.end_execution(outcome::cut);
}

// The thread that the search has for this step.
thread_index scheduler::recorded() {
  const step& s = search_.now();
  const thread_index t = s.thread;
  if (t >= threads_.count() || threads_[t].now != thread_state::announced)
    ends_.fail(failure_kind::divergence,
               "the program did something else when the same choices were made again");
  if (s.settled && s.chosen == sleeps_on && threads_[t].next.what == action::expire) stuck();
  return t;
}

// Nobody can run but, perhaps, by waking without a cause. Then no thread does, at first: those that
// wait wait for good, or time passes. (The others are tried first always, and where only such
// threads are left, each of them. So every execution in which some sleep on is reached: the order
// in which the others come to it is what the search finds by itself.)
void scheduler::sleep_on(step& s) {
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

void scheduler::end_in_vain() {
  note_late_awaits();  // without what follows from these, it may not be in vain
  ends_.end_execution(outcome::redundant);
}

void scheduler::take_replayed() {
  if (!replay_.advance()) ends_.end_execution(outcome::complete);
}

// Of these, those that have not computed for long, if there are any.
thread_set scheduler::before_who_computes(thread_set all) const {
  thread_set first = all;
  for (unsigned t = 0; t < threads_.count(); ++t)
    if (threads_[t].next.what == action::compute) first &= ~bit(t);
  return first != 0 ? first : all;
}

void scheduler::choose_thread(step& s) {
  if (replay_.is_on()) {
    take_replayed();
    s.thread = replay_.now().thread;
    if ((s.enabled & bit(s.thread)) == 0)
      ends_.fail(failure_kind::divergence, "the schedule does not fit the program");
    return;
  }
  if (options_.random) return choose_at_random(s);
  if (s.awake == 0) ends_.end_execution(outcome::redundant);
  thread_set first = s.forced ? bit(s.thread) : s.awake & ~s.dozing;
  if (first == 0) first = s.awake;
  first = before_who_computes(first);
  const bool stay = s.previous != max_threads && (first & bit(s.previous)) != 0;
  s.thread = stay ? s.previous : static_cast<thread_index>(std::countr_zero(first));
  s.to_try = options_.every_order ? s.enabled : bit(s.thread);
  if (s.forced || (s.awake & ~s.dozing) == 0) s.to_try |= s.awake;
}

// The enabled thread with the highest priority, which drops at the points of change.
void scheduler::choose_at_random(step& s) {
  const thread_set others = s.forced ? bit(s.thread) : before_who_computes(s.enabled & ~s.dozing);
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
}

// At the limit of steps: whether one thread has only read for long, and no other could run. That is
// a loop without relax() or yield(), of which force() does not know.
bool scheduler::reads_for_good() {
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

// The thread that waits for its time to be over, or else spins, for which that was done least
// often: who only looks now and then keeps nobody waiting.
unsigned scheduler::least_forced() const {
  unsigned least = max_threads;
  for (const bool spinners : {false, true})
    for (unsigned t = 0; t < threads_.count(); ++t) {
      const thread& who = threads_[t];
      if (who.now != thread_state::announced || who.spins || who.next.recognized) continue;
      const bool waits = who.next.what == action::await || who.next.what == action::take ||
                         who.next.what == action::expire;
      if (spinners ? who.next.what != action::relax : !(waits && who.next.timed)) continue;
      if (least == max_threads || who.times_forced < threads_[least].times_forced) least = t;
    }
  return least;
}

// Nothing can run: time passes, or a spinning thread spins on. Returns whether that is possible.
bool scheduler::force(step& s) {
  const unsigned least = least_forced();
  if (least == max_threads) return false;
  const thread& who = threads_[least];
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
void scheduler::note_endless() {
  constexpr std::uint32_t looked_at = 200;
  if (verdict_.endless.at != nullptr) return;
  const std::uint32_t end = search_.depth();
  std::map<std::pair<place, thread_index>, unsigned> times;
  unsigned most = 0;
  for (std::uint32_t i = end - std::min(end, looked_at); i < end; ++i) {
    const step& s = search_.at(i);
    if (s.from == nullptr || ++times[{s.from, s.thread}] <= most) continue;
    most = times[{s.from, s.thread}];
    verdict_.endless = {s.from, s.callers, s.thread, false};
  }
}

bool scheduler::is_over() const noexcept {
  bool over = threads_[0].now == thread_state::ended;
  for (unsigned t = 0; t < threads_.count(); ++t) over |= threads_[t].exits;
  return over;
}

bool scheduler::newest_is_awaited(const operation& op) const {
  const word now = memory_.get(memory_.at(op.where).order.back()).value;
  return op.satisfied(op.context, static_cast<std::uint64_t>(now));
}

// The execution has ended. Awaits that have read an old value could have come too late for it, and
// wait for good: where what is newest, of what did not follow from them, is another value.
void scheduler::note_late_awaits() {
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

void scheduler::stuck(const char* if_one_spins) {
  note_late_awaits();  // also where others have come too late in vain: without these they may not
  for (unsigned t = 0; t < threads_.count(); ++t)
    if (threads_[t].late && newest_is_awaited(threads_[t].next))
      ends_.end_execution(outcome::redundant);
  bool spins = false;
  for (unsigned t = 0; t < threads_.count(); ++t) {
    const thread& who = threads_[t];
    spins |= !loops_may_stay_ &&
             (who.spins || (who.now == thread_state::announced && who.next.recognized));
  }
  if (is_over() && !spins && !all_must_end_) ends_.end_execution(outcome::complete);
  if (spins) ends_.fail(failure_kind::livelock, if_one_spins);
  ends_.fail(failure_kind::deadlock, "every thread waits");
}

// ---- time -------------------------------------------------------------------------------------

bool scheduler::choose_time() {
  thread& t = threads_.running();
  if (t.jumps >= options_.jumps) {
    verdict_.withheld.jumps = true;
    return false;
  }
  const bool known = search_.is_known();
  if (!known && search_.depth() >= options_.steps) ends_.end_execution(outcome::cut);
  step& s = known ? search_.now() : search_.add();
  if (!known) prepare_time(s);
  in_step_ = true;
  dependence_.begin_step();
  const bool jumps = s.chosen == impatient;
  if (jumps) ++t.jumps;
  end_turn(s);
  return jumps;
}

// Transparent for preemptions: as the thread's step before it.
void scheduler::prepare_time(step& s) {
  s.messages = memory_.last_message();
  inherit_sleep(s);
  if (search_.depth() != 0) {
    const step& before = search_.at(search_.depth() - 1);
    s.previous = before.previous;
    s.preemptions = before.preemptions;
    s.enabled = before.enabled;
    s.dozing = before.dozing;
  }
  s.local = s.settled = true;
  s.thread = threads_.current();
  s.awake = s.to_try = bit(threads_.current());
  s.enabled |= bit(threads_.current());
  s.what = action::time;
  s.chosen = 0;
  if (replay_.is_on()) {
    take_replayed();
    s.chosen = replay_.now().chosen;
  } else if (options_.random) {
    s.chosen = search_.random()() % 16 == 0 ? impatient : 0;
  } else {
    s.rest = one(impatient);
  }
}

}  // namespace syncopate::explored
