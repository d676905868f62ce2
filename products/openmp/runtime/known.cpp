// known.cpp -- reads a runtime's table of symbols.

#include "openmp/runtime/known.h"

#include <cstring>

#include <link.h>

#include "openmp/base/elf_tables.h"

namespace syncopate::openmp {
namespace {

// What is taken over or observed; see entry_points.h.
constexpr const char* acted_on[] = {
#define SYNCOPATE_NAME_ENTRY(result, name, parameters) #name,
    SYNCOPATE_GOMP_ENTRIES(SYNCOPATE_NAME_ENTRY) SYNCOPATE_KMPC_ENTRIES(SYNCOPATE_NAME_ENTRY)
#undef SYNCOPATE_NAME_ENTRY
};

// What is left to the runtime: docs/internals/openmp.md has the reasons.
constexpr const char* left_alone[] = {"GOMP_cancellation_point",
                                      "GOMP_task_reduction_remap",
                                      "GOMP_taskgroup_reduction_unregister",
                                      "GOMP_teams",
                                      "GOMP_teams4",
                                      "GOMP_teams_reg",
                                      "GOMP_target_data",
                                      "GOMP_target_data_ext",
                                      "GOMP_target_end_data",
                                      "GOMP_target_update",
                                      "GOMP_target_map_indirect_ptr",

                                      "__kmpc_barrier_master",
                                      "__kmpc_barrier_master_nowait",
                                      "__kmpc_cancel_barrier",
                                      "__kmpc_cancellationpoint",
                                      "__kmpc_end_barrier_master",
                                      "__kmpc_end_serialized_parallel",
                                      "__kmpc_end_single",
                                      "__kmpc_fork_call_if",
                                      "__kmpc_fork_teams",
                                      "__kmpc_get_parent_taskid",
                                      "__kmpc_get_taskid",
                                      "__kmpc_invoke_task_func",
                                      "__kmpc_ok_to_fork",
                                      "__kmpc_omp_reg_task_with_affinity",
                                      "__kmpc_omp_target_task_alloc",
                                      "__kmpc_omp_task_alloc",
                                      "__kmpc_omp_task_begin_if0",
                                      "__kmpc_omp_task_complete_if0",
                                      "__kmpc_omp_taskyield",
                                      "__kmpc_proxy_task_completed",
                                      "__kmpc_proxy_task_completed_ooo",
                                      "__kmpc_serialized_parallel",
                                      "__kmpc_single",
                                      "__kmpc_task_allow_completion_event",
                                      "__kmpc_task_reduction_get_th_data",
                                      "__kmpc_task_reduction_init",
                                      "__kmpc_task_reduction_modifier_fini",
                                      "__kmpc_task_reduction_modifier_init",
                                      "__kmpc_taskred_init",
                                      "__kmpc_taskred_modifier_init",
                                      "__kmpc_in_parallel",
                                      "__kmpc_push_num_teams",
                                      "__kmpc_push_num_teams_51"};

// Parts of names that matter: others (loops, memory, queries) can neither begin nor end anything.
constexpr const char* matters[] = {"task",   "parallel",    "fork",  "barrier",      "single",
                                   "cancel", "copyprivate", "teams", "sections_end", "loop_end"};

bool is_known(const char* name) noexcept {
  for (const char* known : acted_on)
    if (std::strcmp(name, known) == 0) return true;
  for (const char* known : left_alone)
    if (std::strcmp(name, known) == 0) return true;
  return false;
}

bool is_unknown(const char* name, family kind) noexcept {
  const char* const prefix = kind == family::gnu ? "GOMP_" : "__kmpc_";
  if (std::strncmp(name, prefix, std::strlen(prefix)) != 0) return false;
  if (std::strncmp(name, "GOMP_PLUGIN", 11) == 0) return false;
  for (const char* part : matters)
    if (std::strstr(name, part) != nullptr) return !is_known(name);
  // libgomp's target constructs may run on the host, as tasks and teams there.
  return kind == family::gnu && std::strstr(name, "target") != nullptr && !is_known(name);
}

struct search {
  const void* base;
  family kind;
  const char* found;
};

int look_at(dl_phdr_info* info, std::size_t, void* argument) {
  auto& s = *static_cast<search*>(argument);
  if (reinterpret_cast<const void*>(info->dlpi_addr) != s.base) return 0;
  const elf_tables t = tables_of(*info);
  if (!t.complete()) {
    s.found = "no table of symbols";
    return 1;
  }
  const std::uint32_t end = end_of_exports(t);
  for (std::uint32_t i = t.hash[1]; i < end; ++i) {
    const char* const name = t.names + t.symbols[i].st_name;
    if (t.symbols[i].st_shndx != SHN_UNDEF && is_unknown(name, s.kind)) {
      s.found = name;
      return 1;
    }
  }
  return 1;
}

}  // namespace

const char* find_unknown_entry(const void* base, family kind) noexcept {
  search s{base, kind, nullptr};
  ::dl_iterate_phdr(look_at, &s);
  return s.found;
}

}  // namespace syncopate::openmp
