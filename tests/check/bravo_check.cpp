// bravo_check.cpp -- bravo_rwlock under every interleaving, over a lock of one word: a writer
// sees every reader that came by the table, and a reader the writer.
#include <syncopate/rwlocks/bravo_rwlock.h>

#include <atomic>

#include "check.h"

namespace {

// As little as excludes: the number of readers, or -1.
class one_word {
 public:
  void lock() {
    while (!try_lock()) await([](int value) { return value == 0; });
  }
  bool try_lock() { return take(0, -1); }
  void unlock() { word_.store(0, std::memory_order_release); }
  void lock_shared() {
    while (!try_lock_shared()) await([](int value) { return value >= 0; });
  }
  bool try_lock_shared() {
    for (int seen = word_.load(std::memory_order_relaxed); seen >= 0;) {
      if (take(seen, seen + 1)) return true;
      seen = word_.load(std::memory_order_relaxed);
    }
    return false;
  }
  void unlock_shared() { word_.fetch_sub(1, std::memory_order_release); }

 private:
  bool take(int from, int to) {
    return word_.compare_exchange_strong(from, to, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  template <class Predicate>
  void await(Predicate predicate) {
    syncopate::machine::wait_until(word_, std::memory_order_relaxed, predicate);
  }
  std::atomic<int> word_{0};
};

using lock_type = syncopate::bravo_rwlock<one_word, syncopate::visible_readers<4, 1>>;

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

// A reader that reads again does not wait for a writer that waits for it.
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

// Who reads by the table sees what was written before the bias was set.
void bias_after_a_write() {
  auto* const s = new shared;
  auto w = [s] { write(*s), read(*s); };
  auto r = [s] { read(*s); };
  check::together(w, r);
  assert(s->left == 1);
  delete s;
}

// And before a writer that gave up has put it back.
void bias_put_back() {
  auto* const s = new shared;
  int writes = 1;
  auto w = [s] { write(*s), read(*s); };
  auto tries = [s, &writes] {
    if (!s->lock.try_lock()) return;
    ++writes;
    ++s->left;
    ++s->right;
    s->lock.unlock();
  };
  auto r = [s] { read(*s); };
  check::together(w, tries, r);
  assert(s->left == writes);
  delete s;
}

constexpr check::scenario scenarios[] = {
    {"writer_and_reader", writer_and_reader},
    {"writer_and_reader_twice", writer_and_reader_twice},
    {"try_locks", try_locks},
    {"reads_within_a_read", reads_within_a_read},
    {"bias_after_a_write", bias_after_a_write},
    {"bias_put_back", bias_put_back},
};

}  // namespace

int main(int argc, char** argv) { return check::main(argc, argv, scenarios); }
