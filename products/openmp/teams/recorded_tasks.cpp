// recorded_tasks.cpp -- see recorded_tasks.h.
//
// Memory order
//   [F]  relaxed: a function's address stands for itself, and once it is there it stays.

#include "openmp/teams/recorded_tasks.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "openmp/teams/task_waits.h"

namespace syncopate::openmp {
namespace {

// The program's functions of one kind, each with its shell: as many as programs have by far.
constexpr std::size_t most = 512;
using anything = void (*)();

template <class Function>
class shells {
 public:
  static Function of(Function function) noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(function) >> 4;
    for (std::size_t i = 0; i < most; ++i) {
      const std::size_t at = (begin + i) % most;
      Function there = functions[at].load(std::memory_order_relaxed);  // [F]
      if (there == nullptr &&
          functions[at].compare_exchange_strong(there, function, std::memory_order_relaxed))  // [F]
        there = function;
      if (there == function) return all[at];
    }
    cannot_tell_task_waits();
    return function;
  }
  static bool is_one(Function function) noexcept {
    for (Function each : all)
      if (each == function) return true;
    return false;
  }

 private:
  template <std::size_t I, class Result, class... Parameters>
  static Result run(Parameters... parameters) {
    const Function function = functions[I].load(std::memory_order_relaxed);  // [F]
    const task_body told(reinterpret_cast<anything>(function));
    return function(parameters...);
  }
  template <class Result, class... Parameters, std::size_t... I>
  static constexpr std::array<Function, most> make(Result (*)(Parameters...),
                                                   std::index_sequence<I...>) noexcept {
    return {run<I, Result, Parameters...>...};
  }

  static constinit std::atomic<Function> functions[most];
  static const std::array<Function, most> all;
};
template <class Function>
constinit std::atomic<Function> shells<Function>::functions[most]{};
template <class Function>
constexpr std::array<Function, most> shells<Function>::all = make(Function{},
                                                                  std::make_index_sequence<most>{});

// libomp's kmp_task_t, as far as compilers and the runtime agree on it.
using kmpc_routine = std::int32_t (*)(std::int32_t thread, void* task);
struct kmpc_task {
  void* shared;
  kmpc_routine routine;
};

}  // namespace

bool is_recording() noexcept { return __builtin_expect(record::enabled, 0); }

gomp_function told(gomp_function function) noexcept {
  if (!is_recording()) return function;
  return shells<gomp_function>::of(function);
}

// A part of an untied task comes again.
void put_shell(void* task) noexcept {
  kmpc_routine& routine = static_cast<kmpc_task*>(task)->routine;
  if (routine == nullptr || shells<kmpc_routine>::is_one(routine)) return;
  routine = shells<kmpc_routine>::of(routine);
}

}  // namespace syncopate::openmp
