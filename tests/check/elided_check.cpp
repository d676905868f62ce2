// elided_check.cpp -- elision under every interleaving and every abort, beyond what lock_check.cpp
// asks of the elided locks of the list: subscription to each kind of lock word, the switch, what a
// thread may do with a lock that it has elided, reader-writer locks, and learning.
#include <syncopate/elide/elided_rwlock.h>
#include <syncopate/locks/all.h>

#include "lock_scenarios.h"

namespace {

using namespace syncopate;
using elide::elided_lock;
using spinning = tatas_lock<waits::spin>;

// Two threads; the lock inside is taken for real by one of them, so that the other's transaction
// has to notice by what is_locked() reads.
template <class Lock>
void beside_the_real_lock() {
  struct shared {
    elided_lock<Lock, elide::policies::htm_1> lock;
    int left = 0, right = 0;
  };
  auto* const s = new shared;
  auto elider = [s] {
    s->lock.lock();
    assert(s->left == s->right);
    ++s->left;
    ++s->right;
    s->lock.unlock();
  };
  auto holder = [s] {
    s->lock.underlying().lock();
    assert(s->left == s->right);
    ++s->left;
    ++s->right;
    s->lock.underlying().unlock();
  };
  check::together(elider, holder);
  assert(s->left == 2 && s->right == 2);
  delete s;
}

// Elision is turned off while a section runs: after set_mode(), none commits.
void switched_off() {
  auto* const s = new check::shared<elided_lock<spinning>>;
  elide::set_mode(elide::mode::always);
  auto one = [s] { section(*s); };
  auto other = [s] {
    elide::set_mode(elide::mode::off);
    s->lock.lock();
    assert(!elide::section::active());
    ++s->value;
    s->lock.unlock();
  };
  check::together(one, other);
  assert(s->value == 2);
  delete s;
}

// try_lock() by the thread that has elided the lock says no, as without elision.
void try_what_is_elided() {
  auto* const s = new check::shared<elided_lock<spinning>>;
  auto twice = [s] {
    s->lock.lock();
    assert(!s->lock.try_lock());
    ++s->value;
    s->lock.unlock();
  };
  auto once = [s] { section(*s); };
  check::together(twice, once);
  assert(s->value == 2);
  delete s;
}

// Sections of two locks that end in the order in which they began.
void overlapping() {
  struct shared {
    elided_lock<spinning, elide::policies::htm_1> a, b;
    int under_a = 0, under_b = 0;
  };
  auto* const s = new shared;
  auto across = [s] {
    s->a.lock();
    ++s->under_a;
    s->b.lock();
    s->a.unlock();
    ++s->under_b;
    s->b.unlock();
  };
  auto only_b = [s] {
    s->b.lock();
    ++s->under_b;
    s->b.unlock();
  };
  check::together(across, only_b);
  assert(s->under_a == 1 && s->under_b == 2);
  delete s;
}

// What is learned is written beside the lock's word, by threads that do not hold the lock.
void learning() {
  auto* const s = new check::shared<elided_lock<spinning, elide::policies::adaptive>>;
  auto fails = [s] {
    s->lock.lock();
    elide::section::needs_lock();
    ++s->value;
    s->lock.unlock();
  };
  auto again = fails;
  check::together(fails, again);
  assert(s->value == 2);
  delete s;
}

struct readable {
  elide::elided_rwlock<auto_rwlock, elide::policies::htm_1> lock;
  int left = 0, right = 0;
};

void write(readable& s) {
  s.lock.lock();
  ++s.left;
  ++s.right;
  s.lock.unlock();
}

void read(readable& s) {
  s.lock.lock_shared();
  assert(s.left == s.right);
  s.lock.unlock_shared();
}

void rwlock_writer_and_reader() {
  auto* const s = new readable;
  auto w = [s] { write(*s); };
  auto r = [s] { read(*s); };
  check::together(w, r);
  assert(s->left == 1);
  delete s;
}

void rwlock_two_writers() {
  auto* const s = new readable;
  auto w = [s] { write(*s); };
  auto also = w;
  check::together(w, also);
  assert(s->left == 2 && s->right == 2);
  delete s;
}

constexpr check::scenario scenarios[] = {
    {"beside_auto", beside_the_real_lock<auto_lock>},
    {"beside_futex", beside_the_real_lock<futex_lock>},
    {"beside_tatas", beside_the_real_lock<spinning>},
    {"beside_ticket", beside_the_real_lock<ticket_lock<waits::spin>>},
    {"beside_mcs", beside_the_real_lock<mcs_lock<waits::spin>>},
    {"beside_clh", beside_the_real_lock<clh_lock<waits::spin>>},
    {"beside_one_spinner", beside_the_real_lock<one_spinner_lock<waits::spin>>},
    {"switched_off", switched_off},
    {"try_what_is_elided", try_what_is_elided},
    {"overlapping", overlapping},
    {"learning", learning},
    {"rwlock_writer_and_reader", rwlock_writer_and_reader},
    {"rwlock_two_writers", rwlock_two_writers},
};

}  // namespace

int main(int argc, char** argv) { return check::main(argc, argv, scenarios); }
