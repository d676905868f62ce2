// lock_scenarios.h -- what every lock must do under every interleaving.
//
// The data inside is plain: two sections that are not ordered by the lock are a race, whatever they
// read. A wake-up that is lost is a deadlock. The lock is on the heap: an access to it after its
// last user has freed it is found.
#pragma once

#include <syncopate/machine.h>

#include "check.h"

namespace check {

template <class Lock>
struct shared {
  Lock lock;
  int value = 0;  // guarded by lock
  int users = 0;  // guarded by lock; who has still to come
};

// What the text of a lock says of it while nobody uses it.
template <class Lock>
void check_at_rest([[maybe_unused]] Lock& lock) {
  if constexpr (requires { lock.check_at_rest(); }) lock.check_at_rest();
  else if constexpr (requires { lock.is_locked(); }) assert(!lock.is_locked());
}

template <class Lock>
void section(shared<Lock>& s) {
  s.lock.lock();
  ++s.value;
  s.lock.unlock();
}

// Two threads, two sections against one.
template <class Lock>
void two_threads() {
  auto* const s = new shared<Lock>;
  auto twice = [s] { section(*s), section(*s); };
  auto once = [s] { section(*s); };
  together(twice, once);
  assert(s->value == 3);
  check_at_rest(s->lock);
  delete s;
}

// Three threads, one section each: a queue of two waiters.
template <class Lock>
void three_threads() {
  auto* const s = new shared<Lock>;
  auto a = [s] { section(*s); };
  auto b = a, c = a;
  together(a, b, c);
  assert(s->value == 3);
  check_at_rest(s->lock);
  delete s;
}

// try_lock beside lock: excludes, and never blocks.
template <class Lock>
void try_lock() {
  auto* const s = new shared<Lock>;
  bool got = false;
  auto trier = [s, &got] {
    if (!s->lock.try_lock()) return;
    got = true;
    ++s->value;
    s->lock.unlock();
  };
  auto locker = [s] { section(*s); };
  together(trier, locker);
  assert(s->value == (got ? 2 : 1));
  section(*s);  // the lock is still usable
  check_at_rest(s->lock);
  delete s;
}

// The same by threads that have had the lock before: nothing they left behind misleads a try.
template <class Lock>
void try_lock_again() {
  auto* const s = new shared<Lock>;
  bool got = false;
  auto trier = [s, &got] {
    section(*s);
    if (!s->lock.try_lock()) return;
    got = true;
    ++s->value;
    s->lock.unlock();
  };
  auto locker = [s] { section(*s), section(*s); };
  together(trier, locker);
  assert(s->value == (got ? 4 : 3));
  check_at_rest(s->lock);
  delete s;
}

// Whoever leaves last frees the lock, at once: unlock() must not touch it after the release.
template <class Lock>
void destroy_after_unlock() {
  auto* const s = new shared<Lock>;
  s->users = 2;
  auto leave = [s] {
    s->lock.lock();
    const bool last = --s->users == 0;
    s->lock.unlock();
    if (last) delete s;
  };
  auto other = leave;
  together(leave, other);
}

// A waiter with a deadline: holds the lock exactly when it is told so.
template <class Lock>
void timed() {
  auto* const s = new shared<Lock>;
  bool got = false;
  auto waiter = [s, &got] {
    got = s->lock.lock_until(syncopate::machine::after(1000));
    if (!got) return;
    ++s->value;
    s->lock.unlock();
  };
  auto locker = [s] { section(*s); };
  together(waiter, locker);
  assert(s->value == (got ? 2 : 1));
  section(*s);  // the lock is still usable
  check_at_rest(s->lock);
  delete s;
}

// Its invariants, as two who have it see them, one after the other.
template <class Lock>
void invariants() {
  auto* const lock = new Lock;
  auto looks = [lock] {
    lock->lock();
    lock->check_invariants();
    lock->unlock();
  };
  auto other = looks;
  together(looks, other);
  check_at_rest(*lock);
  delete lock;
}

// The same of one of three: two may wait behind the one that looks.
template <class Lock>
void invariants_with_a_queue() {
  auto* const lock = new Lock;
  auto looks = [lock] {
    lock->lock();
    lock->check_invariants();
    lock->unlock();
  };
  auto uses = [lock] {
    lock->lock();
    lock->unlock();
  };
  auto other = uses;
  together(looks, uses, other);
  check_at_rest(*lock);
  delete lock;
}

}  // namespace check
