// waiting.cpp -- threads that wait: for a value, for a change of what they poll, asleep, for
// time to pass.
//
// relax() and yield(): a thread that has polled (loaded, or failed to change) locations since its
// last relax() waits until one of them has a newer message with another value, and then does not
// read the old one again: each turn of a spin loop reads something new, so loops are finite. Or the
// loop gives up waiting (`jumps` times in a thread): it reads the same again, at the same places,
// and time flies until it does something else, as loops with a count or a deadline do. A loop that
// never does is known to be endless from then on, and is not tried that way again. When nothing
// else can run, a waiting loop is made to give up; if it is endless, that is a livelock.
//
// With the option `turns`, a loop that has gone round so often without doing more than read waits
// until it may give up. Where its locations have news by then, the execution is one of those in
// which it began its turns later: given up as redundant. (Kokologiannakis, Ren & Vafeiadis,
// "Dynamic partial order reductions for spinloops", FMCAD 2021, where this is derived from the
// loop's code.)
#include "machine.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace syncopate::explored {

namespace {

constexpr std::uint64_t little = 20;  // nanoseconds between two looks at a clock
constexpr std::uint64_t much = 10'000'000'000;

constexpr choices one(choice c) noexcept { return choices{1} << c; }
constexpr thread_set bit(unsigned t) noexcept { return static_cast<thread_set>(1u << t); }

}  // namespace

// ---- polling ----------------------------------------------------------------------------------

// What the environment did to the thread: at will, or since nothing else could run.
void machine::count(const step& s, unsigned& at_will) {
  ++(s.forced ? me().times_forced : at_will);
}

void machine::relax(place from) {
  abort_unfriendly();
  thread& t = me();
  const auto turn = std::exchange(t.visits, {});
  forget_visits();
  auto& time = memory_.of(threads_.current()).time;
  time += little;
  if (t.patience_lost != 0) {
    t.ignored = 0;
    if (t.patience_lost <= a_few) time += std::uint64_t{1000} << std::min(t.patience_lost, 32u);
    if (++t.patience_lost <= a_few) return;
    if (!assumed_.is_endless(t.impatient_in)) {
      if (t.patience_lost <= longest_impatience) return;
      assumed_.add_endless(t.impatient_in);
    }
    t.spins = t.forced;  // until somebody changes something
    regain_patience();
  }
  if (t.polls.empty()) return;
  operation op;
  op.what = action::relax;
  op.from = from;
  step& s = take_turn(op);
  if (s.chosen == impatient) {
    t.forced = s.forced;
    count(s, t.jumps);
    t.patience_lost = 1;
    t.impatient_in = {from, s.callers};
    t.ignores = t.polls;
    t.ignores_at = places_of_turn(turn);
  }
  if (options_.turns > 0 && s.chosen != impatient) {
    const loop here{from, s.callers};
    const auto at = std::find_if(t.rounds_of.begin(), t.rounds_of.end(),
                                 [&](const auto& rounds) { return rounds.of == here; });
    if (at == t.rounds_of.end()) t.rounds_of.push_back({here, 1});
    else ++at->turns;
  }
  take_news(s);
}

void machine::take_news(step& s) {
  thread& t = me();
  if (s.chosen != impatient) {
    const polled p = t.polls[s.chosen];
    s.where = p.where;
    s.at = memory_.at(p.where).at;
    // The oldest message that is news makes this step possible, and is the least that the thread
    // reads from now on. (The next message would not do: two spinning exchanges could go on writing
    // the same value in front of the news forever.)
    const message& seen = memory_.get(p.seen);
    for (const message_id m : memory_.at(p.where).order) {
      const message& news = memory_.get(m);
      if (news.position <= seen.position || news.value == seen.value) continue;
      s.source = news.step;
      memory_.learn(threads_.current(), p.where, m);
      note_other_news(p, m);
      break;
    }
  }
  // A later write to a location that had no news yet would have been another choice, and one in
  // front of the news other news.
  for (const polled& p : t.polls) memory_.at(p.where).readings.push_back({search_.depth(), p.seen});
  scheduler_.end_turn(s);
  t.polls.clear();
}

// The step could have come before what has written its news, if there is other news that does not
// follow from that: what the thread does then need not follow from it either.
void machine::note_other_news(const polled& p, message_id taken) {
  const std::uint32_t by = memory_.get(taken).step;
  if (by == 0 || !search_.is_new()) return;
  const thread_index writer = search_.at(by - 1).thread;
  if (search_.past_of(threads_.current()).covers(writer, by)) return;
  const word known = memory_.get(p.seen).value;
  for (const message_id m : memory_.at(p.where).order) {
    const message& other = memory_.get(m);
    if (other.position <= memory_.get(taken).position || other.value == known || other.step == 0 ||
        search_.at(other.step - 1).past.covers(writer, by))
      continue;
    return search_.add_hidden(by - 1, other.step);
  }
}

// ---- waiting for a value ----------------------------------------------------------------------

operation machine::waiting_for(action what, address at, unsigned bytes, std::memory_order order,
                               engine::predicate satisfied, void* context, bool timed, place from) {
  operation op;
  op.what = what;
  op.at = at;
  op.bytes = static_cast<std::uint8_t>(bytes);
  op.order = order;
  op.from = from;
  op.timed = timed;
  op.satisfied = satisfied;
  op.context = context;
  op.where = lifetimes_.location_of(at, bytes, from);
  return op;
}

bool machine::await(address at, unsigned bytes, std::memory_order order,
                    engine::predicate satisfied, void* context, std::uint64_t until,
                    std::uint64_t& value, place from) {
  order = sites_.order(from, "await", order);
  if (tx_.runs()) {
    value = static_cast<std::uint64_t>(tx_.read(at, bytes, from));
    if (!satisfied(context, value)) abort_unfriendly();  // nobody else can change it
    return true;
  }
  if (sites_.of_program()) take_s_from_execution();
  act();
  const operation op =
      waiting_for(action::await, at, bytes, order, satisfied, context, until != 0, from);
  step& s = take_turn(op);
  const choice chosen = s.chosen;
  if (chosen == too_late) {
    scheduler_.end_turn(s);
    me().late = true;
    announce(op);
    __builtin_unreachable();
  }
  const bool expired = chosen == time_out || (op.timed && chosen >= in_vain);
  if (expired) {
    count(s, me().timeouts);
    auto& time = memory_.of(threads_.current()).time;
    time = std::max(time, until - start_of_time + 1);
    const choices all =
        memory_.readable(threads_.current(), s.where, order == std::memory_order_seq_cst);
    s.chosen = chosen == time_out ? static_cast<choice>(std::bit_width(all) - 1) : chosen - in_vain;
    value = static_cast<std::uint64_t>(finish_read(s, op, std::memory_order_relaxed));
    s.chosen = chosen;
    s.result = 1;
    s.is_sc |= order == std::memory_order_seq_cst;  // S has decided what it could read
  } else {
    value = static_cast<std::uint64_t>(finish_read(s, op, order));
  }
  scheduler_.end_turn(s);
  memory_.tick(threads_.current());
  return !expired;
}

// ---- sleeping ---------------------------------------------------------------------------------

std::uint64_t machine::deadline_ns(const syncopate::machine::deadline& d) const noexcept {
  const auto ns = static_cast<std::uint64_t>(d.at.tv_sec) * 1'000'000'000u +
                  static_cast<std::uint64_t>(d.at.tv_nsec);
  return ns - (d.clock == CLOCK_REALTIME ? start_of_calendar : start_of_time);
}

syncopate::machine::park_result machine::park(address at, std::uint32_t expected,
                                              const syncopate::machine::deadline* until,
                                              std::uint32_t bitset, place from) {
  using syncopate::machine::park_result;
  abort_unfriendly();
  thread& t = me();
  act();
  operation op;
  op.what = action::park;
  op.at = at;
  op.bytes = 4;
  op.from = from;
  op.expected = expected;
  op.bitset = bitset;
  op.where = lifetimes_.location_of(at, 4, from);
  {
    // The kernel compares with the newest value, also with what the front end wrote meanwhile.
    // That gives the thread no more than a relaxed load.
    step& s = take_turn(op);
    memory_.refresh(op.where);
    const choice chosen = std::exchange(s.chosen, 0);
    const word value = finish_read(s, op, std::memory_order_relaxed);
    s.chosen = chosen;
    const bool sleeps = value == expected;
    s.result = sleeps ? 0 : 1;
    scheduler_.end_turn(s);
    memory_.tick(threads_.current());
    if (!sleeps) return park_result::value_changed;
  }
  lie_down(at, bitset, until != nullptr);
  t.parked_word = op.where;
  return sleep(op, until);
}

void machine::lie_down(address at, std::uint32_t bitset, bool timed) {
  thread& t = me();
  t.parked = true;
  t.woken = false;
  t.parked_at = at;
  t.parked_timed = timed;
  t.parked_bitset = bitset;
  t.parked_order = ++meetings_.parks;
  t.parked_word = memory::none;
}

// Until the thread, which has lain down, is woken, or its time is over, or without a cause.
syncopate::machine::park_result machine::sleep(operation op,
                                               const syncopate::machine::deadline* until) {
  using syncopate::machine::park_result;
  thread& t = me();
  op.what = action::expire;
  op.timed = until != nullptr;
  op.where = memory::none;
  if (!t.woken) announce(op);
  t.parked = false;
  if (t.woken) {
    search_.past_of(threads_.current()).join(search_.at(t.woken_by - 1).past);
    return park_result::woken;
  }
  step& s = scheduler_.turn();
  const bool expired = s.chosen == time_out;
  if (expired) {
    count(s, me().timeouts);
    auto& time = memory_.of(threads_.current()).time;
    // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): only timed operations time out
    time = std::max(time, deadline_ns(*until) + 1);
    t.expired = true;
  } else {
    ++t.spurious;
  }
  s.result = expired ? 1 : 0;
  scheduler_.end_turn(s);
  return expired ? park_result::timed_out : park_result::woken;
}

void machine::unpark(thread_index t) {
  thread& w = threads_[t];
  const bool sleeps = w.next.what == action::expire;
  // Could it have woken by itself instead?
  const bool could = sleeps || w.parked_timed || w.spurious < options_.spurious;
  if (search_.is_new() && (search_.now().awake & bit(t)) != 0 && could) search_.also_try(t);
  w.woken = true;
  w.woken_by = search_.depth() + 1;
  // No synchronization in the sense of the language; but on every machine the sleeper then sees at
  // least what its waker has seen of the word.
  if (w.parked_word != memory::none) {
    const auto& newest = memory_.of(threads_.current()).newest;
    if (w.parked_word < newest.size() && newest[w.parked_word] != 0)
      memory_.learn(t, w.parked_word, newest[w.parked_word]);
  }
  auto& time = memory_.of(t).time;
  time = std::max(time, memory_.of(threads_.current()).time);
  if (!sleeps) return;
  w.now = thread_state::ready;
  w.next = {};
}

// The search takes parks with disjoint bitsets for independent (futex_order_matters). That is wrong
// once an operation chooses among such sleepers by who slept first: then the search begins anew.
void machine::note_disjoint_waiters(address at, std::uint32_t bitset, thread_set chosen) {
  if (assumed_.are_parks_ordered()) return;
  const choices left = alternatives_.waiters(at, bitset);
  for (unsigned c = 0; c < threads_.count(); ++c)
    for (unsigned t = 0; (chosen >> c & 1) != 0 && t < threads_.count(); ++t)
      if (t != c && (left >> t & 1) != 0 &&
          (threads_[c].parked_bitset & threads_[t].parked_bitset) == 0)
        assumed_.order_parks();
}

int machine::wake(address at, int count, std::uint32_t bitset, place from) {
  abort_unfriendly();
  act();
  operation op;
  op.what = action::wake;
  op.at = at;
  op.from = from;
  op.count = count;
  op.bitset = bitset;
  step& s = take_turn(op);
  thread_set woken = 0;
  while (std::popcount(woken) < count) {
    const choices all = alternatives_.waiters(at, bitset);
    if (all == one(only)) break;
    auto best = static_cast<thread_index>(std::countr_zero(all));
    if (s.chosen != only && (all >> s.chosen & 1) != 0) best = static_cast<thread_index>(s.chosen);
    else
      for (unsigned t = 0; t < threads_.count(); ++t)
        if ((all >> t & 1) != 0 && threads_[t].parked_order < threads_[best].parked_order)
          best = static_cast<thread_index>(t);
    unpark(best);
    woken |= bit(best);
    s.woken |= threads_[best].parked_bitset;
  }
  note_disjoint_waiters(at, bitset, woken);
  s.result = std::popcount(woken);
  scheduler_.end_turn(s);
  return std::popcount(woken);
}

int machine::requeue(address from, address to, int count, int limit, place where) {
  abort_unfriendly();
  act();
  operation op;
  op.what = action::requeue;
  op.at = from;
  op.other = to;
  op.from = where;
  step& s = take_turn(op);
  thread_set woken = 0;
  thread_set moved = 0;
  for (;;) {
    thread* first = nullptr;
    unsigned index = 0;
    for (unsigned t = 0; t < threads_.count(); ++t) {
      thread& w = threads_[t];
      if (!w.parked || w.woken || w.parked_at != from || (moved & bit(t)) != 0) continue;
      if (first == nullptr || w.parked_order < first->parked_order) first = &w, index = t;
    }
    if (first == nullptr) break;
    if (std::popcount(woken) < count) {
      unpark(static_cast<thread_index>(index));
      woken |= bit(index);
    } else if (std::popcount(moved) < limit) {
      first->parked_at = to;
      if (first->next.what == action::expire) first->next.at = to;
      if (from != to) first->parked_order = ++meetings_.parks;  // else it stays where it is
      moved |= bit(index);
    } else {
      break;
    }
  }
  s.result = std::popcount(woken) + std::popcount(moved);
  note_disjoint_waiters(from, ~0u, woken | moved);
  note_disjoint_waiters(to, ~0u, woken);
  scheduler_.end_turn(s);
  return static_cast<int>(s.result);
}

// ---- time -------------------------------------------------------------------------------------

void machine::sleep_until(const syncopate::machine::deadline& until, place from) {
  abort_unfriendly();
  auto& time = memory_.of(threads_.current()).time;
  time = std::max(time, deadline_ns(until));
  relax(from);
}

// Looking at a clock: whether much time has passed since the last look is a choice.
bool machine::much_time_passes() {
  return !tx_.runs() && me().patience_lost == 0 && scheduler_.choose_time();
}

std::uint64_t machine::ticks() {
  forget_visits();
  auto& time = memory_.of(threads_.current()).time;
  time += little;
  if (much_time_passes()) time += much;
  return start_of_time + time;
}

std::uint64_t machine::nanoseconds(int clock) {
  const std::uint64_t time = ticks() - start_of_time;
  return time + (clock == CLOCK_REALTIME ? start_of_calendar : start_of_time);
}

}  // namespace syncopate::explored
