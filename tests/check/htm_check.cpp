// htm_check.cpp -- hardware transactions in programs, beyond what lock_check.cpp asks of elided
// locks: sections that allocate, that call the system, that nest, and threads that run ahead.
#include <syncopate/elide/elided_lock.h>
#include <syncopate/locks/speculative_tatas_lock.h>
#include <syncopate/locks/tatas_lock.h>
#include <syncopate/machine.h>
#include <syncopate/wait/spin.h>

#include <atomic>

#include "htm_mutants.h"

namespace {

using namespace syncopate;
using std::memory_order_acquire, std::memory_order_relaxed, std::memory_order_release;

using fall_back = tatas_lock<waits::spin>;
using htm_1 = elide::elided_lock<fall_back, elide::policies::htm_1>;
using htm_10 = elide::elided_lock<fall_back, elide::policies::htm_10>;

// Blocks that a transaction takes and gives back: it may abort in between.
void allocating_sections() {
  struct list {
    struct node {
      node* next;
      int value;
    };
    htm_1 lock;
    node* first = nullptr;
  };
  auto* const l = new list;
  auto push = [l] {
    l->lock.lock();
    l->first = new list::node{l->first, 7};
    l->lock.unlock();
  };
  int popped = 0;
  auto pop = [l, &popped] {
    l->lock.lock();
    if (list::node* const top = l->first) {
      popped += top->value;
      l->first = top->next;
      delete top;
    }
    l->lock.unlock();
  };
  check::together(push, pop);
  pop();
  assert(popped == 7 && l->first == nullptr);
  delete l;
}

// A section that no transaction survives ends in the fallback.
void yielding_section() {
  auto* const s = new check::shared<htm_1>;
  auto yields = [s] {
    s->lock.lock();
    const int before = s->value;
    machine::yield();
    assert(!machine::htm::active());
    s->value = before + 1;
    s->lock.unlock();
  };
  auto other = [s] { section(*s); };
  check::together(yields, other);
  assert(s->value == 2);
  delete s;
}

// One elided section inside another, of two locks.
void nested_sections() {
  struct both {
    htm_1 outer, inner;
    int value = 0;
  };
  auto* const b = new both;
  auto nested = [b] {
    b->outer.lock();
    b->inner.lock();
    ++b->value;
    b->inner.unlock();
    b->outer.unlock();
  };
  auto flat = [b] {
    b->inner.lock();
    ++b->value;
    b->inner.unlock();
  };
  check::together(nested, flat);
  assert(b->value == 2);
  delete b;
}

// A waiter that runs ahead sees the holder's half-made changes, and nobody sees its own.
void running_ahead() {
  struct pair {
    speculative_tatas_lock lock;
    int left = 0, right = 0;
  };
  auto* const p = new pair;
  auto change = [p] {
    p->lock.lock();
    assert(p->left == p->right);
    ++p->left;
    machine::yield();
    ++p->right;
    p->lock.unlock();
  };
  auto other = change;
  check::together(change, other);
  assert(p->left == 2 && p->right == 2);
  delete p;
}

// Every operation on the lock's word that a transaction can meet, by hand.
struct plain_elision : check::htm_mutants::fallback {
  void lock() {
    if (machine::htm::begin().started()) {
      if (is_free()) return;
      machine::htm::abort<1>();
    }
    take();
  }
  void unlock() {
    if (is_free()) machine::htm::commit();
    else word.store(0, memory_order_release);
  }
};

constexpr check::scenario scenarios[] = {
    {"two_threads", check::two_threads<plain_elision>},
    {"three_threads", check::three_threads<plain_elision>},
    {"equal_variables", check::htm_mutants::equal_variables<plain_elision>},
    {"equal_variables_htm_10", check::htm_mutants::equal_variables<htm_10>},
    {"allocating_sections", allocating_sections},
    {"yielding_section", yielding_section},
    {"nested_sections", nested_sections},
    {"running_ahead", running_ahead},
};

}  // namespace

int main(int argc, char** argv) { return check::main(argc, argv, scenarios); }
