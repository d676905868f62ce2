// task_loop.cpp -- see task_loop.h.

#include "openmp/tasks/task_loop.h"

#include <algorithm>

namespace syncopate::openmp {
namespace {

enum : unsigned {
  is_grain_size = 1u << 9,
  may_defer = 1u << 10,
  no_group = 1u << 11,
  has_reduction = 1u << 12,
  is_strict = 1u << 14,
};

// How many tasks, and how many iterations each has: the first `longer` ones `size` + 1, the others
// `size`; the last one `last` where that is not 0.
struct division {
  std::uint64_t tasks, size, longer, last = 0;
};

division evenly(std::uint64_t count, std::uint64_t tasks) noexcept {
  return {tasks, count / tasks, count % tasks};
}

division divide(std::uint64_t count, unsigned long wanted, unsigned flags,
                std::uint32_t threads) noexcept {
  if ((flags & is_grain_size) == 0)
    return evenly(count, std::min<std::uint64_t>(count, wanted != 0 ? wanted : threads));
  const std::uint64_t size = std::max<std::uint64_t>(wanted, 1);
  if ((flags & is_strict) != 0) {
    const std::uint64_t rest = count % size;
    return {count / size + (rest != 0 ? 1 : 0), size, 0, rest};
  }
  return evenly(count, std::max<std::uint64_t>(count / size, 1));
}

// Writes a task's bounds where its data begins.
struct bounds {
  division parts;
  std::uint64_t next, step, made = 0;

  static void set(void* data, void* state) noexcept {
    auto& b = *static_cast<bounds*>(state);
    std::uint64_t size = b.parts.size + (b.made < b.parts.longer ? 1 : 0);
    if (++b.made == b.parts.tasks && b.parts.last != 0) size = b.parts.last;
    auto* const words = static_cast<std::uint64_t*>(data);
    words[0] = b.next;
    words[1] = b.next += size * b.step;
  }
};

struct reducing_head {
  std::uint64_t bounds[2];
  std::uintptr_t* reductions;
};

}  // namespace

iterations iterations_of(long first, long last, long step) noexcept {
  const auto from = static_cast<std::uint64_t>(first), to = static_cast<std::uint64_t>(last),
             by = static_cast<std::uint64_t>(step);
  if (step > 0) return {first < last ? (to - from + by - 1) / by : 0, from, by};
  return {first > last ? (from - to - by - 1) / (0 - by) : 0, from, by};
}

iterations iterations_of(unsigned long long first, unsigned long long last, unsigned long long step,
                         bool up) noexcept {
  if (up) return {first < last ? (last - first + step - 1) / step : 0, first, step};
  return {first > last ? (first - last - step - 1) / (0 - step) : 0, first, step};
}

void run_task_loop(frame& f, task_request r, unsigned long tasks, iterations all) noexcept {
  const unsigned flags = r.flags;
  const bool reduces = (flags & (no_group | has_reduction)) == has_reduction;
  if (all.count == 0) {
    // Tells the caller that nothing has been registered.
    if (reduces) static_cast<reducing_head*>(r.data)->reductions[2] = 0;
    return;
  }
  r.deferred = (flags & may_defer) != 0;
  r.flags &= task_request::is_final;
  if (r.priority > 0) r.flags |= task_request::has_priority;
  if ((flags & no_group) == 0) begin_group(f);
  if (reduces) {
    reduce_in_group(f);
    f.of->real.GOMP_taskgroup_reduction_register(static_cast<reducing_head*>(r.data)->reductions);
  }
  bounds b{divide(all.count, tasks, flags, f.threads), all.first, all.step};
  make_task_loop(f, r, b.parts.tasks, bounds::set, &b);
  if ((flags & no_group) == 0) end_group(f);
}

}  // namespace syncopate::openmp
