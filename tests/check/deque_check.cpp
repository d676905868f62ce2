// deque_check.cpp -- the work-stealing deque, and a crew of workers with one each, under every
// interleaving.
#include <syncopate/deques/chase_lev_deque.h>
#include <syncopate/deques/stealing_crew.h>
#include <syncopate/machine.h>

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

// A crew of two: whoever leaves an episode sees all its work done, each piece once, also what
// another piece has made.
struct piece {
  int runs = 0;           // plain: two that run it, or that look too early, are a race
  piece* then = nullptr;  // what it makes
};
using crew = syncopate::stealing_crew<piece, 2>;

struct crew_user {
  explicit crew_user(std::uint32_t workers) : all(workers) {}
  crew all;
  piece pieces[3];

  void offer(std::uint32_t me, piece& p) {
    all.make(me);
    const bool pushed = all.push(me, &p);
    assert(pushed);
  }
  void run(std::uint32_t me, piece& p) {
    ++p.runs;
    if (p.then != nullptr) offer(me, *p.then);
    all.finish(me);
  }
  // A worker's turns in an episode, some at most: a waiting worker's are the same again. Whether it
  // has ended with them.
  bool finish(std::uint32_t me, int turns) {
    const std::uint64_t episode = all.arrive();
    for (int turn = 0; turn < turns; ++turn) {
      if (all.is_over(episode)) return true;
      if (piece* const p = all.take(me, 0, [](const piece*) { return true; })) run(me, *p);
      else if (all.end_if_done(episode)) return true;
    }
    return all.is_over(episode);
  }
};

void crew_of_two() {
  auto* const u = new crew_user(2);
  auto other = [u] {
    if (u->finish(1, 2)) assert(u->pieces[0].runs == 1);
  };
  auto maker = [u] {
    u->offer(0, u->pieces[0]);
    if (u->finish(0, 1)) assert(u->pieces[0].runs == 1);
  };
  check::together(other, maker);
  delete u;
}

// One piece makes another, wherever it runs.
void crew_whose_work_makes_work() {
  auto* const u = new crew_user(2);
  u->pieces[0].then = &u->pieces[1];
  auto other = [u] {
    if (u->finish(1, 1)) assert(u->pieces[0].runs == 1 && u->pieces[1].runs == 1);
  };
  auto maker = [u] {
    u->offer(0, u->pieces[0]);
    if (u->finish(0, 1)) assert(u->pieces[0].runs == 1 && u->pieces[1].runs == 1);
  };
  check::together(other, maker);
  delete u;
}

// A piece is made and kept back: the episode does not end without it.
void crew_keeps_back() {
  auto* const u = new crew_user(2);
  auto other = [u] {
    const bool over = u->finish(1, 1);
    assert(!over);
  };
  auto maker = [u] {
    u->all.make(0);
    (void)u->all.arrive();
  };
  check::together(other, maker);
  delete u;
}

// A thread that is no worker ends what one has made.
void crew_and_a_stranger() {
  auto* const u = new crew_user(1);
  u->all.make(0);
  auto stranger = [u] {
    ++u->pieces[0].runs;
    u->all.finish_elsewhere();
  };
  auto worker = [u] {
    if (u->finish(0, 1)) assert(u->pieces[0].runs == 1);
  };
  check::together(stranger, worker);
  delete u;
}

constexpr check::scenario scenarios[] = {
    {"last_element", check::last_element<deque>},
    {"two_elements", check::two_elements<deque>},
    {"two_thieves", check::two_thieves<deque>},
    {"thieves_for_two", check::thieves_for_two<deque>},
    {"places_used_again", check::places_used_again<deque>},
    {"floors", floors},
    {"choosy_thief", choosy_thief},
    {"crew_of_two", crew_of_two},
    {"crew_whose_work_makes_work", crew_whose_work_makes_work},
    {"crew_keeps_back", crew_keeps_back},
    {"crew_and_a_stranger", crew_and_a_stranger},
};

}  // namespace

int main(int argc, char** argv) { return check::main(argc, argv, scenarios); }
