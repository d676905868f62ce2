// barriers.cpp -- the table of barriers, made from barriers/all.h.
//
// Those that wait by a strategy get ours. The futex barriers' waiters cannot be called away: they
// help with tasks only when all have arrived.
//
// Memory order (each tag stands at its site below)
//   [P]  acquire load of the phase's mark -- synchronizes with mark_phase() (team.cpp).

#include "openmp/teams/barriers.h"

#include <syncopate/barriers/all.h>

#include <cstring>
#include <new>
#include <type_traits>

#include "openmp/teams/run_ahead.h"
#include "openmp/teams/team_wait.h"

namespace syncopate::openmp {
namespace {

template <class Barrier>
constexpr barrier_algorithm make(const char* name, bool own_wait) {
  static_assert(sizeof(Barrier) <= team::room && alignof(Barrier) <= alignof(team));
  barrier_algorithm a{};
  a.name = name;
  a.own_wait = own_wait;
  a.make = [](void* room, std::uint32_t count) { ::new (room) Barrier(count); };
  a.end = [](void* room) { static_cast<Barrier*>(room)->~Barrier(); };
  a.arrive_and_wait = [](void* room, frame& f) {
    static_cast<Barrier*>(room)->arrive_and_wait(f.id);
  };
  a.call_away = [](void*) {};
  return a;
}

// Waits by team_wait, whose sleepers sleep on the team.
template <class Barrier>
constexpr barrier_algorithm team_waiting(const char* name) {
  barrier_algorithm a = make<Barrier>(name, false);
  a.arrive_and_wait = [](void* room, frame& f) {
    static_cast<Barrier*>(room)->arrive_and_wait(f.id);
    wake_sleepers(*f.in);  // of our last stores
  };
  return a;
}

bool is_called_away(const frame& f) noexcept {
  return f.in->task_phase.load(std::memory_order_acquire) == f.phase;  // [P]
}

constexpr barrier_algorithm running_ahead() {
  barrier_algorithm a = team_waiting<speculating_barrier<team_wait>>("speculating");
  a.runs_ahead = true;
  a.arrive_and_wait = [](void* room, frame& f) {
    static_cast<speculating_barrier<team_wait>*>(room)->arrive_and_wait(f.id);
    if (is_called_away(f)) stop_running_ahead();
    if (!waits::speculation::active()) wake_sleepers(*f.in);
  };
  return a;
}

constexpr barrier_algorithm automatic() {
  barrier_algorithm a = make<auto_barrier>("auto", true);
  a.arrive_and_wait = [](void* room, frame& f) {
    auto& barrier = *static_cast<auto_barrier*>(room);
    barrier.wait(barrier.arrive(f.id), f.id, [&f] { return is_called_away(f); });
  };
  a.call_away = [](void* room) { static_cast<auto_barrier*>(room)->wake_called(); };
  return a;
}

constexpr barrier_algorithm all[] = {
    automatic(),
    team_waiting<central_barrier<team_wait>>("central"),
    team_waiting<combining_tree_barrier<team_wait>>("combining_tree"),
    team_waiting<dissemination_barrier<team_wait>>("dissemination"),
    make<futex_barrier<0>>("futex", true),
    make<futex_barrier<1000>>("poll_then_futex", true),
    team_waiting<two_level_barrier<team_wait>>("two_level"),
    running_ahead(),
};

}  // namespace

const barrier_algorithm* find_barrier(const char* name, std::uint32_t length) noexcept {
  for (const barrier_algorithm& a : all)
    if (std::strlen(a.name) == length && std::memcmp(a.name, name, length) == 0) return &a;
  return nullptr;
}

}  // namespace syncopate::openmp
