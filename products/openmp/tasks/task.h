// task.h -- one task of ours, and where its memory comes from.
//
// Invariants
//   I1  A block that was a task once is one for good: whoever looks at a task that may be gone
//       (stealing_crew.h) reads a task, if another, and `parent` leads to tasks only.
//   I2  counts: in the upper half a reference of the task's own until it has finished, one of each
//       child whose block is in use, one of each entry of its parent's table (task_order.h); in the
//       lower half its children, deferred ones alone, that have not finished. At 0 references the
//       block is given back, and with it the reference on the parent. So the way up from a task in
//       use leads through tasks in use.
//   I3  successors is closed once, when the task finishes; who finds it closed need not wait.
//
// Memory order: who finishes releases, by counts, the group's `pending` and the closing of the
// list; who waits for these acquires.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "openmp/base/entry_points.h"

namespace syncopate::openmp {

struct team;
struct task;
class task_order;
struct settings;

struct task_group {
  std::atomic<std::uint64_t> pending{0};
  task_group* outer = nullptr;
  bool reducing = false;      // the runtime has this group as well, with its reductions
  bool was_reducing = false;  // the task, before the group
};

struct successor {
  task* who;
  successor* next;
};
// The end of a closed list.
inline constinit successor closed{nullptr, nullptr};

// What becomes of a task whose completion waits for an event (`detach`).
enum class event : std::uint8_t { none, expected, body_done, fulfilled };

struct alignas(64) task {
  static constexpr std::uint64_t child = 1, reference = std::uint64_t{1} << 32;
  static constexpr std::size_t inline_bytes = 128;
  static std::uint32_t children_in(std::uint64_t counts) noexcept {
    return static_cast<std::uint32_t>(counts);
  }

  // Atomic where a thief may look at a task that is gone; relaxed (stealing_crew.h).
  std::atomic<task*> parent{nullptr};
  std::atomic<std::uint32_t> depth{0};
  std::atomic<std::uint32_t> unmet{0};  // tasks that have to finish first
  std::atomic<std::uint64_t> counts{0};
  std::atomic<successor*> successors{nullptr};
  task_group* group = nullptr;  // the innermost one, for tasks that it makes
  task_group* member_of = nullptr;
  gomp_function function = nullptr;
  void* data = nullptr;
  task_order* order = nullptr;  // of its children
  std::int64_t floor = 0;       // of its thread's deque, when it began
  task* next = nullptr;         // in a list of unused blocks, of waiting ones, of detached ones
  void* large = nullptr;        // its arguments, where there is no room for them here
  settings* inherited = nullptr;
  team* in = nullptr;
  std::int32_t priority = 0;
  bool deferred = false, final = false, reducing = false;
  std::atomic<event> completion{event::none};

  alignas(64) unsigned char arguments[inline_bytes];
};

// Unused blocks of one thread. What is too many goes to all threads' list, and comes from there.
class task_blocks {
 public:
  [[nodiscard]] task* take() noexcept;
  void give_back(task* t) noexcept;

 private:
  task* first_ = nullptr;
  std::uint32_t count_ = 0;
};

// Gives back a block where the thread has no list.
void give_back_to_all(task* t) noexcept;

}  // namespace syncopate::openmp
