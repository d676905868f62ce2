// deque_scenarios.h -- what holds of a work-stealing deque under every interleaving: each element
// is had once, by the owner or one thief, and what was done before it was pushed is seen.
#pragma once

#include "check.h"

namespace check {

struct element {
  int contents = 0;  // plain: written before the push, and by whoever has it
};
constexpr int most_elements = 4;

template <class Deque>
struct deque_user {
  Deque deque;
  element all[most_elements];

  void push(int i) {
    all[i].contents = 1;
    const bool pushed = deque.push(&all[i]);
    assert(pushed);
  }
  // Two that have the same, or one before its push is seen, are a race or a wrong number.
  int have(element* e) {
    if (e == nullptr) return 0;
    assert(e->contents == 1);
    e->contents = 2;
    return 1;
  }
  int take() { return have(deque.take()); }
  int steal() {
    return have(deque.steal([](const element*) { return true; }));
  }
};

// The last element: owner and thief both want it, and one of them gets it.
template <class Deque>
void last_element() {
  auto* const d = new deque_user<Deque>;
  int taken = 0, stolen = 0;
  auto thief = [&] { stolen = d->steal(); };
  auto owner = [&] {
    d->push(0);
    taken = d->take();
  };
  together(thief, owner);
  assert(taken + stolen == 1);
  delete d;
}

// Two elements, of which the owner takes both and a thief steals up to two.
template <class Deque>
void two_elements() {
  auto* const d = new deque_user<Deque>;
  int taken = 0, stolen = 0;
  auto thief = [&] {
    stolen = d->steal();
    stolen += d->steal();
  };
  auto owner = [&] {
    d->push(0);
    d->push(1);
    taken = d->take();
    taken += d->take();
  };
  together(thief, owner);
  assert(taken + stolen == 2);
  delete d;
}

// Two thieves beside the owner, for one element.
template <class Deque>
void two_thieves() {
  auto* const d = new deque_user<Deque>;
  int taken = 0, first_has = 0, second_has = 0;
  auto first = [&] { first_has = d->steal(); };
  auto second = [&] { second_has = d->steal(); };
  auto owner = [&] {
    d->push(0);
    taken = d->take();
  };
  together(first, second, owner);
  assert(taken + first_has + second_has == 1);
  delete d;
}

// A thief that was too slow for one element has the next: it does not go to sleep beside it.
template <class Deque>
void thieves_for_two() {
  auto* const d = new deque_user<Deque>;
  int first_has = 0, second_has = 0;
  d->push(0);
  d->push(1);
  auto first = [&] { first_has = d->steal(); };
  auto second = [&] { second_has = d->steal(); };
  together(first, second);
  assert(first_has == 1 && second_has == 1);
  delete d;
}

// Places are used again: the third element lies where the first one lay.
template <class Deque>
void places_used_again() {
  auto* const d = new deque_user<Deque>;
  int taken = 0, stolen = 0, pushed = 2;
  auto thief = [&] {
    stolen = d->steal();
    stolen += d->steal();
  };
  auto owner = [&] {
    d->push(0);
    d->push(1);
    d->all[2].contents = 1;
    if (d->deque.push(&d->all[2])) ++pushed;
    for (int i = 0; i < 3; ++i) taken += d->take();
  };
  together(thief, owner);
  assert(taken + stolen == pushed);
  delete d;
}

}  // namespace check
