// team_tasks.h -- what a team keeps for its tasks: the crew, and a queue for what no deque takes.
//
// Memory order (each tag stands at its site below)
//   [G]  relaxed: stored under the guard; a hint to others.
#pragma once

#include <syncopate/deques/stealing_crew.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include <pthread.h>

#include "openmp/tasks/task.h"

namespace syncopate::openmp {

// Of all threads, under a lock: tasks with a priority, the highest first, and those that became
// ready where a deque was full or by a thread that has none.
class shared_tasks {
 public:
  void put(task& t) noexcept;
  // The first one for which may_have() holds.
  template <class Predicate>
  task* take(Predicate may_have) noexcept {
    if (count() == 0) return nullptr;
    ::pthread_mutex_lock(&guard_);
    task** link = &first_;
    while (*link != nullptr && !may_have(*link)) link = &(*link)->next;
    task* const found = *link;
    if (found != nullptr) {
      *link = found->next;
      count_.store(count() - 1, std::memory_order_relaxed);  // [G]
    }
    ::pthread_mutex_unlock(&guard_);
    return found;
  }
  // A hint: who put one wakes those who sleep (team_wait.h), so that they look again.
  [[nodiscard]] std::uint32_t count() const noexcept {
    return count_.load(std::memory_order_relaxed);  // [G]
  }

 private:
  pthread_mutex_t guard_ = PTHREAD_MUTEX_INITIALIZER;
  task* first_ = nullptr;
  std::atomic<std::uint32_t> count_{0};
};

// Never destroyed, as its team.
struct team_tasks {
  // What is more than that, who makes it runs at once.
  static constexpr std::size_t capacity = 256;
  using crew_type = stealing_crew<task, capacity>;

  explicit team_tasks(std::uint32_t threads);

  crew_type crew;
  struct alignas(128) member {
    task* implicit = nullptr;
    task_blocks blocks;
  };
  const std::unique_ptr<member[]> members;
  shared_tasks shared;
};

}  // namespace syncopate::openmp
