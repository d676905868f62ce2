// tasks.cpp -- see tasks.h: how tasks are made, and who waits for them.
//
// Memory order (each tag stands at its site below)
//   [P]  relaxed: the thread's own mark of a phase, or another's of the same (mark_phase()).
//   [K]  relaxed: a hint, by which a later region or task is begun in the one or the other right
//        way.
//   [M]  relaxed: the task is known to nobody yet.
//   [R]  relaxed: the parent has a reference, since its task runs; who ends the new task releases.
//   [U]  unmet: held at 1 until the task's order is known, then decreased with acq_rel: whoever
//        makes it 0 sees what all tasks before did.
//   [W]  acquire load -- synchronizes with task_run.h's [C], [D], [E] and [S]: what was waited for
//        happens-before what follows.
//   [N]  relaxed: this thread has stored whether there is an event.
//   [E]  acq_rel RMW: of who fulfills the event and who ends the body, the later one goes on.
//   [T]  relaxed: the guard of the detached tasks has ordered this behind the task's making.
//   [G]  relaxed: between regions, the master's alone.

#include "openmp/tasks/tasks.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "openmp/config.h"
#include "openmp/tasks/settings.h"
#include "openmp/tasks/task_events.h"
#include "openmp/tasks/task_order.h"
#include "openmp/tasks/task_run.h"

namespace syncopate::openmp {

namespace {

// Functions of regions that have made tasks, by a hash; a function that is displaced is learned
// again, and until then its regions end without a barrier of ours, which is right as well.
constexpr std::size_t remembered = 256;
constinit std::atomic<void (*)()> makers[remembered]{};

std::atomic<void (*)()>& maker(void (*function)()) noexcept {
  return makers[(reinterpret_cast<std::uintptr_t>(function) >> 4) % remembered];
}

constinit std::atomic<bool> settings_changed{false};

void mark(frame& f) noexcept {
  team& t = *f.in;
  if (f.ending || t.task_phase.load(std::memory_order_relaxed) == f.phase + 1) return;   // [P]
  maker(t.order.what.function).store(t.order.what.function, std::memory_order_relaxed);  // [K]
  mark_phase();
}

void copy_arguments(task& t, const task_request& r) noexcept {
  const auto size = static_cast<std::size_t>(r.size), align = static_cast<std::size_t>(r.align);
  t.data = t.arguments;
  if (size > task::inline_bytes || align > alignof(task)) {
    t.large = ::operator new(size + align);
    const auto from = reinterpret_cast<std::uintptr_t>(t.large);
    t.data = reinterpret_cast<void*>((from + align - 1) / align * align);
  }
  if (r.copy != nullptr) r.copy(t.data, r.data);
  else if (size != 0) std::memcpy(t.data, r.data, size);
}

// Of the thread's current task, which is to be run at once or later.
task& new_task(frame& f, const task_request& r, bool deferred) noexcept {
  task& parent = *f.doing;
  task& t = *tasks_of(f).members[f.id].blocks.take();
  t.parent.store(&parent, std::memory_order_relaxed);  // [M]
  t.depth.store(parent.depth.load(std::memory_order_relaxed) + 1,
                std::memory_order_relaxed);  // [M]
  t.group = parent.group;
  t.function = r.function;
  t.in = f.in;
  t.deferred = deferred;
  t.final = parent.final || (r.flags & task_request::is_final) != 0;
  t.reducing = parent.reducing;
  if ((r.flags & task_request::has_priority) != 0)
    t.priority = std::min(r.priority, f.of->real.omp_get_max_task_priority());
  if (__builtin_expect(settings_changed.load(std::memory_order_relaxed), 0) && deferred)  // [K]
    t.inherited = new settings(settings_of(f.of->real));
  parent.counts.fetch_add(task::reference + (deferred ? task::child : 0),
                          std::memory_order_relaxed);  // [R]
  if (deferred && parent.group != nullptr) {
    t.member_of = parent.group;
    parent.group->pending.fetch_add(1, std::memory_order_relaxed);  // [R]
  }
  return t;
}

task_order& order_of(task& parent) noexcept {
  if (parent.order == nullptr) parent.order = new task_order;
  return *parent.order;
}

void wait_for_order(frame& f, task& t, const dependence_list& wants) noexcept {
  task& parent = *f.doing;
  if (parent.order == nullptr) return;
  t.unmet.store(1, std::memory_order_relaxed);  // [U]
  parent.order->wait_for(t, wants);
  if (t.unmet.fetch_sub(1, std::memory_order_acq_rel) == 1) return;              // [U]
  help_until(f, [&t] { return t.unmet.load(std::memory_order_acquire) == 0; });  // [W]
}

void run_at_once(frame& f, const task_request& r) noexcept {
  task& t = new_task(f, r, false);
  if ((r.flags & task_request::has_detach) != 0) expect_event(t, r);
  if ((r.flags & task_request::has_depend) != 0) wait_for_order(f, t, dependence_list(r.depend));
  if (r.copy != nullptr) copy_arguments(t, r);
  else t.data = r.data;
  run_here(f, t);
  if (__builtin_expect(t.completion.load(std::memory_order_relaxed) != event::none, 0))  // [N]
    help_until(f, [&t] {
      return t.completion.load(std::memory_order_acquire) == event::fulfilled;  // [W]
    });
  finish({*f.in, tasks_of(f), &f}, t);
}

// To whoever takes it. Where the deque is full, the caller runs it.
void offer_or_run(frame& f, task& t) noexcept {
  team_tasks& all = tasks_of(f);
  if (t.priority > 0 && all.shared.count() < team_tasks::capacity) all.shared.put(t);
  else if (!all.crew.push(f.id, &t)) return run(f, t);
  wake_sleepers(*f.in);
}

task& make_deferred(frame& f, const task_request& r) noexcept {
  mark(f);
  task& t = new_task(f, r, true);
  if ((r.flags & task_request::has_detach) != 0) expect_event(t, r);
  copy_arguments(t, r);
  tasks_of(f).crew.make(f.id);
  return t;
}

bool must_run_at_once(const frame& f, const task_request& r) noexcept {
  return !r.deferred || f.doing->final || f.doing->reducing;
}

using bounds_setter = void (*)(void* data, void* state);

void make_copies_first(frame& f, const task_request& r, unsigned long count,
                       bounds_setter set_bounds, void* state) noexcept {
  const bool deferred = !must_run_at_once(f, r);
  task *first = nullptr, **last = &first;
  for (unsigned long i = 0; i < count; ++i) {
    task& t = deferred ? make_deferred(f, r) : new_task(f, r, false);
    if (!deferred) copy_arguments(t, r);
    set_bounds(t.data, state);
    t.next = nullptr;
    *last = &t;
    last = &t.next;
  }
  while (first != nullptr) {
    task& t = *std::exchange(first, first->next);
    if (deferred) offer_or_run(f, t);
    else run(f, t);
  }
}

}  // namespace

void make_task(frame& f, const task_request& r) noexcept {
  (void)doing(f);
  const bool ordered = (r.flags & task_request::has_depend) != 0;
  if (ordered && dependence_list(r.depend).has_all_memory()) {
    wait_for_children(f);
    task_request alone = r;
    alone.flags &= ~task_request::has_depend;
    return run_at_once(f, alone);
  }
  if (must_run_at_once(f, r)) return run_at_once(f, r);
  task& t = make_deferred(f, r);
  if (!ordered) return offer_or_run(f, t);
  const place_of_work at{*f.in, tasks_of(f), &f};
  task_order& order = order_of(*f.doing);
  t.unmet.store(1, std::memory_order_relaxed);  // [U]
  order.add(t, dependence_list(r.depend));
  order.drop_replaced([&at](task& other) { (void)drop(at, &other, task::reference); });
  if (t.unmet.fetch_sub(1, std::memory_order_acq_rel) == 1) offer_or_run(f, t);  // [U]
}

void make_task_loop(frame& f, const task_request& r, unsigned long count,
                    void (*set_bounds)(void* data, void* state), void* state) noexcept {
  (void)doing(f);
  if (must_run_at_once(f, r) && r.copy == nullptr) {
    for (; count != 0; --count) {
      set_bounds(r.data, state);
      run_at_once(f, r);
    }
    return;
  }
  // A copy has to be made before any task runs: it may change what is copied.
  if (r.copy != nullptr) return make_copies_first(f, r, count, set_bounds, state);
  for (; count != 0; --count) {
    task& t = make_deferred(f, r);
    set_bounds(t.data, state);
    offer_or_run(f, t);
  }
}

void wait_for_children(frame& f) noexcept {
  const task& mine = doing(f);
  help_until(f, [&mine] {
    return task::children_in(mine.counts.load(std::memory_order_acquire)) == 0;  // [W]
  });
}

void wait_for_dependences(frame& f, void** depend) noexcept {
  const task& mine = doing(f);
  const dependence_list wants(depend);
  if (wants.has_all_memory()) return wait_for_children(f);
  if (mine.order == nullptr) return;
  task_blocks& blocks = tasks_of(f).members[f.id].blocks;
  task& waiter = *blocks.take();
  wait_for_order(f, waiter, wants);
  blocks.give_back(&waiter);
}

void run_one(frame& f) noexcept {
  if (doing(f).final) return;
  if (task* const t = find_task(f, false)) run(f, *t);
}

void begin_group(frame& f) noexcept {
  task& mine = doing(f);
  auto* const made = new task_group;
  made->outer = mine.group;
  made->was_reducing = mine.reducing;
  mine.group = made;
}

void end_group(frame& f) noexcept {
  task& mine = doing(f);
  task_group* const g = mine.group;
  if (g == nullptr) return;
  help_until(f, [g] { return g->pending.load(std::memory_order_acquire) == 0; });  // [W]
  if (g->reducing) f.of->real.GOMP_taskgroup_end();
  mine.reducing = g->was_reducing;
  mine.group = g->outer;
  delete g;
}

void reduce_in_group(frame& f) noexcept {
  task& mine = doing(f);
  if (mine.group == nullptr) return;
  mine.reducing = mine.group->reducing = true;
  f.of->real.GOMP_taskgroup_start();
}

void reduce_in_construct(frame& f, bool reducing) noexcept { doing(f).reducing = reducing; }

// ---- The ends of phases and regions -------------------------------------------------------------

void end_phase_with_tasks(frame& f) noexcept {
  task& mine = doing(f);
  team_tasks& all = tasks_of(f);
  f.ending = true;
  const std::uint64_t episode = all.crew.arrive();
  help_until(
      f, true, [&] { return all.crew.is_over(episode); },
      [&] {
        if (!all.crew.end_if_done(episode)) return false;
        wake_sleepers(*f.in);
        return true;
      });
  f.ending = false;
  clear_order({*f.in, all, &f}, mine);
}

void finish_tasks(frame& f) noexcept {
  task& mine = doing(f);
  team_tasks& all = tasks_of(f);
  bool done = false;
  help_until(
      f, true, [&] { return done; }, [&] { return done = all.crew.is_done(); });
  wake_sleepers(*f.in);
  clear_order({*f.in, all, &f}, mine);
}

bool fulfill(void* event) noexcept {
  task* const t = take_detached(event);
  if (t == nullptr) return false;
  team& in = *t->in;
  if (t->completion.exchange(event::fulfilled, std::memory_order_acq_rel) ==
      event::body_done)                                                    // [E]
    finish({in, *in.tasks.load(std::memory_order_relaxed), nullptr}, *t);  // [T]
  wake_sleepers(in);
  return true;
}

bool makes_tasks(void (*function)()) noexcept {
  return function != nullptr && maker(function).load(std::memory_order_relaxed) == function;  // [K]
}

void employ(team& t) noexcept {
  team_tasks* const all = t.tasks.load(std::memory_order_relaxed);  // [G]
  if (all == nullptr) return;
  if (t.participants <= all->crew.room()) all->crew.employ(t.participants);
  else
    t.tasks.store(nullptr,
                  std::memory_order_relaxed);  // [G] thieves may look at the old one's tasks
}

void settings_change() noexcept {
  if (current != nullptr) settings_changed.store(true, std::memory_order_relaxed);  // [K]
}

const char* cannot_make_tasks(const runtime& of) noexcept {
  const entry_points& real = of.real;
  if (of.kind != family::gnu) return "it is libomp, of which only libgomp's way is known";
  if (real.GOMP_task == nullptr || real.GOMP_taskwait == nullptr ||
      real.GOMP_taskgroup_start == nullptr || real.GOMP_taskgroup_end == nullptr ||
      real.omp_get_max_task_priority == nullptr || !has_settings(real))
    return "it has no tasks as libgomp of GCC 12 has them";
  if (real.omp_get_cancellation == nullptr || real.omp_get_cancellation() != 0)
    return "cancellation is on (OMP_CANCELLATION): who leaves a barrier early, the runtime knows";
  return nullptr;
}

}  // namespace syncopate::openmp
