// bravo_check.cpp -- bravo_rwlock under every interleaving, with a table of two readers: a writer
// sees every reader that came by the table, and a reader the writer.
#include <syncopate/rwlocks/auto_rwlock.h>
#include <syncopate/rwlocks/bravo_rwlock.h>

#include "check.h"

namespace {

using lock_type = syncopate::bravo_rwlock<syncopate::auto_rwlock, syncopate::visible_readers<4, 1>>;

struct shared {
  lock_type lock;
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

// With the bias on: the first reader has set it.
shared* biased() {
  auto* const s = new shared;
  read(*s);
  assert(s->lock.is_biased());
  return s;
}

void writer_and_reader() {
  auto* const s = biased();
  auto w = [s] { write(*s); };
  auto r = [s] { read(*s); };
  check::together(w, r);
  assert(s->left == 1);
  delete s;
}

void writer_and_reader_twice() {
  auto* const s = biased();
  auto w = [s] { write(*s); };
  auto r = [s] { read(*s), read(*s); };
  check::together(w, r);
  delete s;
}

void try_locks() {
  auto* const s = biased();
  int writes = 0;
  auto w = [s, &writes] {
    if (!s->lock.try_lock()) return;
    ++writes;
    ++s->left;
    ++s->right;
    s->lock.unlock();
  };
  auto r = [s] {
    if (!s->lock.try_lock_shared()) return;
    assert(s->left == s->right);
    s->lock.unlock_shared();
  };
  check::together(w, r);
  assert(s->left == writes);
  write(*s);  // still usable
  delete s;
}

// A reader that reads again takes the lock below: its place is taken.
void reads_within_a_read() {
  auto* const s = biased();
  auto w = [s] { write(*s); };
  auto r = [s] {
    s->lock.lock_shared();
    read(*s);
    s->lock.unlock_shared();
  };
  check::together(w, r);
  delete s;
}

constexpr check::scenario scenarios[] = {
    {"writer_and_reader", writer_and_reader},
    {"writer_and_reader_twice", writer_and_reader_twice},
    {"try_locks", try_locks},
    {"reads_within_a_read", reads_within_a_read},
};

}  // namespace

int main(int argc, char** argv) { return check::main(argc, argv, scenarios); }
