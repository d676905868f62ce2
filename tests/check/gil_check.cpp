// gil_check.cpp -- the elided interpreter lock under every interleaving and every abort: threads
// that yield, let go, ask for the lock, come and go.
#include <syncopate/elide/gil.h>
#include <syncopate/locks/tatas_lock.h>

#include "check.h"

namespace {

using namespace syncopate;
using namespace syncopate::elide;

// Time stands still: how long something took only decides about lengths. Small tables: all memory
// is put back between two executions.
struct timeless : gil_machine_backend {
  static constexpr std::uint32_t points = 4;
  static std::uint64_t ticks() noexcept { return 1; }
};
using checked_gil = gil<tatas_lock<waits::spin>, timeless>;

struct shared {
  checked_gil lock{{.lengths = {.rule = length_rule::fixed, .chooses = false, .fixed = 1},
                    .retries = {.transient = 2, .held = 2}}};
  gil_thread of[2]{};
  int left = 0, right = 0;

  shared() {
    for (gil_thread& each : of) {
      const int error = lock.attach(each);
      assert(error == 0);
    }
  }
  ~shared() {
    for (gil_thread& each : of) {
      const int error = lock.detach(each);
      assert(error == 0);
    }
  }
};

// What an interpreter does between two yield points.
void step(shared& s) {
  assert(s.left == s.right);
  ++s.left;
  ++s.right;
}

void run_two(void (*first)(shared&, gil_thread&), void (*second)(shared&, gil_thread&), int steps) {
  auto* const s = new shared;
  auto one = [s, first] { first(*s, s->of[0]); };
  auto other = [s, second] { second(*s, s->of[1]); };
  check::together(one, other);
  assert(s->left == steps && s->right == steps);
  delete s;
}

void once(shared& s, gil_thread& me) {
  s.lock.enter(me, &s);
  step(s);
  s.lock.leave(me);
}

void across_a_yield(shared& s, gil_thread& me) {
  s.lock.enter(me, &s);
  step(s);
  s.lock.yield(me, &s);
  step(s);
  s.lock.leave(me);
}

void under_the_lock(shared& s, gil_thread& me) {
  s.lock.enter(me, &s);
  s.lock.needs_lock(me);
  assert(checked_gil::state_of(me) == gil_state::holding);
  step(s);
  s.lock.leave(me);
}

void enter_and_leave() { run_two(once, once, 2); }
void yield_beside_one() { run_two(across_a_yield, once, 3); }
void beside_the_holder() { run_two(across_a_yield, under_the_lock, 3); }
void two_holders() { run_two(under_the_lock, under_the_lock, 2); }

// The second thread starts while the first believes to be alone, and holds the lock.
void a_second_thread_comes() {
  auto* const s = new shared;
  const int gone = s->lock.detach(s->of[1]);
  assert(gone == 0);
  auto one = [s] { across_a_yield(*s, s->of[0]); };
  auto other = [s] {
    const int error = s->lock.attach(s->of[1]);
    assert(error == 0);
    once(*s, s->of[1]);
  };
  check::together(one, other);
  assert(s->left == 3 && s->right == 3);
  delete s;
}

constexpr check::scenario scenarios[] = {
    {"enter_and_leave", enter_and_leave},
    {"yield_beside_one", yield_beside_one},
    {"beside_the_holder", beside_the_holder},
    {"two_holders", two_holders},
    {"a_second_thread_comes", a_second_thread_comes},
};

}  // namespace

int main(int argc, char** argv) { return check::main(argc, argv, scenarios); }
