// condition_check.cpp -- condition_variable under every interleaving: no signal is lost or taken by
// two, time-outs leave the list whole, and a woken thread may destroy the variable.
#include <syncopate/condition/condition_variable.h>
#include <syncopate/locks/futex_lock.h>

#include "check.h"

namespace {

struct shared {
  syncopate::futex_lock lock;
  syncopate::condition_variable changed;
  int tickets = 0;
};

void take(shared& s) {
  s.lock.lock();
  s.changed.wait(s.lock, [&s] { return s.tickets > 0; });
  --s.tickets;
  s.lock.unlock();
}
void give(shared& s) {
  s.lock.lock();
  ++s.tickets;
  s.lock.unlock();
  s.changed.notify_one();
}

void one_waiter() {
  auto* const s = new shared;
  auto waiter = [s] { take(*s); };
  auto giver = [s] { give(*s); };
  check::together(waiter, giver);
  assert(s->tickets == 0);
  s->changed.check_invariants();
  delete s;
}

void two_waiters_notify_all() {
  auto* const s = new shared;
  auto waiter = [s] { take(*s); };
  auto also = waiter;
  auto giver = [s] {
    s->lock.lock();
    s->tickets = 2;
    s->lock.unlock();
    s->changed.notify_all();
  };
  check::together(waiter, also, giver);
  assert(s->tickets == 0);
  s->changed.check_invariants();
  delete s;
}

void two_waiters_two_signals() {
  auto* const s = new shared;
  auto waiter = [s] { take(*s); };
  auto also = waiter;
  auto giver = [s] { give(*s), give(*s); };
  check::together(waiter, also, giver);
  assert(s->tickets == 0);
  s->changed.check_invariants();
  delete s;
}

// The waiter frees the variable as soon as it was woken by a signal under the lock.
void destroy_after_signal() {
  auto* const s = new shared;
  auto waiter = [s] {
    take(*s);
    // The signaler still holds or releases the lock: wait for it before the memory goes.
    s->lock.lock();
    s->lock.unlock();
    delete s;
  };
  auto giver = [s] {
    s->lock.lock();
    ++s->tickets;
    s->changed.notify_one();
    s->lock.unlock();
  };
  check::together(waiter, giver);
}

void timed_waiter() {
  auto* const s = new shared;
  bool timed_out = false;
  auto waiter = [s, &timed_out] {
    s->lock.lock();
    while (s->tickets == 0 && !timed_out)
      timed_out = s->changed.wait_until(s->lock, syncopate::machine::after(1000)) ==
                  syncopate::cv_status::timed_out;
    if (s->tickets > 0) --s->tickets;
    s->lock.unlock();
  };
  auto giver = [s] { give(*s); };
  check::together(waiter, giver);
  assert(s->tickets == 0 || timed_out);
  s->changed.check_invariants();
  delete s;
}

// A wait begins where the one before it has just ended, with its element in the same place: the
// signaler must have let go of that by then.
void timed_waits_again() {
  auto* const s = new shared;
  auto waiter = [s] {
    s->lock.lock();
    for (int i = 0; i < 2; ++i)
      (void)s->changed.wait_until(s->lock, syncopate::machine::after(1000));
    s->lock.unlock();
  };
  auto giver = [s] { s->changed.notify_all(); };
  check::together(waiter, giver);
  delete s;
}

// A signaler looks at the list beside a waiter that comes, and leaves it in time or not.
void invariants() {
  auto* const s = new shared;
  auto waiter = [s] {
    s->lock.lock();
    (void)s->changed.wait_until(s->lock, syncopate::machine::after(1000));
    s->lock.unlock();
  };
  auto giver = [s] {
    s->changed.check_invariants();
    s->changed.notify_all();
  };
  check::together(waiter, giver);
  s->changed.check_invariants();
  assert(s->changed.empty());
  delete s;
}

constexpr check::scenario scenarios[] = {
    {"one_waiter", one_waiter},
    {"two_waiters_notify_all", two_waiters_notify_all},
    {"two_waiters_two_signals", two_waiters_two_signals},
    {"destroy_after_signal", destroy_after_signal},
    {"timed_waiter", timed_waiter},
    {"timed_waits_again", timed_waits_again},
    {"invariants", invariants},
};

}  // namespace

int main(int argc, char** argv) { return check::main(argc, argv, scenarios); }
