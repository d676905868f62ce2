// task_wait_scenarios.cpp -- threads of an OpenMP team that make, run and wait for tasks of ours
// (products/openmp/tasks/tasks.h): what a wait is for has been done when it ends, nothing is run
// twice, no wake-up is lost, and no wait is in a circle. Of the runtime there is only what runs a
// task at once.
#include "openmp/tasks/tasks.h"

#include <cstdlib>

#include "openmp/config.h"
#include "openmp/tasks/task_run.h"
#include "openmp/teams/team_wait.h"

#include "check.h"

namespace syncopate::record {
constinit bool enabled = false;
wait wait_begin(wait_kind, std::uint32_t, std::uint32_t, waiting_call) noexcept { return {}; }
void wait_end_now(wait&) noexcept {}
}  // namespace syncopate::record

namespace syncopate::openmp {

void task_body::begin(void (*)()) noexcept {}
void task_body::end() noexcept {}
void task_wait::stop() noexcept {}
void idle_time::begin() noexcept {}

constinit configuration config;
thread_local constinit frame* current = nullptr;
bool oversubscribed() noexcept { return false; }
void end_without(const char* name) noexcept {
  std::fprintf(stderr, "%s is called, which is not modeled\n", name);
  std::abort();
}
// As team.cpp's, without a barrier that somebody could wait in.
void mark_phase() noexcept {
  current->in->task_phase.store(current->phase + 1, std::memory_order_relaxed);
  wake_sleepers(*current->in);
}

}  // namespace syncopate::openmp

namespace {

using namespace syncopate;
using namespace syncopate::openmp;

void at_once(gomp_function function, void* data, gomp_copy, long, long, bool, unsigned, void**, int,
             void*) {
  function(data);
}
int no_priority() { return 0; }

struct shared {
  team in;
  runtime of;
  int done[3] = {};
  std::atomic<void*> event{nullptr};
};
shared* all = nullptr;

// One thread of the team, from the begin of its region to behind the barrier at the end.
template <class Body>
void take_part(std::uint32_t id, Body body) {
  frame mine;
  mine.in = &all->in;
  mine.of = &all->of;
  mine.threads = all->in.participants;
  mine.id = id;
  current = &mine;
  body(mine);
  current = nullptr;
}

void run_all(frame& f) {
  (void)tasks_of(f);
  while (task* const t = find_task(f, true)) run(f, *t);
}

// Two threads of a team, whose tasks are all done in the end: the first one does what is left.
template <class First, class Second>
void two(int tasks, waiting how, First first, Second second) {
  config.wait = how;
  all = new shared;
  all->in.participants = 2;
  all->of.real.GOMP_task.function = at_once;
  all->of.real.omp_get_max_task_priority.function = no_priority;
  auto one = [first] { take_part(0, first); };
  auto other = [second] { take_part(1, second); };
  check::together(other, one);
  take_part(0, run_all);
  for (int i = 0; i < tasks; ++i) assert(all->done[i] == 1);
  assert(all->in.sleepers.load() == 0);
}

struct argument {
  void* event;  // has to be first: the handle of `detach`
  int number;
};

// A task counts itself in an ordinary variable: run twice, or unordered, that is wrong, or a race.
void count(void* data) { ++all->done[static_cast<argument*>(data)->number]; }
void follow(void* data) {
  assert(all->done[0] == 1);
  count(data);
}

struct extras {
  bool deferred = true;
  unsigned flags = 0;
  void** depend = nullptr;
  void* detach = nullptr;
};
void make(frame& f, gomp_function function, int number, extras more = {}) {
  argument data{nullptr, number};
  make_task(f, {function, &data, nullptr, sizeof data, alignof(argument), more.deferred, more.flags,
                more.depend, 0, more.detach});
}

void count_after_child(void* data) {
  frame& f = *current;
  make(f, count, 1);
  wait_for_children(f);
  assert(all->done[1] == 1);
  count(data);
}

void count_and_make_child(void* data) {
  make(*current, count, 1);
  count(data);
}

void make_one(frame& f) { make(f, count, 0); }

// ---- What the other thread does, as one that waits in the barrier -------------------------------

void run_any(frame& f) {
  (void)tasks_of(f);
  if (task* const t = find_task(f, true)) run(f, *t);
}

void arrive(frame& f) {
  (void)doing(f);
  (void)tasks_of(f).crew.arrive();
  wake_sleepers(*f.in);
}

void fulfill_event(frame&) {
  void* event = nullptr;
  while ((event = all->event.load(std::memory_order_acquire)) == nullptr) machine::relax();
  all->done[1] = 1;
  assert(fulfill(event));
}
void run_any_and_fulfill(frame& f) {
  run_any(f);
  fulfill_event(f);
}

// ---- Scenarios ----------------------------------------------------------------------------------

void wait_for_child() {
  auto waits = [](frame& f) {
    make_one(f);
    wait_for_children(f);
    assert(all->done[0] == 1);
  };
  two(1, waiting::park, waits, run_any);
}

void wait_for_group() {
  auto waits = [](frame& f) {
    begin_group(f);
    make_one(f);
    end_group(f);
    assert(all->done[0] == 1);
  };
  two(1, waiting::park, waits, run_any);
}

// A task that waits runs its own child, or leaves it to the other thread.
void wait_in_a_task() {
  auto waits = [](frame& f) { make(f, count_after_child, 0, {.deferred = false}); };
  two(2, waiting::park, waits, run_any);
}

void make_ordered(frame& f, bool deferred) {
  void* const one = reinterpret_cast<void*>(1);
  void* writes[] = {one, one, &all->done};
  void* reads[] = {one, nullptr, &all->done};
  make(f, count, 0, {.flags = task_request::has_depend, .depend = writes});
  make(f, follow, 1, {.deferred = deferred, .flags = task_request::has_depend, .depend = reads});
}
void drop_order(frame& f) { clear_order({*f.in, tasks_of(f), &f}, doing(f)); }

// A task that is run at once, but depends on one that may be done elsewhere. (Asleep, this, the
// next ones and end_of_phase_by_other have more executions than are worth their time.)
void wait_for_order() {
  auto waits = [](frame& f) {
    make_ordered(f, false);
    assert(all->done[1] == 1);
    drop_order(f);
  };
  two(2, waiting::yield, waits, run_any);
}

void wait_for_ordered() {
  auto waits = [](frame& f) {
    make_ordered(f, true);
    wait_for_children(f);
    assert(all->done[1] == 1);
    drop_order(f);
  };
  two(2, waiting::yield, waits, run_any);
}

// The later one may be made when the earlier one is being run, and when it has been.
void order_of_two() {
  auto makes = [](frame& f) {
    make_ordered(f, true);
    drop_order(f);
  };
  two(2, waiting::yield, makes, run_any);
}

// A task's block goes to who ends its last child, and is another task then.
void block_of_a_parent() {
  auto makes = [](frame& f) {
    make(f, count_and_make_child, 0);
    run_any(f);
  };
  auto makes_another = [](frame& f) {
    run_any(f);
    make(f, count, 2);
  };
  two(3, waiting::yield, makes, makes_another);
}

// Also what was done before the event was fulfilled is done.
void wait_for_event_of(frame& f) {
  void* event = nullptr;
  make(f, count, 0, {.flags = task_request::has_detach, .detach = &event});
  all->event.store(event, std::memory_order_release);
  wait_for_children(f);
  assert(all->done[0] == 1 && all->done[1] == 1);
}
void wait_for_event() { two(2, waiting::park, wait_for_event_of, fulfill_event); }
void wait_for_event_elsewhere() { two(2, waiting::yield, wait_for_event_of, run_any_and_fulfill); }

void end_of_region() {
  auto waits = [](frame& f) {
    make_one(f);
    finish_tasks(f);
    assert(all->done[0] == 1);
  };
  two(1, waiting::park, waits, run_any);
}

void end_of_phase_by_maker() {
  auto waits = [](frame& f) {
    make_one(f);
    end_phase_with_tasks(f);
    assert(all->done[0] == 1);
  };
  two(1, waiting::park, waits, arrive);
}

void end_of_phase_by_other() {
  auto makes = [](frame& f) {
    make_one(f);
    arrive(f);
  };
  auto waits = [](frame& f) {
    end_phase_with_tasks(f);
    assert(all->done[0] == 1);
  };
  two(1, waiting::yield, makes, waits);
}

constexpr check::scenario scenarios[] = {
    {"wait_for_child", wait_for_child},
    {"wait_for_group", wait_for_group},
    {"wait_in_a_task", wait_in_a_task},
    {"wait_for_order", wait_for_order},
    {"wait_for_ordered", wait_for_ordered},
    {"order_of_two", order_of_two},
    {"block_of_a_parent", block_of_a_parent},
    {"wait_for_event", wait_for_event},
    {"wait_for_event_elsewhere", wait_for_event_elsewhere},
    {"end_of_region", end_of_region},
    {"end_of_phase_by_maker", end_of_phase_by_maker},
    {"end_of_phase_by_other", end_of_phase_by_other},
};

}  // namespace

int main(int argc, char** argv) { return check::main(argc, argv, scenarios); }
