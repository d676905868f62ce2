// loops.h -- L0: polling loops that programs write by hand: recognizes them, so that they sleep as
// wait_until() does.
//
// A thread that reads the same word at the same place several times in a row, with the same result
// and with no other access to memory in between (relax() is none), polls; it would go on at the
// same pace until the word changes. But the loop may also count: while it sleeps, its counter
// stands still. So each place first polls honestly for a while; a place whose loop was seen to end
// although the word had not changed is never put to sleep; and when nothing else in the machine can
// happen any more, sleeping loops poll honestly once more.
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

  // A thread that sleeps in a loop may poll honestly once more. Returns: whether it had not yet.
  bool give_chance(thread&);

 private:
  static constexpr unsigned in_a_row = 3;
  // A bounded loop of usual length (spin, then park) ends within this many polls.
  static constexpr unsigned honest_polls = 2000;

  void repeated(thread& me, std::size_t bytes);
  void left(loop_state&);

  world& world_;
  std::unordered_map<engine::place, loop_place> places_;  // never iterated; entries stay
};

}  // namespace syncopate::simulated
