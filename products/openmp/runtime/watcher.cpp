// watcher.cpp -- see watcher.h.

#include "openmp/runtime/watcher.h"

#include <cstdlib>
#include <cstring>

#include <link.h>

#include "openmp/base/elf_tables.h"
#include "openmp/config.h"

namespace syncopate::openmp {
namespace {

constexpr const char* runs_itself = "; the program's own OpenMP runtime runs";

struct found {
  const char* tool = nullptr;  // the module's file
  bool sanitizer = false;
};

// A runtime has that name for where there is no tool.
int look_at(dl_phdr_info* info, std::size_t, void* argument) {
  auto& result = *static_cast<found*>(argument);
  const elf_tables t = tables_of(*info);
  if (!t.complete()) return 0;
  const bool of_machine =
      definition(t, "syncopate_processors") != nullptr;  // base/modeled_program.h
  if (definition(t, "__tsan_init") != nullptr && !of_machine) result.sanitizer = true;
  if (definition(t, "ompt_start_tool") != nullptr && definition(t, "__kmpc_fork_call") == nullptr)
    result.tool = *info->dlpi_name != '\0' ? info->dlpi_name : "the program";
  return 0;
}

const char* variable(const char* name) noexcept {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

// With any other value a runtime takes no tool.
bool may_have_tools() noexcept {
  const char* const set = variable("OMP_TOOL");
  return *set == '\0' || std::strcmp(set, "enabled") == 0;
}

bool say_tool(const char* where, const char* which) noexcept {
  const char* parts[] = {"syncopate: the tool in ",
                         where,
                         which,
                         " is told of an OpenMP runtime's own waits only",
                         runs_itself,
                         nullptr};
  say(parts);
  return true;
}

}  // namespace

bool say_what_watches() noexcept {
  found result;
  ::dl_iterate_phdr(look_at, &result);
  if (result.sanitizer) {
    const char* parts[] = {
        "syncopate: the thread sanitizer is in the program, and would take waits"
        " of ours for races",
        runs_itself, nullptr};
    say(parts);
    return true;
  }
  if (!may_have_tools()) return false;
  if (result.tool != nullptr) return say_tool("", result.tool);
  const char* const named = variable("OMP_TOOL_LIBRARIES");
  return *named != '\0' && say_tool("OMP_TOOL_LIBRARIES=", named);
}

}  // namespace syncopate::openmp
