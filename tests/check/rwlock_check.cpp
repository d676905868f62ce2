// rwlock_check.cpp -- auto_rwlock under every interleaving: writers exclude everybody, readers see
// whole updates, nobody is left asleep.
#include <syncopate/rwlocks/auto_rwlock.h>

#include "check.h"

namespace {

struct shared {
  syncopate::auto_rwlock lock;
  int left = 0, right = 0;  // equal outside of a writer's section
};

void write(shared& s) {
  s.lock.lock();
  ++s.left;
  ++s.right;
  s.lock.unlock();
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
  delete s;
}

void two_writers() {
  auto* const s = new shared;
  auto a = [s] { write(*s); };
  auto b = a;
  check::together(a, b);
  assert(s->left == 2);
  delete s;
}

void writer_and_two_readers() {
  auto* const s = new shared;
  auto w = [s] { write(*s); };
  auto r = [s] { read(*s); };
  auto also = r;
  check::together(w, r, also);
  delete s;
}

void try_locks() {
  auto* const s = new shared;
  int writes = 1;
  auto trier = [s, &writes] {
    if (!s->lock.try_lock()) return;
    ++s->left;
    ++s->right;
    ++writes;
    s->lock.unlock();
  };
  auto w = [s] { write(*s); };
  check::together(trier, w);
  assert(s->left == writes);
  delete s;
}

void timed_writer_and_reader() {
  auto* const s = new shared;
  auto w = [s] {
    const auto until = syncopate::machine::after(1000);
    if (!s->lock.lock_until(&until)) return;
    ++s->left;
    ++s->right;
    s->lock.unlock();
  };
  auto r = [s] { read(*s); };
  check::together(w, r);
  write(*s);  // still usable
  delete s;
}

constexpr check::scenario scenarios[] = {
    {"writer_and_reader", writer_and_reader},
    {"two_writers", two_writers},
    {"writer_and_two_readers", writer_and_two_readers},
    {"try_locks", try_locks},
    {"timed_writer_and_reader", timed_writer_and_reader},
};

}  // namespace

int main(int argc, char** argv) { return check::main(argc, argv, scenarios); }
