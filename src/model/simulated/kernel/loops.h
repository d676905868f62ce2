// loops.h -- polling loops that programs write by hand: recognizes them, so that they sleep as
// wait_until() does.
//
// A thread that reads the same word at the same place several times in a row, with the same result
// and with no other access to memory in between (relax() is none), polls; it would go on at the
// same pace until the word changes. But the loop may also count: while it sleeps, its counter
// stands still. So each place first polls honestly for a while; a place whose loop was seen to end
// although the word had not changed is never put to sleep, nor is a loop that looks at a clock; and
// when nothing else in the machine can happen any more, sleeping loops poll honestly again, each
// time for twice as long, until it is clear that they wait in vain.
#pragma once

#include "thread.h"

#include <unordered_map>

namespace syncopate::simulated {

struct world;

class loops {
 public:
  explicit loops(world& w) : world_(w) {}

  // The thread is about to read the word and has its turn. If it polls, sleeps until there is
  // something to see; it then has its turn again.
  void before_read(thread& me, engine::address at, std::size_t bytes, engine::place where) {
    loop_state& l = me.loop;
    if (l.where != where || l.at != at) {
      if (l.polls >= in_a_row) [[unlikely]]
        left(l);
      l.where = where;
      l.at = at;
      l.polls = 0;
      l.place = nullptr;
      l.accesses = me.accesses;
      return;
    }
    repeated(me, bytes);
  }

  // The thread did what a loop that waits for its word alone does not: it asked for the time, or
  // slept. Where it was in a loop, that one may end by itself.
  void interrupted(thread& me) {
    if (me.loop.polls >= in_a_row) [[unlikely]]
      left(me.loop);
    me.loop.polls = 0;
  }

  // Nothing else can happen any more: threads that sleep in loops may poll honestly again, the next
  // time for twice as long. Returns: whether they may; not when they have done so in vain for long.
  bool may_have_chance();
  // Gives it to one of them.
  static void give_chance(thread&);

 private:
  static constexpr unsigned in_a_row = 3;
  // So often a place polls honestly: a thread in a row, all of them together. Nearly all loops that
  // count end before.
  static constexpr unsigned honest_in_a_row = 100'000, honest_polls = 1'000'000;
  // So often all sleeping loops poll, at least, before nothing but a deadlock is left: a second.
  static constexpr unsigned most_in_vain = 1u << 24;

  void repeated(thread& me, std::size_t bytes);
  void left(loop_state&);

  world& world_;
  std::unordered_map<engine::place, loop_place> places_;  // never iterated; entries stay
};

}  // namespace syncopate::simulated
