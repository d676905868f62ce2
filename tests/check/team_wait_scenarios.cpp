// team_wait_scenarios.cpp -- how a thread waits in a barrier of its OpenMP team
// (products/openmp/teams/team_wait.h): who ends a wait wakes the sleepers, and no wake-up is lost;
// neither is a mark, by which a thread is called away.
#include <syncopate/barriers/central_barrier.h>

#include "openmp/team_member.h"

#include "check.h"

namespace {

using namespace syncopate;
using namespace syncopate::openmp;

struct shared {
  team in;
  std::atomic<std::uint32_t> word{0};
  int data = 0;
  central_barrier<team_wait> barrier{2};
};

shared* begin(waiting how) {
  config.wait = how;
  return new shared;
}

// One thread waits for the word; the other acts, and wakes it. `holds` must hold afterwards.
template <class Act, class Holds>
void one_waits(waiting how, Act act, Holds holds) {
  shared* const s = begin(how);
  auto waits = [s, holds] {
    const member m(s->in, 0);
    team_wait::until(
        s->word, std::memory_order_acquire, [](auto v) { return v != 0; }, 0);
    assert(holds(*s));
  };
  auto acts = [s, act] {
    act(*s);
    wake_sleepers(s->in);
  };
  check::together(waits, acts);
  assert(s->in.sleepers.load() == 0);
  delete s;
}

void ends(waiting how) {
  one_waits(
      how,
      [](shared& s) {
        s.data = 7;
        s.word.store(1, std::memory_order_release);
      },
      [](shared& s) { return s.data == 7; });
}

void is_called_away(waiting how) {
  one_waits(
      how,
      [](shared& s) {
        s.data = 7;
        s.in.task_phase.store(1, std::memory_order_release);
      },
      [](shared& s) {
        return s.in.task_phase.load(std::memory_order_relaxed) == 1 && s.data == 7;
      });
}

// The last to arrive leaves at once, and looks for sleepers then.
void barrier_of_two(waiting how) {
  shared* const s = begin(how);
  auto pass = [s](std::uint32_t id) {
    const member m(s->in, id);
    if (id == 0) s->data = 7;
    s->barrier.arrive_and_wait(id);
    wake_sleepers(s->in);
    assert(s->data == 7);
  };
  auto one = [&] { pass(0); };
  auto other = [&] { pass(1); };
  check::together(one, other);
  assert(s->in.sleepers.load() == 0);
  delete s;
}

void wait_asleep() { ends(waiting::park); }
void wait_then_asleep() { ends(waiting::spin_then_park); }
void wait_on_monitor() { ends(waiting::monitor); }
void wait_adaptive() { ends(waiting::adaptive); }
void mark_asleep() { is_called_away(waiting::park); }
void mark_adaptive() { is_called_away(waiting::adaptive); }
void barrier_asleep() { barrier_of_two(waiting::park); }
void barrier_on_monitor() { barrier_of_two(waiting::monitor); }
void barrier_adaptive() { barrier_of_two(waiting::adaptive); }

constexpr check::scenario scenarios[] = {
    {"wait_asleep", wait_asleep},
    {"wait_then_asleep", wait_then_asleep},
    {"wait_adaptive", wait_adaptive},
    {"mark_asleep", mark_asleep},
    {"mark_adaptive", mark_adaptive},
    {"barrier_asleep", barrier_asleep},
    {"barrier_adaptive", barrier_adaptive},
    {"wait_on_monitor", wait_on_monitor},
    {"barrier_on_monitor", barrier_on_monitor},
};

}  // namespace

int main(int argc, char** argv) { return check::main(argc, argv, scenarios); }
