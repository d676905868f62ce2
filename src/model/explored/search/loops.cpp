// loops.cpp -- loops that poll, recognized without the program's help.
//
// A thread that comes back to an atomic operation, by the same calls, with the same registers and
// the same stack, and has only read in between, would go round for ever with what it has read. It
// then waits for news of what the turn has read, as in relax() (waiting.cpp), but never gives up:
// there is nothing in it that could. Where the turn has not written anything either, the last turn
// is the only one that matters: what a later turn reads, the first could have read later
// (Kokologiannakis, Ren & Vafeiadis, "Dynamic partial order reductions for spinloops", FMCAD 2021).
// So nothing depends on how often a loop has read in vain, and none reads an old value for ever.
//
// A loop that counts, or pauses longer each time, is not recognized: each turn is explored.
//
// A loop of one jump (runaway.h) waits for news of nothing: for good.
#include "model/explored/run/machine.h"

#include "model/front/compiler/entered.h"
#include "model/front/program/layout.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace syncopate::explored {

namespace {
constexpr std::size_t most_visits = 8;  // operations that a turn begins with, remembered
constexpr std::size_t most_stack = std::size_t{1} << 16;
}  // namespace

// The program's part of the calling thread's stack; empty if it is not known.
std::span<const unsigned char> machine::program_stack() const {
  using namespace instrument::layout;
  if (stack_ != nullptr) return stack_();
  const thread& t = threads_[current_];
  if (t.stands == 0) return {};
  const address end =
      instrument::stack_of(t.fiber).high - (current_ == 0 ? before_main : before_thread);
  if (t.stands >= end || end - t.stands > most_stack) return {};
  return {reinterpret_cast<const unsigned char*>(t.stands), end - t.stands};
}

// Called before each operation that may be one of a polling loop.
void machine::note_visit(place from) {
  if (!std::exchange(syncopate_entered.known, false) || tx_.runs()) return;
  thread& t = me();
  const loop here{from, callers_of(from)};
  const auto stack = program_stack();
  if (stack.empty()) return;
  auto at =
      std::find_if(t.visits.begin(), t.visits.end(), [&](const visit& v) { return v.of == here; });
  if (at != t.visits.end() && at->registers == syncopate_entered.preserved &&
      std::equal(stack.begin(), stack.end(), at->stack.begin(), at->stack.end())) {
    if (!await_news(*at, from)) {
      at->reads = t.reads;
      return;
    }
    // What it has read since other visits is not what it would read again.
    visit again = std::move(*at);
    again.reads = t.reads;
    t.visits.clear();
    t.visits.push_back(std::move(again));
    return;
  }
  if (at == t.visits.end()) {
    if (t.visits.size() == most_visits) return;
    at = t.visits.insert(at, visit{});
    at->of = here;
  }
  at->registers = syncopate_entered.preserved;
  at->stack.assign(stack.begin(), stack.end());
  at->reads = t.reads;
}

// The turn since the visit has left nothing behind. Returns false if the next one would not be the
// same.
bool machine::await_news(const visit& since, place from) {
  thread& t = me();
  const auto in_turn = [&](const polled& p) { return p.read > since.reads; };
  const auto differs = [&](const polled& p) { return p.changed > since.reads; };
  if (std::none_of(t.polls.begin(), t.polls.end(), in_turn) ||
      std::any_of(t.polls.begin(), t.polls.end(), differs))
    return false;
  std::erase_if(t.polls, [&](const polled& p) { return !in_turn(p); });
  operation op;
  op.what = action::relax;
  op.from = from;
  op.recognized = true;
  op.count = t.rewrote ? 1 : 0;
  step& s = take_turn(op);
  take_news(s);
  return true;
}

void machine::loops_for_good(place where) {
  abort_unfriendly();
  me().polls.clear();
  operation op;
  op.what = action::relax;
  op.from = where;
  op.recognized = true;
  announce(op);
  __builtin_unreachable();
}

}  // namespace syncopate::explored
