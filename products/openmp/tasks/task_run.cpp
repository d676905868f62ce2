// task_run.cpp -- see task_run.h.

#include "openmp/tasks/task_run.h"

#include <cstdlib>
#include <utility>

#include "openmp/tasks/settings.h"
#include "openmp/tasks/task_order.h"
#include "openmp/tasks/tasks.h"

namespace syncopate::openmp {

team_tasks::team_tasks(std::uint32_t threads)
    : crew(threads), members(std::make_unique<member[]>(threads)) {
  for (std::uint32_t i = 0; i < threads; ++i) members[i].implicit = members[i].blocks.take();
}

void shared_tasks::put(task& t) noexcept {
  ::pthread_mutex_lock(&guard_);
  task** link = &first_;
  while (*link != nullptr && (*link)->priority >= t.priority) link = &(*link)->next;
  t.next = *link;
  *link = &t;
  count_.store(count() + 1, std::memory_order_relaxed);  // [G]
  ::pthread_mutex_unlock(&guard_);
}

team_tasks& make_tasks_of(frame& f) noexcept {
  std::atomic<team_tasks*>& place = f.in->tasks;
  team_tasks* found = nullptr;
  auto* const made = new team_tasks(f.threads);
  if (place.compare_exchange_strong(found, made, std::memory_order_acq_rel)) return *made;  // [T]
  delete made;
  return *found;
}

namespace {

bool descends_from(const task* t, const task* ancestor) noexcept {
  const std::uint32_t depth = ancestor->depth.load(std::memory_order_relaxed);  // [A]
  // Each step counts: what is looked at may have gone, and be another task meanwhile.
  std::uint32_t steps = t->depth.load(std::memory_order_relaxed);  // [A]
  if (steps <= depth) return false;
  for (steps -= depth; steps != 0 && t != nullptr; --steps)
    t = t->parent.load(std::memory_order_relaxed);  // [A]
  return t == ancestor;
}

}  // namespace

task* find_task(frame& f, bool any) noexcept {
  team_tasks& all = tasks_of(f);
  const task* const mine = f.doing;
  const auto may_have = [=](const task* t) { return any || descends_from(t, mine); };
  if (__builtin_expect(all.shared.count() != 0, 0))
    if (task* const t = all.shared.take(may_have)) return t;
  return all.crew.take(f.id, any ? 0 : mine->floor, may_have);
}

std::uint64_t drop(const place_of_work& at, task* t, std::uint64_t what) noexcept {
  const std::uint64_t before = t->counts.fetch_sub(what, std::memory_order_acq_rel);  // [C]
  bool gone = before == what;
  while (gone) {
    task* const parent = t->parent.load(std::memory_order_relaxed);  // [P]
    at.give_back(t);
    if (parent == nullptr) break;
    t = parent;
    gone =
        t->counts.fetch_sub(task::reference, std::memory_order_acq_rel) == task::reference;  // [C]
  }
  return before;
}

void clear_order(const place_of_work& at, task& t) noexcept {
  if (__builtin_expect(t.order == nullptr, 1)) return;
  t.order->clear([&at](task& other) { (void)drop(at, &other, task::reference); });
  delete t.order;
  t.order = nullptr;
}

namespace {

void release_successors(const place_of_work& at, task& t) noexcept {
  successor* s = t.successors.exchange(&closed, std::memory_order_acq_rel);  // [S]
  while (s != nullptr) {
    task& next = *s->who;
    const bool waits = !next.deferred;  // once it is released it may be gone
    if (next.unmet.fetch_sub(1, std::memory_order_acq_rel) == 1) {  // [S]
      if (waits) wake_sleepers(at.in);
      else at.offer(next);
    }
    delete std::exchange(s, s->next);
  }
}

void give_arguments_back(task& t) noexcept {
  std::free(t.large);
  delete t.inherited;
  t.large = nullptr;
  t.inherited = nullptr;
}

}  // namespace

void finish(const place_of_work& at, task& t) noexcept {
  release_successors(at, t);
  clear_order(at, t);
  give_arguments_back(t);
  bool wake = t.member_of != nullptr &&
              t.member_of->pending.fetch_sub(1, std::memory_order_acq_rel) == 1;  // [D]
  const bool deferred = t.deferred;
  const std::uint64_t one = deferred ? task::child : 0;
  task* const parent = t.parent.load(std::memory_order_relaxed);  // [P]
  std::uint64_t before = 0;                                       // of the parent's counts
  // Nobody else can add a reference to a task that has no children and no entries.
  if (t.counts.load(std::memory_order_acquire) == task::reference) {  // [C]
    at.give_back(&t);
    before = drop(at, parent, one + task::reference);
  } else {
    if (deferred) before = parent->counts.fetch_sub(one, std::memory_order_acq_rel);  // [C]
    (void)drop(at, &t, task::reference);
  }
  if (!deferred) return;
  wake = wake || task::children_in(before) == 1;
  if (at.f != nullptr) at.all.crew.finish(at.f->id);
  else at.all.crew.finish_elsewhere();
  // Who waits for all that was made is woken by the thread of the team that ends the last of all,
  // which looks itself at the end of its phase or region, or by who fulfills an event.
  if (wake) wake_sleepers(at.in);
}

namespace {

bool waits_for_event(task& t) noexcept {
  event expected = event::expected;
  return t.completion.load(std::memory_order_relaxed) != event::none &&  // [N]
         t.completion.compare_exchange_strong(expected, event::body_done,
                                              std::memory_order_acq_rel);  // [E]
}

void run_body(void* started) {
  const task& t = *static_cast<const task*>(started);
  if (__builtin_expect(t.inherited != nullptr, 0)) apply(*t.inherited, current->of->real);
  t.function(t.data);
}

}  // namespace

void run_here(frame& f, task& t) noexcept {
  const task_body recorded(reinterpret_cast<void (*)()>(t.function));
  task* const before = f.doing;
  f.doing = &t;
  t.floor = tasks_of(f).crew.end(f.id);
  f.of->real.GOMP_task(run_body, &t, nullptr, 0, 1, false, t.final ? task_request::is_final : 0u,
                       nullptr, 0, nullptr);
  f.doing = before;
}

void run(frame& f, task& t) noexcept {
  run_here(f, t);
  if (!waits_for_event(t)) finish({*f.in, tasks_of(f), &f}, t);
}

}  // namespace syncopate::openmp
