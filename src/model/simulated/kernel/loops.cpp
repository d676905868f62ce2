#include "loops.h"

#include "model/simulated/world.h"

namespace syncopate::simulated {

// The loop did something else although its word was as before.
void loops::left(loop_state& l) {
  places_[l.where].bounded = true;
  l.chance = 0;
}

void loops::repeated(thread& me, std::size_t bytes) {
  loop_state& l = me.loop;
  if (bytes > 8 || me.in_transaction) return;
  const std::uint64_t value = read_word(l.at, bytes);
  const bool nothing_between = me.accesses == l.accesses + 1;
  const cycles period = me.clock - l.last;
  l.accesses = me.accesses;
  l.last = me.clock;
  if (l.polls == 0 || !nothing_between || value != l.value) {
    if (!nothing_between && l.polls >= in_a_row) left(l);
    l.polls = 1;
    l.value = value;
    l.chance = 0;
    l.honest = 0;
    return;
  }
  if (++l.polls < in_a_row || period == 0) return;
  if (l.honest != 0) {
    --l.honest;
    return;
  }
  if (l.place == nullptr) l.place = &places_[l.where];
  if (l.polls >= honest_in_a_row) l.place->polls = honest_polls;
  if (l.place->bounded || ++l.place->polls < honest_polls) return;
  me.poll = {.at = l.at, .bytes = static_cast<unsigned>(bytes), .seen = value, .period = period};
  world_.watching.wait(me, l.where);
  l.last = me.clock;
  if (read_word(l.at, bytes) != value) l.polls = 0;  // it may end now, and has not counted
}

bool loops::may_have_chance() {
  std::uint64_t in_vain = 0;
  for (const thread& t : world_.schedule.threads())
    if (t.sleeps_in_loop()) in_vain += t.loop.chance;
  return in_vain < most_in_vain;
}

void loops::give_chance(thread& t) {
  loop_state& l = t.loop;
  l.chance = l.chance == 0 ? honest_in_a_row : 2 * l.chance;
  l.honest = l.chance;
}

}  // namespace syncopate::simulated
