// elided_condition_check.cpp -- the transaction-aware condition variable under every interleaving:
// no wake-up is lost, time-outs leave nothing behind, and a woken thread may destroy the variable.
#include <syncopate/elide/condition.h>
#include <syncopate/elide/elided_lock.h>
#include <syncopate/locks/futex_lock.h>

#include "check.h"

namespace {

namespace elide = syncopate::elide;

template <class Lock>
struct shared {
  Lock lock;
  elide::condition changed;
  int tickets = 0;
};

template <class Lock>
void take(shared<Lock>& s) {
  s.lock.lock();
  s.changed.wait(s.lock, [&s] { return s.tickets > 0; });
  --s.tickets;
  s.lock.unlock();
}

// Gives `tickets`, signaling inside the section or after it.
template <class Lock>
void give(shared<Lock>& s, int tickets, bool inside) {
  s.lock.lock();
  s.tickets += tickets;
  if (inside) s.changed.notify_all();
  s.lock.unlock();
  if (!inside) s.changed.notify_all();
}

template <class Lock, bool Inside>
void one_waiter() {
  auto* const s = new shared<Lock>;
  auto waiter = [s] { take(*s); };
  auto giver = [s] { give(*s, 1, Inside); };
  check::together(waiter, giver);
  assert(s->tickets == 0);
  delete s;
}

template <class Lock>
void two_waiters_notify_all() {
  auto* const s = new shared<Lock>;
  auto waiter = [s] { take(*s); };
  auto also = waiter;
  auto giver = [s] { give(*s, 2, true); };
  check::together(waiter, also, giver);
  assert(s->tickets == 0);
  delete s;
}

template <class Lock>
void two_waiters_two_signals() {
  auto* const s = new shared<Lock>;
  auto waiter = [s] { take(*s); };
  auto also = waiter;
  auto giver = [s] {
    for (int i = 0; i < 2; ++i) {
      s->lock.lock();
      ++s->tickets;
      s->changed.notify_one();
      s->lock.unlock();
    }
  };
  check::together(waiter, also, giver);
  assert(s->tickets == 0);
  delete s;
}

// The signaler frees the variable as soon as nobody has to be signaled any more, although the
// woken thread has not gone on yet: the destructor waits for it.
template <class Lock>
void destroyed_by_the_signaler() {
  struct two_parts {
    Lock lock;
    elide::condition* changed = new elide::condition;
    bool waits = false, ready = false;
  };
  auto* const s = new two_parts;
  auto waiter = [s] {
    s->lock.lock();
    s->waits = true;
    while (!s->ready) s->changed->wait(s->lock);
    s->lock.unlock();
  };
  auto signaler = [s] {
    s->lock.lock();
    const bool waits = s->waits;
    s->ready = true;
    s->changed->notify_all();
    s->lock.unlock();
    if (waits) delete s->changed;
  };
  check::together(waiter, signaler);
  delete s;
}

// The waiter frees it as soon as it was woken by a signal under the lock.
template <class Lock>
void destroyed_by_the_waiter() {
  auto* const s = new shared<Lock>;
  auto waiter = [s] {
    take(*s);
    s->lock.lock();  // the signaler still holds or releases the lock
    s->lock.unlock();
    delete s;
  };
  auto giver = [s] { give(*s, 1, true); };
  check::together(waiter, giver);
}

template <class Lock>
void timed_waiter() {
  auto* const s = new shared<Lock>;
  bool timed_out = false;
  auto waiter = [s, &timed_out] {
    s->lock.lock();
    while (s->tickets == 0 && !timed_out)
      timed_out = s->changed.wait_until(s->lock, syncopate::machine::after(1000)) ==
                  syncopate::cv_status::timed_out;
    if (s->tickets > 0) --s->tickets;
    s->lock.unlock();
  };
  auto giver = [s] { give(*s, 1, true); };
  check::together(waiter, giver);
  assert(s->tickets == 0 || timed_out);
  delete s;
}

using plain = syncopate::futex_lock;
using elided = elide::elided_lock<syncopate::futex_lock, elide::policies::htm_1>;
constexpr check::scenario scenarios[] = {
    {"one_waiter", one_waiter<plain, true>},
    {"one_waiter_signal_after", one_waiter<plain, false>},
    {"one_waiter_elided", one_waiter<elided, true>},
    {"two_waiters_notify_all", two_waiters_notify_all<plain>},
    {"two_waiters_two_signals", two_waiters_two_signals<plain>},
    {"destroyed_by_the_signaler", destroyed_by_the_signaler<plain>},
    {"destroyed_by_the_waiter", destroyed_by_the_waiter<plain>},
    {"timed_waiter", timed_waiter<plain>},
    {"timed_waiter_elided", timed_waiter<elided>},
};

}  // namespace

int main(int argc, char** argv) { return check::main(argc, argv, scenarios); }
