// settings.cpp -- see settings.h.

#include "openmp/tasks/settings.h"

namespace syncopate::openmp {

bool has_settings(const entry_points& real) noexcept {
  return real.omp_get_dynamic != nullptr && real.omp_get_max_active_levels != nullptr &&
         real.omp_get_thread_limit != nullptr && real.omp_get_default_device != nullptr &&
         real.omp_get_schedule != nullptr && real.omp_set_num_threads != nullptr &&
         real.omp_set_dynamic != nullptr && real.omp_set_max_active_levels != nullptr &&
         real.omp_set_default_device != nullptr && real.omp_set_schedule != nullptr;
}

settings settings_of(const entry_points& real) noexcept {
  settings s{real.omp_get_max_threads(),
             real.omp_get_dynamic(),
             real.omp_get_max_active_levels(),
             real.omp_get_thread_limit(),
             real.omp_get_default_device(),
             0,
             0};
  real.omp_get_schedule(&s.schedule, &s.chunk);
  return s;
}

void apply(const settings& wanted, const entry_points& real) noexcept {
  const settings now = settings_of(real);
  if (now == wanted) return;
  if (now.threads != wanted.threads) real.omp_set_num_threads(wanted.threads);
  if (now.dynamic != wanted.dynamic) real.omp_set_dynamic(wanted.dynamic);
  if (now.levels != wanted.levels) real.omp_set_max_active_levels(wanted.levels);
  if (now.device != wanted.device) real.omp_set_default_device(wanted.device);
  if (now.schedule != wanted.schedule || now.chunk != wanted.chunk)
    real.omp_set_schedule(wanted.schedule, wanted.chunk);
}

}  // namespace syncopate::openmp
