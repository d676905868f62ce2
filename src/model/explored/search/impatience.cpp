// impatience.cpp -- loops that have given up waiting (waiting.cpp), and what they find.
//
// Such a loop goes on with what it has read: no step, until it does something else. But who counts
// its turns can tell in which of them the news came. So at each of its places it looks again, in a
// step that may find news,
//   * in its first turns, `looks` of them;
//   * where it may have begun anew, as an inner loop does whose count is back at its beginning:
//     what the thread keeps in registers and on its stack goes another way than from turn to turn
//     before. This, too, `looks` times.
// A turn that finds everything as it was in the turn before can tell nothing: what it could read,
// the turn before could have read later.
#include "model/explored/run/machine.h"

#include "model/front/compiler/entered.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace syncopate::explored {

namespace {

// In words of the size of most counters: two of these in one would go up together where the lower
// one begins anew.
std::vector<std::uint32_t> words_of(const std::array<std::uintptr_t, 6>& registers,
                                    std::span<const unsigned char> stack) {
  std::vector<std::uint32_t> words((sizeof registers + stack.size()) / sizeof(std::uint32_t));
  std::memcpy(words.data(), registers.data(), sizeof registers);
  std::memcpy(words.data() + sizeof registers / sizeof(std::uint32_t), stack.data(),
              words.size() * sizeof(std::uint32_t) - sizeof registers);
  return words;
}

}  // namespace

// Where the thread has read since it last polled, and where it has been in this turn.
std::vector<look> machine::places_of_turn(const std::vector<visit>& turn) {
  std::vector<look> all;
  for (std::uint32_t i = search_.depth(); i-- > 0;) {
    const step& s = search_.at(i);
    if (s.thread != threads_.current()) continue;
    if (s.what == action::relax) break;
    const bool reads = s.what == action::load || s.what == action::compare_exchange;
    const loop at{s.from, s.callers};
    const auto is_there = [&](const look& l) { return l.at == at; };
    if (!reads || std::ranges::any_of(all, is_there)) continue;
    const auto been = std::ranges::find(turn, at, &visit::of);
    look l{.at = at};
    if (been != turn.end()) {
      l.kept = words_of(been->registers, been->stack);
      l.writes = been->writes;
      l.turns = 1;
    }
    all.push_back(std::move(l));
  }
  return all;
}

// What the loop that has given up has read there, unless that is gone.
polled* machine::ignored_at(address at, unsigned bytes) {
  for (polled& p : me().ignores) {
    const location& l = memory_.at(p.where);
    if (l.at == at && l.bytes == bytes && !l.fresh)
      return memory_.get(p.seen).position < l.first_position ? nullptr : &p;
  }
  return nullptr;
}

// The place among those of the loop.
look* machine::look_at(place from) {
  auto& all = me().ignores_at;
  const auto is_of_loop = [&](const look& l) { return l.at.at == from; };
  if (std::ranges::none_of(all, is_of_loop)) return nullptr;
  const loop here{from, callers_of(from)};
  const auto found = std::ranges::find_if(all, [&](const look& l) { return l.at == here; });
  return found != all.end() ? &*found : nullptr;
}

// Another turn of the loop is there: how what the thread keeps has changed since the turn before.
look::change machine::note_turn(look& l) {
  if (!syncopate_entered.known) syncopate_entered.preserved = {};
  auto now = words_of(syncopate_entered.preserved, program_stack());
  std::vector<std::strong_ordering> went;
  if (now.size() == l.kept.size()) {
    went.reserve(now.size());
    for (std::size_t i = 0; i < now.size(); ++i) went.push_back(now[i] <=> l.kept[i]);
  }
  const std::uint32_t writes = std::exchange(l.writes, me().writes);
  const bool stays = l.turns != 0 && now == l.kept && writes == me().writes;
  const bool same_way = went == l.went;
  l.kept = std::move(now);
  l.went = std::move(went);
  if (++l.turns <= 2 || stays) return stays ? look::change::none : look::change::first;
  return same_way ? look::change::usual : look::change::other;
}

// Whether the loop, which has given up, looks for news there.
bool machine::looks_again(look& l) {
  thread& t = me();
  if (t.forced) return false;  // there can be none
  const look::change how = note_turn(l);
  if (how == look::change::none) return false;
  // (What it does later than that is not followed each time: relax().)
  const bool early = t.patience_lost < a_few;
  if (early && l.looks < options_.looks) return ++l.looks != 0;
  if (early && how == look::change::other && l.anew < options_.looks) return ++l.anew != 0;
  verdict_.withheld.looks = true;
  return false;
}

// The same. What the execution before has found behind the same steps holds: parts of a stack that
// the program does not use have what calls have left there, those of the machine, too.
bool machine::looks_as_before(look& l) {
  const bool found = looks_again(l);
  thread& t = me();
  const std::uint32_t last = search_.past_of(threads_.current()).at[threads_.current()];
  if (last == 0) return found;
  if (std::exchange(t.unlooked_behind, last) != last) t.unlooked = 0;
  step& s = search_.at(last - 1);
  if (t.unlooked < s.unlooked) {
    ++t.unlooked;
    return false;
  }
  s.looked |= found;
  if (!s.looked) s.unlooked = ++t.unlooked;
  return s.looked;
}

// Whether a loop that has given up reads there what it read before: no step. Who reads the same at
// another place may be behind the loop, and looks again.
bool machine::stays_impatient(address at, unsigned bytes, std::memory_order order, place from,
                              message_id& seen) {
  thread& t = me();
  if (t.patience_lost == 0) return false;
  const polled* const p = ignored_at(at, bytes);
  if (p == nullptr || ++t.ignored > longest_impatience) {
    regain_patience();
    return false;
  }
  look* const here = look_at(from);
  if (here == nullptr || looks_as_before(*here)) return false;
  syncopate_entered.known = false;
  const location& l = memory_.at(p->where);
  const std::uint32_t behind = memory_.get(p->seen).position - l.first_position;
  bool raised = false;
  seen =
      memory_.read(threads_.current(), p->where, static_cast<choice>(l.order.size() - 1 - behind),
                   order == std::memory_order_seq_cst ? std::memory_order_acquire : order, raised);
  t.note_poll(memory_, p->where, seen);
  return true;
}

// A loop that has given up has looked again, at one of its places or another one. It is still in
// the loop if what it finds is what it found there; the place is one of the loop's then.
void machine::note_look(const step& s, word value) {
  thread& t = me();
  if (t.patience_lost == 0) return;
  polled* const p = ignored_at(s.at, memory_.at(s.where).bytes);
  if (p == nullptr || memory_.get(p->seen).value != value) return regain_patience();
  // From now on it reads nothing older than this.
  const auto read = std::ranges::find(t.polls, s.where, &polled::where);
  if (read != t.polls.end()) p->seen = read->seen;
  const loop here{s.from, s.callers};
  if (std::ranges::none_of(t.ignores_at, [&](const look& l) { return l.at == here; }))
    t.ignores_at.push_back({.at = here});
}

}  // namespace syncopate::explored
