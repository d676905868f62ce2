// wait_check.cpp -- the parking protocols by themselves: each waiting strategy on a word that
// another thread sets, and the baton.
#include <syncopate/machine.h>
#include <syncopate/wait/all.h>
#include <syncopate/wait/baton.h>

#include <atomic>

#include "check.h"

namespace {

using namespace syncopate;

// One waits, the other publishes and passes.
template <class Wait>
void baton() {
  struct shared {
    waits::baton<Wait> turn;
    int data = 0;
  };
  auto* const s = new shared;
  auto waiter = [s] {
    s->turn.await();
    assert(s->data == 1);
    delete s;  // pass() may not touch it any more
  };
  auto passer = [s] {
    s->data = 1;
    s->turn.pass();
  };
  check::together(waiter, passer);
}

// Two threads park on one word, for what is published with it; one wake for each.
void park_two() {
  struct shared {
    std::atomic<std::uint32_t> word{0};
    int data = 0;
  };
  auto* const s = new shared;
  auto waiter = [s] {
    while (s->word.load(std::memory_order_acquire) == 0) machine::park(s->word, 0);
    assert(s->data == 1);
  };
  auto also = waiter;
  auto waker = [s] {
    s->data = 1;
    s->word.store(1, std::memory_order_release);
    machine::wake(&s->word, 2);
  };
  check::together(waiter, also, waker);
  delete s;
}

constexpr check::scenario scenarios[] = {
    {"baton_spin", baton<waits::spin>},
    {"baton_yield", baton<waits::yield>},
    {"baton_park", baton<waits::park>},
    {"baton_spin_then_park", baton<waits::spin_then_park>},
    {"baton_monitor", baton<waits::monitor>},
    {"baton_adaptive", baton<waits::adaptive>},
    {"park_two", park_two},
};

}  // namespace

int main(int argc, char** argv) { return check::main(argc, argv, scenarios); }
