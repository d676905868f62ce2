// loops.cpp -- loops that poll, recognized without the program's help.
//
// A thread that comes back to an atomic operation, by the same calls, with the same arguments,
// registers and stack, and has only read in between, or written what was there before, would go
// round for ever with what it has read. It
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
#include "model/front/program/unwritten.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace syncopate::explored {

namespace {
constexpr std::size_t most_visits = 16;  // remembered: a turn may look at so many words
constexpr std::size_t most_written = 32;
constexpr std::size_t most_stack = std::size_t{1} << 16;
}  // namespace

// Above is what the machine keeps there.
address machine::end_of_stack(thread_index t) const {
  using namespace instrument::layout;
  return instrument::stack_of(threads_[t].fiber).high - (t == 0 ? before_main : before_thread);
}

// The program's part of the calling thread's stack; empty if it is not known.
std::span<const unsigned char> machine::program_stack() const {
  if (stack_ != nullptr) return stack_();
  const thread& t = threads_[threads_.current()];
  if (t.stands == 0) return {};
  const address end = end_of_stack(threads_.current());
  if (t.stands >= end || end - t.stands > most_stack) return {};
  return {reinterpret_cast<const unsigned char*>(t.stands), end - t.stands};
}

// A new thread's stack is always the same, as far as a loop may be compared: what an execution
// before has left there would be taken for this one's. It begins with what nobody has written.
void machine::clear_stack(thread_index t) {
  using namespace instrument::unwritten;
  const thread& who = threads_[t];
  if (end_of_stack(t) - who.stack_low >= of_stack)
    fill(reinterpret_cast<void*>(end_of_stack(t) - of_stack), of_stack);
  if (who.deepest < who.stack_low || who.deepest >= who.stack_high) return;
  const address end = end_of_stack(t) - of_stack;
  if (who.deepest >= end) return;
  const std::size_t bytes = std::min<std::size_t>(end - who.deepest, most_stack);
  std::memset(reinterpret_cast<void*>(end - bytes), 0, bytes);
}

// Called before each operation that may be one of a polling loop.
void machine::note_visit(place from, const given_values& given) {
  if (!std::exchange(syncopate_entered.known, false) || tx_.runs()) return;
  thread& t = me();
  settle_written();
  const loop here{from, callers_of(from)};
  const auto stack = program_stack();
  if (stack.empty()) return;
  const auto at = std::find_if(t.visits.begin(), t.visits.end(), [&](const visit& v) {
    return v.of == here && v.given == given && v.registers == syncopate_entered.preserved &&
           std::equal(stack.begin(), stack.end(), v.stack.begin(), v.stack.end());
  });
  const std::uint32_t since = turn_since(at != t.visits.end() ? at->reads : step::no_turn);
  if (since != step::no_turn) await_news(since, from);
  if (at != t.visits.end()) {
    if (since == step::no_turn) {
      at->reads = t.reads;
      return;
    }
    std::rotate(t.visits.begin(), at, at + 1);
    t.visits.resize(1);
  } else {
    if (since != step::no_turn) t.visits.clear();
    if (t.visits.size() < most_visits) t.visits.emplace_back();
    else std::rotate(t.visits.begin(), t.visits.begin() + 1, t.visits.end());
  }
  visit& last = t.visits.back();
  last.of = here;
  last.given = given;
  last.registers = syncopate_entered.preserved;
  last.stack.assign(stack.begin(), stack.end());
  last.reads = t.reads;
  last.writes = t.writes;
}

// Whether this is another turn of the loop that was there before, when the thread had made so many
// reads, and the next one would be the same: then that number, else no_turn. What the execution
// before has found behind the same steps holds: parts of a stack that nothing has been written to
// yet may be the same as what will be, or not.
std::uint32_t machine::turn_since(std::uint32_t reads) {
  const thread& t = me();
  const auto in_turn = [&](const polled& p) { return p.read > reads; };
  const auto differs = [&](const polled& p) { return p.changed > reads; };
  if (reads != step::no_turn && (std::none_of(t.polls.begin(), t.polls.end(), in_turn) ||
                                 std::any_of(t.polls.begin(), t.polls.end(), differs)))
    reads = step::no_turn;
  const std::uint32_t last = search_.past_of(threads_.current()).at[threads_.current()];
  if (last == 0) return step::no_turn;
  std::uint32_t& known = search_.at(last - 1).turn_since;
  if (known == step::not_looked) known = reads;
  return known;
}

// A plain write is about to be made. Whether it changes anything is seen later. (What is mapped may
// be gone by then.)
void machine::note_written(address at, std::size_t bytes) {
  using instrument::layout::mappings;
  thread& t = me();
  if (t.visits.empty()) return;
  written w{at, bytes, {}};
  if (bytes > w.before.size() || t.written.size() == most_written || at - mappings < mappings) {
    forget_visits();
    return;
  }
  std::memcpy(w.before.data(), reinterpret_cast<const void*>(at), bytes);
  t.written.push_back(w);
  t.rewrote = true;
}

// Before another thread can do anything.
void machine::settle_written() {
  thread& t = me();
  const auto is_as_before = [](const written& w) {
    return std::memcmp(w.before.data(), reinterpret_cast<const void*>(w.at), w.bytes) == 0;
  };
  if (std::all_of(t.written.begin(), t.written.end(), is_as_before)) t.written.clear();
  else forget_visits();
}

// The turn since so many reads has left nothing behind.
void machine::await_news(std::uint32_t since, place from) {
  thread& t = me();
  std::erase_if(t.polls, [&](const polled& p) { return p.read <= since; });
  operation op;
  op.what = action::relax;
  op.from = from;
  op.recognized = true;
  op.count = t.rewrote ? 1 : 0;
  step& s = take_turn(op);
  take_news(s);
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

// Whether the thread's stack is what it was when this was asked last. The caller's registers are
// part of it: they are saved right below this function's frame.
[[gnu::noinline]] bool machine::stands_as_before() {
  __builtin_unwind_init();
  constexpr std::size_t saved = 5 * sizeof(address);
  const address low = reinterpret_cast<address>(__builtin_frame_address(0)) - saved;
  const address end = end_of_stack(threads_.current());
  if (me().fiber == nullptr || low >= end || end - low > most_stack) return false;
  const auto* const stack = reinterpret_cast<const unsigned char*>(low);
  const bool same = std::equal(stack, stack + (end - low), me().stood.begin(), me().stood.end());
  me().stood.assign(stack, stack + (end - low));
  return same;
}

// A thread that has made so many plain accesses since its last operation may go on for good, as a
// loop does that waits for a plain variable and counts its turns. The others come first: what one
// of them writes there is a race. It orders nothing, so that no order of it need be tried.
void machine::compute_on(place from) {
  constexpr std::uint32_t alone_for_good = 100, alone_behind_the_end = 4;
  operation op;
  op.what = action::compute;
  op.from = from;
  thread& t = me();
  step& s = take_turn(op);
  const bool is_alone = (s.enabled & ~s.dozing) == 1u << threads_.current();
  scheduler_.end_turn(s);
  t.alone = is_alone ? t.alone + 1 : 0;
  if (t.alone < (scheduler_.is_over() ? alone_behind_the_end : alone_for_good)) return;
  if (verdict_.endless.at == nullptr)
    verdict_.endless = {from, s.callers, threads_.current(), true};
  end_execution(outcome::cut);
}

}  // namespace syncopate::explored
