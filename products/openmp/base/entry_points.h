// entry_points.h -- the functions of the OpenMP runtimes that stand behind ours.
//
// Parameters and names are those of libgomp's ABI (GOMP_*), LLVM's (__kmpc_*) and the standard
// (omp_*).
#pragma once

#include <cstddef>
#include <cstdint>

namespace syncopate::openmp {

using gomp_function = void (*)(void*);
using gomp_copy = void (*)(void*, void*);
using kmpc_micro = void (*)(std::int32_t* thread, std::int32_t* bound, ...);
using kmpc_copy = void (*)(void*, void*);

// libgomp: X(result, name, parameters)
#define SYNCOPATE_GOMP_ENTRIES(X)                                                                  \
  X(void, GOMP_barrier, (void))                                                                    \
  X(bool, GOMP_loop_start, (long, long, long, long, long, long*, long*, std::uintptr_t*, void**))  \
  X(void, GOMP_loop_end, (void))                                                                   \
  X(void, GOMP_loop_end_nowait, (void))                                                            \
  X(void, GOMP_sections_end, (void))                                                               \
  X(void, GOMP_sections_end_nowait, (void))                                                        \
  X(bool, GOMP_single_start, (void))                                                               \
  X(void*, GOMP_single_copy_start, (void))                                                         \
  X(void, GOMP_single_copy_end, (void*))                                                           \
  X(void, GOMP_critical_start, (void))                                                             \
  X(void, GOMP_critical_end, (void))                                                               \
  X(void, GOMP_critical_name_start, (void**))                                                      \
  X(void, GOMP_critical_name_end, (void**))                                                        \
  X(void, GOMP_atomic_start, (void))                                                               \
  X(void, GOMP_atomic_end, (void))                                                                 \
  X(void, GOMP_parallel, (gomp_function, void*, unsigned, unsigned))                               \
  X(void, GOMP_parallel_start, (gomp_function, void*, unsigned))                                   \
  X(void, GOMP_parallel_end, (void))                                                               \
  X(void, GOMP_parallel_sections_start, (gomp_function, void*, unsigned, unsigned))                \
  X(void, GOMP_parallel_loop_static_start,                                                         \
    (gomp_function, void*, unsigned, long, long, long, long))                                      \
  X(void, GOMP_parallel_loop_dynamic_start,                                                        \
    (gomp_function, void*, unsigned, long, long, long, long))                                      \
  X(void, GOMP_parallel_loop_guided_start,                                                         \
    (gomp_function, void*, unsigned, long, long, long, long))                                      \
  X(void, GOMP_parallel_loop_runtime_start, (gomp_function, void*, unsigned, long, long, long))    \
  X(unsigned, GOMP_parallel_reductions, (gomp_function, void*, unsigned, unsigned))                \
  X(void, GOMP_parallel_sections, (gomp_function, void*, unsigned, unsigned, unsigned))            \
  X(void, GOMP_parallel_loop_static,                                                               \
    (gomp_function, void*, unsigned, long, long, long, long, unsigned))                            \
  X(void, GOMP_parallel_loop_dynamic,                                                              \
    (gomp_function, void*, unsigned, long, long, long, long, unsigned))                            \
  X(void, GOMP_parallel_loop_guided,                                                               \
    (gomp_function, void*, unsigned, long, long, long, long, unsigned))                            \
  X(void, GOMP_parallel_loop_nonmonotonic_dynamic,                                                 \
    (gomp_function, void*, unsigned, long, long, long, long, unsigned))                            \
  X(void, GOMP_parallel_loop_nonmonotonic_guided,                                                  \
    (gomp_function, void*, unsigned, long, long, long, long, unsigned))                            \
  X(void, GOMP_parallel_loop_runtime,                                                              \
    (gomp_function, void*, unsigned, long, long, long, unsigned))                                  \
  X(void, GOMP_parallel_loop_nonmonotonic_runtime,                                                 \
    (gomp_function, void*, unsigned, long, long, long, unsigned))                                  \
  X(void, GOMP_parallel_loop_maybe_nonmonotonic_runtime,                                           \
    (gomp_function, void*, unsigned, long, long, long, unsigned))                                  \
  X(void, GOMP_task,                                                                               \
    (gomp_function, void*, gomp_copy, long, long, bool, unsigned, void**, int, void*))             \
  X(void, GOMP_taskloop,                                                                           \
    (gomp_function, void*, gomp_copy, long, long, unsigned, unsigned long, int, long, long, long)) \
  X(void, GOMP_taskloop_ull,                                                                       \
    (gomp_function, void*, gomp_copy, long, long, unsigned, unsigned long, int,                    \
     unsigned long long, unsigned long long, unsigned long long))                                  \
  X(void, GOMP_taskwait, (void))                                                                   \
  X(void, GOMP_taskwait_depend, (void**))                                                          \
  X(void, GOMP_taskwait_depend_nowait, (void**))                                                   \
  X(void, GOMP_taskyield, (void))                                                                  \
  X(void, GOMP_taskgroup_start, (void))                                                            \
  X(void, GOMP_taskgroup_end, (void))                                                              \
  X(void, GOMP_taskgroup_reduction_register, (std::uintptr_t*))                                    \
  X(void, GOMP_workshare_task_reduction_unregister, (bool))                                        \
  X(bool, GOMP_barrier_cancel, (void))                                                             \
  X(bool, GOMP_loop_end_cancel, (void))                                                            \
  X(bool, GOMP_sections_end_cancel, (void))                                                        \
  X(bool, GOMP_loop_ordered_start,                                                                 \
    (long, long, long, long, long, long*, long*, std::uintptr_t*, void**))                         \
  X(bool, GOMP_loop_doacross_start,                                                                \
    (unsigned, long*, long, long, long*, long*, std::uintptr_t*, void**))                          \
  X(bool, GOMP_loop_ull_start,                                                                     \
    (bool, unsigned long long, unsigned long long, unsigned long long, long, unsigned long long,   \
     unsigned long long*, unsigned long long*, std::uintptr_t*, void**))                           \
  X(bool, GOMP_loop_ull_ordered_start,                                                             \
    (bool, unsigned long long, unsigned long long, unsigned long long, long, unsigned long long,   \
     unsigned long long*, unsigned long long*, std::uintptr_t*, void**))                           \
  X(bool, GOMP_loop_ull_doacross_start,                                                            \
    (unsigned, unsigned long long*, long, unsigned long long, unsigned long long*,                 \
     unsigned long long*, std::uintptr_t*, void**))                                                \
  X(void, GOMP_ordered_start, (void))                                                              \
  X(bool, GOMP_loop_ordered_static_next, (long*, long*))                                           \
  X(bool, GOMP_loop_ordered_dynamic_next, (long*, long*))                                          \
  X(bool, GOMP_loop_ordered_guided_next, (long*, long*))                                           \
  X(bool, GOMP_loop_ordered_runtime_next, (long*, long*))                                          \
  X(bool, GOMP_loop_ull_ordered_static_next, (unsigned long long*, unsigned long long*))           \
  X(bool, GOMP_loop_ull_ordered_dynamic_next, (unsigned long long*, unsigned long long*))          \
  X(bool, GOMP_loop_ull_ordered_guided_next, (unsigned long long*, unsigned long long*))           \
  X(bool, GOMP_loop_ull_ordered_runtime_next, (unsigned long long*, unsigned long long*))          \
  X(bool, GOMP_loop_doacross_static_start, (unsigned, long*, long, long*, long*))                  \
  X(bool, GOMP_loop_doacross_dynamic_start, (unsigned, long*, long, long*, long*))                 \
  X(bool, GOMP_loop_doacross_guided_start, (unsigned, long*, long, long*, long*))                  \
  X(bool, GOMP_loop_doacross_runtime_start, (unsigned, long*, long*, long*))                       \
  X(bool, GOMP_loop_ull_doacross_static_start,                                                     \
    (unsigned, unsigned long long*, unsigned long long, unsigned long long*, unsigned long long*)) \
  X(bool, GOMP_loop_ull_doacross_dynamic_start,                                                    \
    (unsigned, unsigned long long*, unsigned long long, unsigned long long*, unsigned long long*)) \
  X(bool, GOMP_loop_ull_doacross_guided_start,                                                     \
    (unsigned, unsigned long long*, unsigned long long, unsigned long long*, unsigned long long*)) \
  X(bool, GOMP_loop_ull_doacross_runtime_start,                                                    \
    (unsigned, unsigned long long*, unsigned long long*, unsigned long long*))                     \
  X(void, GOMP_doacross_wait, (long, ...))                                                         \
  X(void, GOMP_doacross_ull_wait, (unsigned long long, ...))                                       \
  X(unsigned, GOMP_sections2_start, (unsigned, std::uintptr_t*, void**))                           \
  X(void, GOMP_scope_start, (std::uintptr_t*))                                                     \
  X(void, GOMP_target,                                                                             \
    (int, gomp_function, const void*, std::size_t, void**, std::size_t*, unsigned char*))          \
  X(void, GOMP_target_ext,                                                                         \
    (int, gomp_function, std::size_t, void**, std::size_t*, unsigned short*, unsigned, void**,     \
     void**))                                                                                      \
  X(void, GOMP_target_update_ext,                                                                  \
    (int, std::size_t, void**, std::size_t*, unsigned short*, unsigned, void**))                   \
  X(void, GOMP_target_enter_exit_data,                                                             \
    (int, std::size_t, void**, std::size_t*, unsigned short*, unsigned, void**))                   \
  X(bool, GOMP_cancel, (int, bool))

// LLVM's libomp
#define SYNCOPATE_KMPC_ENTRIES(X)                                                                 \
  X(void, __kmpc_fork_call, (void*, std::int32_t, kmpc_micro, ...))                               \
  X(void, __kmpc_push_num_threads, (void*, std::int32_t, std::int32_t))                           \
  X(void, __kmpc_barrier, (void*, std::int32_t))                                                  \
  X(void, __kmpc_copyprivate, (void*, std::int32_t, std::size_t, void*, kmpc_copy, std::int32_t)) \
  X(void, __kmpc_critical, (void*, std::int32_t, void*))                                          \
  X(void, __kmpc_critical_with_hint, (void*, std::int32_t, void*, std::uint32_t))                 \
  X(void, __kmpc_end_critical, (void*, std::int32_t, void*))                                      \
  X(std::int32_t, __kmpc_omp_task, (void*, std::int32_t, void*))                                  \
  X(std::int32_t, __kmpc_omp_task_parts, (void*, std::int32_t, void*))                            \
  X(std::int32_t, __kmpc_omp_task_with_deps,                                                      \
    (void*, std::int32_t, void*, std::int32_t, void*, std::int32_t, void*))                       \
  X(void, __kmpc_taskloop,                                                                        \
    (void*, std::int32_t, void*, std::int32_t, std::uint64_t*, std::uint64_t*, std::int64_t,      \
     std::int32_t, std::int32_t, std::uint64_t, void*))                                           \
  X(void, __kmpc_taskloop_5,                                                                      \
    (void*, std::int32_t, void*, std::int32_t, std::uint64_t*, std::uint64_t*, std::int64_t,      \
     std::int32_t, std::int32_t, std::uint64_t, std::int32_t, void*))                             \
  X(void, __kmpc_omp_taskwait_deps_51,                                                            \
    (void*, std::int32_t, std::int32_t, void*, std::int32_t, void*, std::int32_t))                \
  X(std::int32_t, __kmpc_omp_taskwait, (void*, std::int32_t))                                     \
  X(void, __kmpc_omp_wait_deps, (void*, std::int32_t, std::int32_t, void*, std::int32_t, void*))  \
  X(void, __kmpc_taskgroup, (void*, std::int32_t))                                                \
  X(void, __kmpc_end_taskgroup, (void*, std::int32_t))                                            \
  X(std::int32_t, __kmpc_cancel, (void*, std::int32_t, std::int32_t))                             \
  X(void, __kmpc_ordered, (void*, std::int32_t))                                                  \
  X(void, __kmpc_dispatch_fini_4, (void*, std::int32_t))                                          \
  X(void, __kmpc_dispatch_fini_4u, (void*, std::int32_t))                                         \
  X(void, __kmpc_dispatch_fini_8, (void*, std::int32_t))                                          \
  X(void, __kmpc_dispatch_fini_8u, (void*, std::int32_t))                                         \
  X(void, __kmpc_doacross_wait, (void*, std::int32_t, const std::int64_t*))                       \
  X(std::int32_t, __kmpc_reduce,                                                                  \
    (void*, std::int32_t, std::int32_t, std::size_t, void*, kmpc_copy, void*))                    \
  X(std::int32_t, __kmpc_reduce_nowait,                                                           \
    (void*, std::int32_t, std::int32_t, std::size_t, void*, kmpc_copy, void*))                    \
  X(void, __kmpc_end_reduce, (void*, std::int32_t, void*))                                        \
  X(void, __kmpc_end_reduce_nowait, (void*, std::int32_t, void*))                                 \
  X(void, __kmpc_init_lock, (void*, std::int32_t, void**))                                        \
  X(void, __kmpc_init_lock_with_hint, (void*, std::int32_t, void**, std::uintptr_t))              \
  X(void, __kmpc_destroy_lock, (void*, std::int32_t, void**))                                     \
  X(void, __kmpc_set_lock, (void*, std::int32_t, void**))                                         \
  X(void, __kmpc_unset_lock, (void*, std::int32_t, void**))                                       \
  X(int, __kmpc_test_lock, (void*, std::int32_t, void**))                                         \
  X(void, __kmpc_init_nest_lock, (void*, std::int32_t, void**))                                   \
  X(void, __kmpc_init_nest_lock_with_hint, (void*, std::int32_t, void**, std::uintptr_t))         \
  X(void, __kmpc_destroy_nest_lock, (void*, std::int32_t, void**))                                \
  X(void, __kmpc_set_nest_lock, (void*, std::int32_t, void**))                                    \
  X(void, __kmpc_unset_nest_lock, (void*, std::int32_t, void**))                                  \
  X(int, __kmpc_test_nest_lock, (void*, std::int32_t, void**))

// Both. The names with an underscore are Fortran's.
#define SYNCOPATE_OMP_LOCK_ENTRIES(X, suffix)     \
  X(void, omp_init_lock##suffix, (void*))         \
  X(void, omp_destroy_lock##suffix, (void*))      \
  X(void, omp_set_lock##suffix, (void*))          \
  X(void, omp_unset_lock##suffix, (void*))        \
  X(int, omp_test_lock##suffix, (void*))          \
  X(void, omp_init_nest_lock##suffix, (void*))    \
  X(void, omp_destroy_nest_lock##suffix, (void*)) \
  X(void, omp_set_nest_lock##suffix, (void*))     \
  X(void, omp_unset_nest_lock##suffix, (void*))   \
  X(int, omp_test_nest_lock##suffix, (void*))

// What a task inherits. Fortran's names take addresses, those with 8 of 64 bits.
#define SYNCOPATE_OMP_SETTING_ENTRIES(X)                                 \
  X(void, omp_set_num_threads, (int))                                    \
  X(void, omp_set_num_threads_, (const std::int32_t*))                   \
  X(void, omp_set_num_threads_8_, (const std::int64_t*))                 \
  X(void, omp_set_dynamic, (int))                                        \
  X(void, omp_set_dynamic_, (const std::int32_t*))                       \
  X(void, omp_set_dynamic_8_, (const std::int64_t*))                     \
  X(void, omp_set_nested, (int))                                         \
  X(void, omp_set_nested_, (const std::int32_t*))                        \
  X(void, omp_set_nested_8_, (const std::int64_t*))                      \
  X(void, omp_set_max_active_levels, (int))                              \
  X(void, omp_set_max_active_levels_, (const std::int32_t*))             \
  X(void, omp_set_max_active_levels_8_, (const std::int64_t*))           \
  X(void, omp_set_default_device, (int))                                 \
  X(void, omp_set_default_device_, (const std::int32_t*))                \
  X(void, omp_set_default_device_8_, (const std::int64_t*))              \
  X(void, omp_set_schedule, (int, int))                                  \
  X(void, omp_set_schedule_, (const std::int32_t*, const std::int32_t*)) \
  X(void, omp_set_schedule_8_, (const std::int32_t*, const std::int64_t*))

#define SYNCOPATE_OMP_ENTRIES(X)                        \
  X(int, omp_get_level, (void))                         \
  X(int, omp_get_num_threads, (void))                   \
  X(int, omp_get_max_threads, (void))                   \
  X(int, omp_get_num_procs, (void))                     \
  X(int, omp_get_dynamic, (void))                       \
  X(int, omp_get_max_active_levels, (void))             \
  X(int, omp_get_thread_limit, (void))                  \
  X(int, omp_get_default_device, (void))                \
  X(int, omp_get_cancellation, (void))                  \
  X(void, omp_get_schedule, (int*, int*))               \
  X(int, omp_pause_resource, (int, int))                \
  X(int, omp_pause_resource_all, (int))                 \
  X(int, omp_pause_resource_, (const int*, const int*)) \
  X(int, omp_pause_resource_all_, (const int*))         \
  X(int, omp_get_thread_num, (void))                    \
  X(int, omp_get_max_task_priority, (void))             \
  X(void, omp_fulfill_event, (std::uintptr_t))          \
  X(void, omp_fulfill_event_, (std::uintptr_t))         \
  SYNCOPATE_OMP_SETTING_ENTRIES(X)                      \
  X(void, omp_init_lock_with_hint, (void*, int))        \
  X(void, omp_init_lock_with_hint_, (void*, int*))      \
  X(void, omp_init_nest_lock_with_hint, (void*, int))   \
  X(void, omp_init_nest_lock_with_hint_, (void*, int*)) \
  SYNCOPATE_OMP_LOCK_ENTRIES(X, )                       \
  SYNCOPATE_OMP_LOCK_ENTRIES(X, _)

#define SYNCOPATE_OPENMP_ENTRIES(X) \
  SYNCOPATE_GOMP_ENTRIES(X) SYNCOPATE_KMPC_ENTRIES(X) SYNCOPATE_OMP_ENTRIES(X)

// Ends the process as the loader does where nobody has a function that the program calls.
[[noreturn]] void end_without(const char* name) noexcept;

// A runtime's function of that name; null where it has none.
template <class Function>
struct entry;
template <class Result, class... Parameters>
struct entry<Result (*)(Parameters...)> {
  Result (*function)(Parameters...) = nullptr;
  const char* name = "";

  Result operator()(Parameters... arguments) const {
    if (__builtin_expect(function == nullptr, 0)) end_without(name);
    return function(arguments...);
  }
  friend bool operator==(const entry& e, std::nullptr_t) { return e.function == nullptr; }
  void set(void* found, const char* its_name) noexcept {
    function = reinterpret_cast<decltype(function)>(found);
    name = its_name;
  }
};
// Some take any number of arguments after their first ones.
template <class Result, class... Parameters>
struct entry<Result (*)(Parameters..., ...)> {
  Result (*function)(Parameters..., ...) = nullptr;
  const char* name = "";

  template <class... Others>
  Result operator()(Parameters... first, Others... others) const {
    if (__builtin_expect(function == nullptr, 0)) end_without(name);
    return function(first..., others...);
  }
  // For a call with as many words as are known only then (call_with_words.h).
  [[nodiscard]] auto code() const -> void (*)() {
    if (__builtin_expect(function == nullptr, 0)) end_without(name);
    return reinterpret_cast<void (*)()>(function);
  }
  friend bool operator==(const entry& e, std::nullptr_t) { return e.function == nullptr; }
  void set(void* found, const char* its_name) noexcept {
    function = reinterpret_cast<decltype(function)>(found);
    name = its_name;
  }
};

// One runtime's own functions.
struct entry_points {
#define SYNCOPATE_DECLARE_ENTRY(result, name, parameters) entry<result(*) parameters> name;
  SYNCOPATE_OPENMP_ENTRIES(SYNCOPATE_DECLARE_ENTRY)
#undef SYNCOPATE_DECLARE_ENTRY
};

}  // namespace syncopate::openmp
