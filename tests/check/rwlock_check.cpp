// rwlock_check.cpp -- auto_rwlock under every interleaving: writers exclude everybody, readers see
// whole updates, nobody is left asleep.
#include <syncopate/rwlocks/auto_rwlock.h>

#include <atomic>

#include "check.h"

namespace {

struct shared {
  syncopate::auto_rwlock lock;
  int left = 0, right = 0;  // equal outside of a writer's section
};

// Requires: the lock is held exclusively. Releases it.
void update_and_leave(shared& s) {
  ++s.left;
  ++s.right;
  s.lock.unlock();
}
void write(shared& s) {
  s.lock.lock();
  update_and_leave(s);
}
void read(shared& s) {
  s.lock.lock_shared();
  assert(s.left == s.right);
  s.lock.unlock_shared();
}

void writer_and_reader() {
  auto* const s = new shared;
  auto w = [s] { write(*s); };
  auto r = [s] { read(*s); };
  check::together(w, r);
  assert(s->left == 1);
  s->lock.check_at_rest();
  delete s;
}

void two_writers() {
  auto* const s = new shared;
  auto a = [s] { write(*s); };
  auto b = a;
  check::together(a, b);
  assert(s->left == 2);
  s->lock.check_at_rest();
  delete s;
}

void writer_and_two_readers() {
  auto* const s = new shared;
  auto w = [s] { write(*s); };
  auto r = [s] { read(*s); };
  auto also = r;
  check::together(w, r, also);
  s->lock.check_at_rest();
  delete s;
}

void try_locks() {
  auto* const s = new shared;
  int writes = 1;
  auto trier = [s, &writes] {
    if (!s->lock.try_lock()) return;
    ++writes;
    update_and_leave(*s);
  };
  auto w = [s] { write(*s); };
  check::together(trier, w);
  assert(s->left == writes);
  s->lock.check_at_rest();
  delete s;
}

void timed_writer_and_reader() {
  auto* const s = new shared;
  auto w = [s] {
    const auto until = syncopate::machine::after(1000);
    if (!s->lock.lock_until(&until)) return;
    update_and_leave(*s);
  };
  auto r = [s] { read(*s); };
  check::together(w, r);
  write(*s);  // still usable
  s->lock.check_at_rest();
  delete s;
}

// A newcomer overtakes a writer that has been woken.
void try_beside_two_writers() {
  auto* const s = new shared;
  int writes = 2;
  auto a = [s] { write(*s); };
  auto b = a;
  auto trier = [s, &writes] {
    if (!s->lock.try_lock()) return;
    ++writes;
    update_and_leave(*s);
  };
  check::together(a, b, trier);
  assert(s->left == writes);
  s->lock.check_at_rest();
  delete s;
}

// A writer whose time was up comes back at once: all that its first wait left behind is in order.
void timed_writer_comes_back() {
  auto* const s = new shared;
  auto w = [s] {
    const auto until = syncopate::machine::after(1000);
    if (!s->lock.lock_until(&until)) s->lock.lock();
    update_and_leave(*s);
  };
  auto r = [s] { read(*s); };
  check::together(w, r);
  assert(s->left == 1);
  s->lock.check_at_rest();
  delete s;
}

// A writer that is chosen when its time is up, and then overtaken, waits again with the element
// that the releaser has just let go of.
void timed_writer_is_overtaken() {
  auto* const s = new shared;
  auto w = [s] {
    const auto until = syncopate::machine::after(1000);
    if (!s->lock.lock_until(&until)) return;
    update_and_leave(*s);
  };
  auto other = [s] { write(*s), write(*s); };
  check::together(w, other);
  s->lock.check_at_rest();
  delete s;
}

// Who is refused by a try holds nothing, so it refuses nobody.
void try_in_vain_is_not_seen() {
  auto* const s = new shared;
  bool reads = false, writes = false;
  s->lock.lock();
  auto w = [s, &writes] {
    s->lock.unlock();
    writes = s->lock.try_lock();
  };
  auto r = [s, &reads] { reads = s->lock.try_lock_shared(); };
  check::together(w, r);
  assert(reads || writes);
  delete s;
}

// Readers that wait for each other inside: one that was called, and one that came to wait while a
// writer was faster than the first.
void readers_meet_inside() {
  auto* const s = new shared;
  auto* const inside = new std::atomic<int>(0);
  auto* const writes_again = new std::atomic<int>(0);
  s->lock.lock();
  const auto wait = [](std::atomic<int>& word, int value) {
    syncopate::machine::wait_until(word, std::memory_order_relaxed,
                                   [value](int seen) { return seen == value; });
  };
  const auto await_waiters = [s] {
    while (!s->lock.contended()) syncopate::machine::yield();
  };
  auto first = [=] {
    s->lock.lock_shared();
    inside->fetch_add(1, std::memory_order_relaxed);
    wait(*inside, 2);
    s->lock.unlock_shared();
  };
  auto second = [=] {
    wait(*writes_again, 1);
    first();
  };
  auto w = [=] {
    await_waiters();
    s->lock.unlock();
    const bool again = s->lock.try_lock();
    writes_again->store(1, std::memory_order_relaxed);
    if (!again) return;
    await_waiters();
    s->lock.unlock();
  };
  check::together(first, second, w);
  s->lock.check_at_rest();
  delete writes_again;
  delete inside;
  delete s;
}

// A holder looks at the queue that another one enters.
void invariants() {
  auto* const s = new shared;
  s->lock.lock();
  auto w = [s] {
    s->lock.check_invariants();
    s->lock.unlock();
  };
  auto r = [s] { read(*s); };
  check::together(w, r);
  s->lock.check_at_rest();
  delete s;
}

constexpr check::scenario scenarios[] = {
    {"writer_and_reader", writer_and_reader},
    {"two_writers", two_writers},
    {"writer_and_two_readers", writer_and_two_readers},
    {"try_locks", try_locks},
    {"timed_writer_and_reader", timed_writer_and_reader},
    {"try_beside_two_writers", try_beside_two_writers},
    {"timed_writer_comes_back", timed_writer_comes_back},
    {"timed_writer_is_overtaken", timed_writer_is_overtaken},
    {"invariants", invariants},
    {"try_in_vain_is_not_seen", try_in_vain_is_not_seen},
    {"readers_meet_inside", readers_meet_inside},
};

}  // namespace

int main(int argc, char** argv) { return check::main(argc, argv, scenarios); }
