// deque_check.cpp -- the work-stealing deque under every interleaving.
#include <syncopate/deques/chase_lev_deque.h>

#include "deque_scenarios.h"

namespace {

using deque = syncopate::chase_lev_deque<check::element, 2>;

// The owner keeps what it pushed before a floor.
void floors() {
  auto* const d = new check::deque_user<deque>;
  int taken = 0;
  auto thief = [&] { (void)d->steal(); };
  auto owner = [&] {
    d->push(0);
    const deque::position floor = d->deque.end();
    d->push(1);
    taken = d->have(d->deque.take(floor));
    assert(d->deque.take(floor) == nullptr);
  };
  check::together(thief, owner);
  assert(taken == 1);  // a thief has the first one
  delete d;
}

// A thief leaves what it may not have; and what it may is the oldest when it gets it.
void choosy_thief() {
  auto* const d = new check::deque_user<deque>;
  int taken = 0, stolen = 0;
  auto thief = [&] {
    const auto is_second = [d](const check::element* e) { return e == &d->all[1]; };
    stolen = d->have(d->deque.steal(is_second));
    stolen += d->have(d->deque.steal(is_second));
  };
  auto owner = [&] {
    d->push(0);
    assert(d->take() == 1);  // the thief leaves it alone
    d->push(1);
    taken = d->take();
  };
  check::together(thief, owner);
  assert(taken + stolen == 1);
  delete d;
}

constexpr check::scenario scenarios[] = {
    {"last_element", check::last_element<deque>},
    {"two_elements", check::two_elements<deque>},
    {"two_thieves", check::two_thieves<deque>},
    {"places_used_again", check::places_used_again<deque>},
    {"floors", floors},
    {"choosy_thief", choosy_thief},
};

}  // namespace

int main(int argc, char** argv) { return check::main(argc, argv, scenarios); }
