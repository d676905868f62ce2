// task_events.cpp -- see task_events.h.
//
// Memory order (each tag stands at its site below)
//   [M]  relaxed: nobody else knows the task yet.

#include "openmp/tasks/task_events.h"

#include <pthread.h>

namespace syncopate::openmp {

namespace {

struct detached {
  task* who;
  detached* next;
};
constinit pthread_mutex_t detached_guard = PTHREAD_MUTEX_INITIALIZER;
constinit detached* all_detached = nullptr;

}  // namespace

void expect_event(task& t, const task_request& r) noexcept {
  t.completion.store(event::expected, std::memory_order_relaxed);  // [M]
  *static_cast<void**>(r.detach) = &t;
  if (r.data != nullptr) *static_cast<void**>(r.data) = &t;
  auto* const entry = new detached{&t, nullptr};
  ::pthread_mutex_lock(&detached_guard);
  entry->next = all_detached;
  all_detached = entry;
  ::pthread_mutex_unlock(&detached_guard);
}

task* take_detached(void* event) noexcept {
  ::pthread_mutex_lock(&detached_guard);
  detached** link = &all_detached;
  while (*link != nullptr && (*link)->who != event) link = &(*link)->next;
  detached* const found = *link;
  if (found != nullptr) *link = found->next;
  ::pthread_mutex_unlock(&detached_guard);
  if (found == nullptr) return nullptr;
  task* const t = found->who;
  delete found;
  return t;
}

}  // namespace syncopate::openmp
