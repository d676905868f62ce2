// task_blocks.cpp -- the memory of tasks (task.h). Blocks are made by the dozen and never unmapped.
//
// Memory order (each tag stands at its site below)
//   [M]  relaxed: the block belongs to this thread until the task is offered.

#include <new>

#include <pthread.h>

#include "openmp/tasks/task.h"

namespace syncopate::openmp {
namespace {

// Blocks pass between threads so many at a time: one lock for each of these.
constexpr std::uint32_t batch = 32;

constinit pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
constinit task* batches = nullptr;  // each the head of a list; the next head is in `large`
constinit task* singles = nullptr;  // what came one by one

void reset(task& t) noexcept {
  t.parent.store(nullptr, std::memory_order_relaxed);          // [M]
  t.depth.store(0, std::memory_order_relaxed);                 // [M]
  t.unmet.store(0, std::memory_order_relaxed);                 // [M]
  t.counts.store(task::reference, std::memory_order_relaxed);  // [M]
  t.successors.store(nullptr, std::memory_order_relaxed);      // [M]
  t.group = t.member_of = nullptr;
  t.order = nullptr;
  t.floor = 0;
  t.next = nullptr;
  t.large = nullptr;
  t.inherited = nullptr;
  t.priority = 0;
  t.deferred = t.final = t.reducing = false;
  t.completion.store(event::none, std::memory_order_relaxed);  // [M]
}

struct some_blocks {
  task* first;
  std::uint32_t count;
};

some_blocks take_some() noexcept {
  ::pthread_mutex_lock(&guard);
  some_blocks found{batches, batch};
  if (found.first != nullptr) {
    batches = static_cast<task*>(found.first->large);
  } else if (singles != nullptr) {
    found = {singles, 1};
    singles = singles->next;
    found.first->next = nullptr;
  }
  ::pthread_mutex_unlock(&guard);
  if (found.first != nullptr) return found;
  task* const made = new task[batch];
  for (std::uint32_t i = 0; i + 1 < batch; ++i) made[i].next = &made[i + 1];
  return {made, batch};
}

}  // namespace

task* task_blocks::take() noexcept {
  if (first_ == nullptr) {
    const some_blocks found = take_some();
    first_ = found.first;
    count_ = found.count;
  }
  task* const t = first_;
  first_ = t->next;
  --count_;
  reset(*t);
  return t;
}

void task_blocks::give_back(task* t) noexcept {
  t->next = first_;
  first_ = t;
  if (++count_ < 2 * batch) return;
  task* last = first_;
  for (std::uint32_t i = 1; i < batch; ++i) last = last->next;
  task* const rest = last->next;
  last->next = nullptr;
  ::pthread_mutex_lock(&guard);
  first_->large = batches;
  batches = first_;
  ::pthread_mutex_unlock(&guard);
  first_ = rest;
  count_ -= batch;
}

void give_back_to_all(task* t) noexcept {
  ::pthread_mutex_lock(&guard);
  t->next = singles;
  singles = t;
  ::pthread_mutex_unlock(&guard);
}

}  // namespace syncopate::openmp
